// CustomMigration: a custom stage under way: the older objects and the newer ones, side by side.
import Foundation
public import ObjectModel
public import ObjectQuery
import ObjectStore

/// A custom stage under way, as its handler sees it: the older objects beside the newer ones.
///
/// ```swift
/// let stage = CustomMigrationStage(migratingFrom: version1, to: version2) { migration in
///   try migration.forEach("Book") { old, new in
///     try new.setValue((old["title"] as? String)?.uppercased(), forKey: "title")
///   }
/// }
/// ```
///
/// The objects are plain ``ManagedObject``s, whose values are read and set by keys: no class has to be kept for an older version. What could be
/// inferred is in the newer rows already. Everything is part of one transaction: nobody else sees any of it before it is committed, and an error that the
/// handler throws leaves the store as it was. Its walks read and save in batches, so that memory does not grow with the number of objects.
public final class CustomMigration {
  /// The older objects, under the older model. They can only be read.
  public var source: ManagedObjectContext { contexts.source }
  /// The newer objects, under the newer model. What the handler leaves unsaved is saved after it.
  ///
  /// What the model requires is checked at the end of the stage, not by each save.
  public var destination: ManagedObjectContext { contexts.destination }
  /// The older model.
  public var sourceModel: ManagedObjectModel { contexts.session.sourceModel.model }
  /// The newer model.
  public var destinationModel: ManagedObjectModel { contexts.session.destinationModel.model }
  /// What the application keeps in the store's metadata.
  public var userMetadata: [String: String] { contexts.session.metadata.userMetadata }
  /// What the stage is called.
  public let label: String

  let contexts: MigrationContexts
  private let progress: StageProgress

  init(label: String, contexts: MigrationContexts, progress: StageProgress) {
    self.label = label
    self.contexts = contexts
    self.progress = progress
  }

  // MARK: Counterparts

  /// The newer object that an older one has become: both have the same key. Nil when its entity is gone, or the newer object was deleted.
  ///
  /// - Throws: ``StoreError`` when the store cannot be read.
  public func destinationObject(for sourceObject: ManagedObject) throws -> ManagedObject? {
    guard let objectID = destinationID(for: sourceObject.objectID) else { return nil }
    return try contexts.destination.objects(with: [objectID])[0]
  }

  /// The older object that a newer one was; nil for one that was not there before.
  ///
  /// - Throws: ``StoreError`` when the store cannot be read.
  public func sourceObject(for destinationObject: ManagedObject) throws -> ManagedObject? {
    let objectID = destinationObject.objectID
    guard !objectID.isTemporaryID, objectID.space == contexts.destinationStore.space.number,
      let number = contexts.sources[Int(objectID.entityNumber)]
    else { return nil }
    let sourceID = ManagedObjectID(space: contexts.sourceStore.space.number, entityNumber: UInt32(number), key: objectID.key)
    return try contexts.source.objects(with: [sourceID])[0]
  }

  /// The ID of the newer object that an older one has become, whether or not it is still there; nil when its entity is gone.
  package func destinationID(for sourceID: ManagedObjectID) -> ManagedObjectID? {
    guard sourceID.space == contexts.sourceStore.space.number, let number = contexts.destinations[Int(sourceID.entityNumber)] else {
      return nil
    }
    return ManagedObjectID(space: contexts.destinationStore.space.number, entityNumber: UInt32(number), key: sourceID.key)
  }

  // MARK: Walks

  /// Visits the older objects of an entity, each with the newer object that it has become, in bounded memory.
  ///
  /// Both sides are read a batch at a time; after each batch the newer objects are saved and let go, progress is reported and a cancellation obeyed. Objects
  /// without a newer one (its entity is gone, or it was deleted) are passed over; see ``forEachSource(_:where:batchSize:_:)``.
  /// - Parameters:
  ///   - entityName: The entity's name in the older model; objects of subentities are visited too.
  ///   - predicate: Which objects are visited; nil for all.
  ///   - batchSize: How many objects are read together.
  ///   - body: Called with each older object and the newer one.
  /// - Throws: ``StoreError``, ``ValidationError`` for a newer object that cannot be saved, what `body` throws.
  public func forEach(
    _ entityName: String, where predicate: FetchPredicate? = nil, batchSize: Int = 500,
    _ body: (_ old: ManagedObject, _ new: ManagedObject) throws -> Void
  ) throws {
    guard let entity = contexts.session.sourceModel.entity(named: entityName) else {
      throw source.unknownEntity(entityName, operation: .migrate)
    }
    guard entity.subtree.contains(where: { contexts.destinations[$0] != nil }) else {
      throw StoreError(.noNewerEntity(of: entityName), operation: .migrate)
    }
    try walk(entity, predicate, batchSize) { objects in
      let ids = objects.map { destinationID(for: $0.objectID) }
      // One request for the whole batch.
      let found = try contexts.destination.objects(with: ids.compactMap { $0 })
      var next = 0
      for (old, id) in zip(objects, ids) where id != nil {
        if let new = found[next], !new.isDeleted { try body(old, new) }
        next += 1
      }
    }
  }

  /// Visits the older objects of an entity in bounded memory, where they do not become newer objects one to one.
  ///
  /// After each batch the newer objects that the body has made or changed are saved and let go.
  /// - Parameters:
  ///   - entityName: The entity's name in the older model; objects of subentities are visited too.
  ///   - predicate: Which objects are visited; nil for all.
  ///   - batchSize: How many objects are read together.
  ///   - body: Called with each older object.
  /// - Throws: As ``forEach(_:where:batchSize:_:)``.
  public func forEachSource(
    _ entityName: String, where predicate: FetchPredicate? = nil, batchSize: Int = 500, _ body: (_ old: ManagedObject) throws -> Void
  ) throws {
    guard let entity = contexts.session.sourceModel.entity(named: entityName) else {
      throw source.unknownEntity(entityName, operation: .migrate)
    }
    try walk(entity, predicate, batchSize) { objects in
      for object in objects { try body(object) }
    }
  }

  private func walk(
    _ entity: CompiledEntity, _ predicate: FetchPredicate?, _ batchSize: Int, _ body: ([ManagedObject]) throws -> Void
  ) throws {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.predicate = predicate
    let count = contexts.session.isFollowed ? try source.count(for: request) : 0
    try progress.walk(entity, of: count, phase: "\(label): \(entity.name)") { advance in
      try source.enumerateBatches(request, batchSize: batchSize) { objects, _ in
        try checkCancellation()
        try body(objects)
        try contexts.saveDestination()
        advance(objects.count)
      }
    }
  }

  // MARK: Progress and cancellation

  /// Tells how far the handler has come, to whoever set ``PersistentStoreDescription/migrationProgress``. Walks do it by themselves; within one the
  /// fraction stays the walk's.
  ///
  /// - Parameters:
  ///   - completed: The units of work done.
  ///   - total: The units in all.
  ///   - phase: What is being done; nil for the stage's label.
  public func report(_ completed: Int, of total: Int, phase: String? = nil) {
    progress.report(phase, completed, of: total)
  }

  /// Throws once the migration was called off (``PersistentStoreDescription/migrationCancellation``). Walks do it by themselves.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled``.
  public func checkCancellation() throws { try contexts.session.checkCancellation() }
}
