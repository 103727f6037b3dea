import ObjectContext
public import ObjectModel
import ObjectStore
public import SyncEngine

/// Large values of attributes with external storage.
///
/// An object of another device appears with its small values at once. As long as a large value is not on this device, the attribute is nil, or
/// has no bytes if it is required. Changes of other attributes can be saved meanwhile, and a new value of the attribute replaces the missing
/// one. Setting the attribute to nil has no effect while it is nil: load the value first.
///
/// ```swift
/// import CipherData
/// import CipherDataSync
/// import Foundation
///
/// func image(of photo: ManagedObjectID, in container: PersistentCloudContainer) async throws -> Data? {
///   try await container.loadAsset(of: photo, attribute: "image")
///   return try await container.performBackgroundTask { try $0.object(with: photo).value(forKey: "image") as? Data }
/// }
/// ```
extension PersistentCloudContainer {
  /// Returns where the value of an attribute is.
  ///
  /// Reads from the store, not from the hub.
  /// - Parameters:
  ///   - objectID: The ID of a saved object.
  ///   - attribute: The name of a binary or transformable attribute.
  /// - Throws: ``KeyValueError`` if the entity has no such attribute; ``StoreError`` if the store cannot be read.
  public func assetState(of objectID: ManagedObjectID, attribute: String) async throws -> AssetState {
    let slot = try slot(attribute, of: objectID)
    guard let store = cloudStore(of: objectID) else { return .none }
    return try await store.assetState(slot, of: objectID)
  }

  /// Downloads the value of an attribute now, unless it is on the device. Contexts then have it, as after any other import.
  ///
  /// With ``AssetPolicy/budget(bytes:)``, values that were needed less recently can be removed from the device for it.
  /// - Parameters:
  ///   - objectID: The ID of a saved object.
  ///   - attribute: The name of a binary or transformable attribute.
  /// - Throws: ``SyncError`` with `assetMissing` if the hub cannot be used or does not have the value, with `busy` if another process
  ///   synchronizes the store; ``KeyValueError`` if the entity has no such attribute; ``StoreError`` if the store cannot be read or written.
  public func loadAsset(of objectID: ManagedObjectID, attribute: String) async throws {
    let slot = try slot(attribute, of: objectID)
    try await cloudStore(of: objectID)?.loadAsset(slot, of: objectID)
  }

  private func cloudStore(of objectID: ManagedObjectID) -> CloudStore? {
    persistentStoreCoordinator.persistentStore(of: objectID).flatMap { cloudStore(withIdentifier: $0.identifier) }
  }

  private func slot(_ attribute: String, of objectID: ManagedObjectID) throws -> Int {
    let entity = persistentStoreCoordinator.compiledModel.entities[objectID.reference.entity]
    guard case .attribute(let slot)? = entity.property(named: attribute), slot.kind == .bytes else {
      throw KeyValueError(unknown: attribute, of: entity)
    }
    return slot.index
  }
}
