// TypedSnapshot: snapshots with typed properties, which generated code declares.
public import ObjectModel
import ObjectStore

/// The values of an object of a generated class at some time, with typed properties: `Book.Snapshot`.
///
/// ```swift
/// var snapshot = try author.snapshot(including: [\.books])
/// snapshot.name = "James Joyce"
/// snapshot.books?.insert(book.objectID)
/// let books = try context.fetch(Book.all.sorted { $0.title }, as: Book.Snapshot.self)
/// ```
///
/// It is ``ObjectSnapshot`` with the properties of one class: inherited ones included, to-one relationships as IDs, to-many relationships as IDs that are nil
/// where they were not asked for. Setters note what was set. Two snapshots are equal when those behind them are.
public protocol TypedSnapshot: Sendable, Hashable, Codable, Identifiable {
  /// The class whose objects the snapshots are of.
  associatedtype Object: TypedManagedObject
  /// The values.
  var _snapshot: ObjectSnapshot { get set }
  /// Takes values that are known to be of an object of the class.
  init(_snapshot: ObjectSnapshot)
  /// The class whose objects the snapshots are of.
  static var _objectType: Object.Type { get }
  /// The model that the class was generated from.
  static var _model: ManagedObjectModel { get }
}

extension TypedSnapshot {
  /// Begins a snapshot of an object that is to be made: with the model's default values. Applying it inserts an object.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` where the entity is abstract.
  public init() throws {
    self.init(_snapshot: try ObjectSnapshot(entityName: Object.entityName, model: Self._model))
  }

  /// The typed form of a snapshot.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` where it is of an object of another class, and with
  ///   ``StoreError/Code/modelIncompatible`` where it is of another version of the model than the class was generated from.
  public init(_ snapshot: ObjectSnapshot) throws {
    let entity = snapshot.entity
    guard Object.classTable.type(of: entity.name) is Object.Type else {
      throw StoreError(.snapshotOfOtherClass(entity: entity.name, className: "\(Object.self)"), operation: .takeSnapshot)
    }
    guard Object.classTable.fits(entity) else { throw StoreError(.snapshotOfOtherModel(entity: entity.name), operation: .takeSnapshot) }
    self.init(_snapshot: snapshot)
  }

  /// The object's ID; nil of one that was never saved, and of a snapshot that was made from nothing.
  public var objectID: ManagedObjectID? { _snapshot.objectID }
  /// The object's ID: see ``objectID``.
  public var id: ManagedObjectID? { _snapshot.objectID }
  /// The version of the row that the values began with.
  public var version: Int64 { _snapshot.version }
  /// The names of the properties that were set since the snapshot was taken.
  public var changedKeys: [String] { _snapshot.changedKeys }
  /// Whether a property was set since the snapshot was taken.
  public var hasChanges: Bool { _snapshot.hasChanges }

  /// The snapshot without types: properties by name.
  public var untyped: ObjectSnapshot { _snapshot }

  /// Whether the snapshots behind are equal.
  public static func == (left: Self, right: Self) -> Bool { left._snapshot == right._snapshot }
  /// Hashes the snapshot behind.
  public func hash(into hasher: inout Hasher) { _snapshot.hash(into: &hasher) }

  /// Reads a snapshot in the form that ``ObjectSnapshot`` has.
  ///
  /// - Throws: What ``ObjectSnapshot`` throws; `DecodingError` where the snapshot is of an object of another class.
  public init(from decoder: any Decoder) throws {
    // One of a new object needs no store that is open, only the model.
    if let model = try? CompiledModel.compiling(Self._model) { _ = ObjectIDSpace.register(storeIdentifier: nil, model: model) }
    let snapshot = try ObjectSnapshot(from: decoder)
    do { try self.init(snapshot) } catch {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "\(error)", underlyingError: error))
    }
  }

  /// Writes the snapshot in the form that ``ObjectSnapshot`` has.
  ///
  /// - Throws: What ``ObjectSnapshot`` throws.
  public func encode(to encoder: any Encoder) throws { try _snapshot.encode(to: encoder) }
}
