public import ObjectModel
import ObjectQuery
import ObjectStore

/// A snapshot of an object of a generated class, with typed properties: `Book.Snapshot`.
///
/// ```swift
/// var snapshot = try author.snapshot(including: [\.books])
/// snapshot.name = "James Joyce"
/// snapshot.books?.insert(book.objectID)
/// let books = try context.fetch(Book.all.sorted { $0.title }, as: Book.Snapshot.self)
/// ```
///
/// A typed snapshot wraps an ``ObjectSnapshot`` and has the properties of one class, including inherited ones. To-one relationships are
/// IDs. To-many relationships are IDs, or nil if they were not included. Setters mark properties as changed. Typed snapshots are equal if
/// their wrapped snapshots are.
public protocol TypedSnapshot: Sendable, Hashable, Codable, Identifiable {
  /// The class of the objects.
  associatedtype Object: TypedManagedObject
  /// The wrapped snapshot.
  var storage: SnapshotStorage<Object> { get set }
  /// Creates a snapshot from values of an object of the class.
  init(storage: SnapshotStorage<Object>)
  /// The model from which the class was generated.
  static var managedObjectModel: ManagedObjectModel { get }
}

/// The values of a ``TypedSnapshot``, which are those of an object of the class. Only generated code and the library read them.
public struct SnapshotStorage<Object: TypedManagedObject>: Sendable {
  /// The values.
  @_spi(Generated) public var values: ObjectSnapshot

  /// Creates the storage for a snapshot that is known to be of an object of the class.
  @_spi(Generated) public init(_ values: ObjectSnapshot) { self.values = values }
}

extension TypedSnapshot {
  /// Creates a snapshot for a new object, with the model's default values. Applying it inserts an object.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if the entity is abstract.
  public init() throws {
    self.init(storage: SnapshotStorage(try ObjectSnapshot(entityName: Object.entityName, model: Self.managedObjectModel)))
  }

  /// Creates the typed form of a snapshot.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if the snapshot is of another class; with
  ///   ``StoreError/Code/modelIncompatible`` if it is of another version of the model than the one from which the class was generated.
  public init(_ snapshot: ObjectSnapshot) throws {
    let entity = snapshot.entity
    guard Object.classTable.type(of: entity.name) is Object.Type else {
      throw StoreError(.snapshotOfOtherClass(entity: entity.name, className: "\(Object.self)"), operation: .takeSnapshot)
    }
    guard Object.classTable.fits(entity) else { throw StoreError(.snapshotOfOtherModel(entity: entity.name), operation: .takeSnapshot) }
    self.init(storage: SnapshotStorage(snapshot))
  }

  /// The object's ID; nil if the object was never saved, or if the snapshot was created for a new object.
  public var objectID: ManagedObjectID? { storage.values.objectID }
  /// The object's ID: see ``objectID``.
  public var id: ManagedObjectID? { storage.values.objectID }
  /// The version of the row on which the snapshot is based.
  public var version: Int64 { storage.values.version }
  /// The names of the properties that were set since the snapshot was taken.
  public var changedKeys: [String] { storage.values.changedKeys }
  /// Whether a property was set since the snapshot was taken.
  public var hasChanges: Bool { storage.values.hasChanges }

  /// The wrapped snapshot, with access to properties by name.
  public var untyped: ObjectSnapshot { storage.values }

  /// Returns whether the wrapped snapshots are equal.
  public static func == (left: Self, right: Self) -> Bool { left.storage.values == right.storage.values }
  /// Hashes the wrapped snapshot.
  public func hash(into hasher: inout Hasher) { storage.values.hash(into: &hasher) }

  /// Decodes a snapshot from the form that ``ObjectSnapshot`` encodes.
  ///
  /// - Throws: The errors of ``ObjectSnapshot``; `DecodingError` if the snapshot is of another class.
  public init(from decoder: any Decoder) throws {
    // A snapshot of a new object needs only the model, not an open store.
    if let model = try? CompiledModel.compiling(Self.managedObjectModel) { _ = ObjectIDSpace.register(storeIdentifier: nil, model: model) }
    let snapshot = try ObjectSnapshot(from: decoder)
    do { try self.init(snapshot) } catch {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "\(error)", underlyingError: error))
    }
  }

  /// Encodes the snapshot in the form of ``ObjectSnapshot``.
  ///
  /// - Throws: The errors of ``ObjectSnapshot``.
  public func encode(to encoder: any Encoder) throws { try storage.values.encode(to: encoder) }
}

// MARK: - Snapshots of objects

extension TypedManagedObject {
  /// Returns a snapshot of the object's current values, including unsaved changes and the members of to-many relationships, given as key
  /// paths: `try book.snapshot(including: [\.tags])`. Fires a fault.
  ///
  /// Generated classes have a method of the same name that returns a typed snapshot.
  ///
  /// - Parameter relationships: The to-many relationships whose members to include, as IDs. Members that are not loaded are read from the
  ///   store.
  /// - Throws: The errors of ``ManagedObject/snapshot(including:)``; ``FetchPredicateError/unsupported(part:advice:)`` for a key path to a
  ///   property that is not in the model.
  @_disfavoredOverload public func snapshot(including relationships: [PartialKeyPath<Self>]) throws -> ObjectSnapshot {
    try untypedSnapshot(including: relationships)
  }

  /// Returns a snapshot of the object's values. Called by generated classes.
  ///
  /// - Throws: The errors of ``snapshot(including:)``.
  @_spi(Generated) public func untypedSnapshot(including relationships: [PartialKeyPath<Self>]) throws -> ObjectSnapshot {
    try untypedSnapshot(including: Self.names(of: relationships))
  }

  /// Returns the names of relationships given as key paths. A key path of several steps yields a dotted name, which matches no
  /// relationship.
  static func names(of relationships: [PartialKeyPath<Self>]) throws(FetchPredicateError) -> [String] {
    var names: [String] = []
    for relationship in relationships { names.append(try keys(of: relationship).joined(separator: ".")) }
    return names
  }
}

/// A generated struct of a composite attribute that typed snapshots can read and write, as objects do.
public protocol SnapshotComposite: CompositeValue {
  /// Reads the parts.
  ///
  /// - Parameters:
  ///   - object: The snapshot.
  ///   - slot: The slot of the first part.
  init(of object: ObjectSnapshot, at slot: Int)
  /// Writes the parts that differ from the snapshot's, so that only those count as changed.
  ///
  /// - Parameters:
  ///   - object: The snapshot.
  ///   - slot: The slot of the first part.
  func write(to object: inout ObjectSnapshot, at slot: Int)
}
