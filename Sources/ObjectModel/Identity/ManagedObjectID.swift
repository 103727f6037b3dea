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

// MARK: - Codable

extension ManagedObjectID: Codable {
  /// Creates the ID for a URI; nil unless its store is, or was, open in this process.
  package init?(uri: URL) {
    var number: UInt32 = 0
    while let space = ObjectIDSpace.space(number) {
      if let id = space.objectID(forURI: uri) {
        self = id
        return
      }
      number += 1
    }
    return nil
  }

  /// Decodes the URI of an object whose store is, or was, open in this process.
  ///
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let url = URL(string: try container.decode(String.self)), let id = ManagedObjectID(uri: url) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is no URI of an object whose store was opened.")
    }
    self = id
  }

  /// Encodes the URI.
  ///
  /// - Throws: `EncodingError` for a temporary ID, which is meaningless outside this process.
  public func encode(to encoder: any Encoder) throws {
    guard !isTemporaryID else {
      throw EncodingError.invalidValue(
        self, .init(codingPath: encoder.codingPath, debugDescription: "An object that is not saved has no lasting ID."))
    }
    var container = encoder.singleValueContainer()
    try container.encode(uriString)
  }
}

/// The destination of a to-one relationship as one integer: the entity's number in the upper 16 bits, the key in the lower 48.
///
/// 0 means no object, since 0 is never a valid key. Keys of objects that were never saved are negative.
@frozen public struct ObjectReference: Sendable, Hashable {
  /// The packed word.
  public var rawValue: Int64

  /// Creates a reference from a packed word.
  @inlinable public init(rawValue: Int64) { self.rawValue = rawValue }

  /// Packs an entity's number (below 65,536) and a key (within ±2⁴⁷).
  @inlinable public init(entity: Int, key: Int64) {
    rawValue = Int64(truncatingIfNeeded: entity) &<< 48 | (key & 0xFFFF_FFFF_FFFF)
  }

  /// The entity's number in its ``CompiledModel``.
  @inlinable public var entity: Int { Int(UInt64(bitPattern: rawValue) &>> 48) }
  /// The key; negative for an object that was never saved.
  @inlinable public var key: Int64 { (rawValue &<< 16) &>> 16 }
  /// Whether the reference is null.
  @inlinable public var isNull: Bool { rawValue == 0 }
}

// MARK: - Resolving objects

/// Access to objects for evaluation in memory: the objects of a context, or the rows of a store.
public protocol ObjectResolver<Object> {
  /// An object or row.
  associatedtype Object: Hashable
  /// Returns the entity of an object.
  func entity(of object: Object) -> CompiledEntity
  /// Returns the ID of an object.
  func objectID(of object: Object) -> ManagedObjectID
  /// Returns the value of an attribute.
  ///
  /// - Throws: An error if the object cannot be read.
  func value(of object: Object, slot: Int) throws -> Slot
  /// Returns the destination of a to-one relationship; nil if there is none.
  ///
  /// - Throws: An error if the object cannot be read.
  func destination(of object: Object, slot: Int) throws -> Object?
  /// Returns the members of a to-many relationship, in order if the relationship is ordered.
  ///
  /// - Throws: An error if the object cannot be read.
  func members(of object: Object, toMany index: Int) throws -> [Object]
}
