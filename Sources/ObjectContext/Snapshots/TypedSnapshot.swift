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
  var _snapshot: ObjectSnapshot { get set }
  /// Wraps a snapshot that is known to be of an object of the class.
  init(_snapshot: ObjectSnapshot)
  /// The class of the objects.
  static var _objectType: Object.Type { get }
  /// The model from which the class was generated.
  static var _model: ManagedObjectModel { get }
}

extension TypedSnapshot {
  /// Creates a snapshot for a new object, with the model's default values. Applying it inserts an object.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if the entity is abstract.
  public init() throws {
    self.init(_snapshot: try ObjectSnapshot(entityName: Object.entityName, model: Self._model))
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
    self.init(_snapshot: snapshot)
  }

  /// The object's ID; nil if the object was never saved, or if the snapshot was created for a new object.
  public var objectID: ManagedObjectID? { _snapshot.objectID }
  /// The object's ID: see ``objectID``.
  public var id: ManagedObjectID? { _snapshot.objectID }
  /// The version of the row on which the snapshot is based.
  public var version: Int64 { _snapshot.version }
  /// The names of the properties that were set since the snapshot was taken.
  public var changedKeys: [String] { _snapshot.changedKeys }
  /// Whether a property was set since the snapshot was taken.
  public var hasChanges: Bool { _snapshot.hasChanges }

  /// The wrapped snapshot, with access to properties by name.
  public var untyped: ObjectSnapshot { _snapshot }

  /// Returns whether the wrapped snapshots are equal.
  public static func == (left: Self, right: Self) -> Bool { left._snapshot == right._snapshot }
  /// Hashes the wrapped snapshot.
  public func hash(into hasher: inout Hasher) { _snapshot.hash(into: &hasher) }

  /// Decodes a snapshot from the form that ``ObjectSnapshot`` encodes.
  ///
  /// - Throws: The errors of ``ObjectSnapshot``; `DecodingError` if the snapshot is of another class.
  public init(from decoder: any Decoder) throws {
    // A snapshot of a new object needs only the model, not an open store.
    if let model = try? CompiledModel.compiling(Self._model) { _ = ObjectIDSpace.register(storeIdentifier: nil, model: model) }
    let snapshot = try ObjectSnapshot(from: decoder)
    do { try self.init(snapshot) } catch {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "\(error)", underlyingError: error))
    }
  }

  /// Encodes the snapshot in the form of ``ObjectSnapshot``.
  ///
  /// - Throws: The errors of ``ObjectSnapshot``.
  public func encode(to encoder: any Encoder) throws { try _snapshot.encode(to: encoder) }
}
