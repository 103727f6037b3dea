public import Foundation
import ObjectStore

extension ManagedObject {
  /// The UUID of the object, which is the same in every store that contains the object: in copies of the store, after migrations, exports
  /// and imports, and on other devices.
  ///
  /// ``objectID`` identifies the object within its store. Nil before the object is saved for the first time, and if its store has no stable
  /// IDs (``PersistentStoreDescription/tracksObjectIdentity``). A deleted object keeps its UUID. Reads from the store; for many objects use
  /// ``ManagedObjectContext/stableIDs(of:)``.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public final var stableID: UUID? {
    get throws { try managedObjectContext?.stableIDs(of: [self]).first ?? nil }
  }
}

extension ManagedObjectContext {
  /// Returns the stable IDs of objects in their order; see ``ManagedObject/stableID``.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read.
  public func stableIDs(of objects: [ManagedObject]) throws -> [UUID?] {
    try rowSource.stableIDs(of: objects.map(\.objectID))
  }

  /// Whether all stores of the context give their objects stable IDs.
  package var hasStableIDs: Bool { get throws { try rowSource.hasStableIDs } }

  /// Assigns stable IDs of other stores to saved objects.
  package func assignStableIDs(_ objects: [UUID: ManagedObject]) throws {
    try rowSource.setStableIDs(objects.map { ($0.value.objectID, $0.key) })
  }

  /// Returns the object with a stable ID, or nil if no store of the context contains it.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read.
  public func object(forStableID id: UUID) throws -> ManagedObject? {
    guard let objectID = try rowSource.objectID(forStableID: id) else { return nil }
    let object = object(with: objectID)
    return object.isDeleted ? nil : object
  }
}
