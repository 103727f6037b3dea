public import Foundation

/// The identity of a managed object: its store, its entity and its key.
///
/// ```swift
/// let id = book.objectID  // may go to another task
/// try await container.performBackgroundTask { context in
///   let same = try context.existingObject(with: id)
///   context.delete(same)
///   try context.save()
/// }
/// ```
///
/// An ID is temporary from the object's insertion until it is saved or until permanent IDs are obtained. A temporary ID never equals the
/// permanent ID that replaces it. IDs are sendable values. Their URI form is valid beyond the process.
@frozen public struct ManagedObjectID: Sendable, Hashable {
  /// The number in ``ObjectIDSpace`` of the store, or of the coordinator for a temporary ID.
  public let space: UInt32
  /// The number of the object's entity in the compiled model.
  public let entityNumber: UInt32
  /// The key; negative for a temporary ID, never 0.
  public let key: Int64

  /// Creates an ID from its parts. Applications get IDs from objects, stores and URIs instead.
  ///
  /// - Parameters:
  ///   - space: The number of the ID space, of a store or of new objects.
  ///   - entityNumber: The entity's number in the compiled model.
  ///   - key: The row's key.
  @inlinable public init(space: UInt32, entityNumber: UInt32, key: Int64) {
    self.space = space
    self.entityNumber = entityNumber
    self.key = key
  }

  /// Whether the object has no permanent ID yet.
  @inlinable public var isTemporaryID: Bool { key < 0 }

  /// The entity and key packed into one word.
  @inlinable public var reference: ObjectReference { ObjectReference(entity: Int(entityNumber), key: key) }

  /// The name of the object's entity.
  public var entityName: String {
    ObjectIDSpace.space(space)?.model.entities[Int(entityNumber)].name ?? "?"
  }

  /// The UUID of the store; nil for a temporary ID.
  public var storeIdentifier: String? { isTemporaryID ? nil : ObjectIDSpace.space(space)?.storeIdentifier }

  /// Returns the ID as a URI: `x-cipherdata://STORE-UUID/Entity/p42`, or `x-cipherdata:///Entity/t7` for a temporary ID.
  public func uriRepresentation() -> URL {
    URL(string: uriString) ?? URL(fileURLWithPath: "/")
  }

  /// The string form of ``uriRepresentation()``.
  package var uriString: String {
    let entity = entityName.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? entityName
    guard !isTemporaryID, let store = ObjectIDSpace.space(space) else { return "x-cipherdata:///\(entity)/t\(-key)" }
    let reference = store.referenceText(entityNumber: Int(entityNumber), key: key)
    return "x-cipherdata://\(store.storeIdentifier ?? "")/\(entity)/p\(reference)"
  }
}

extension ManagedObjectID: CustomStringConvertible {
  /// The URI form.
  public var description: String { uriString }
}
