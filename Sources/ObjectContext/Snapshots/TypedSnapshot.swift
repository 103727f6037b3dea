public import ObjectModel
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
