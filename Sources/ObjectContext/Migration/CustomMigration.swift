import Foundation
public import ObjectModel
public import ObjectQuery
import ObjectStore

/// A running custom migration stage, as passed to its handler, with access to the source and the destination objects.
///
/// ```swift
/// let stage = CustomMigrationStage(migratingFrom: version1, to: version2) { migration in
///   try migration.forEach("Book") { old, new in
///     try new.setValue((old["title"] as? String)?.uppercased(), forKey: "title")
///   }
/// }
/// ```
///
/// The objects are plain ``ManagedObject``s, whose values are accessed by key, so an application need not keep classes for older versions.
/// Destination rows already contain everything that could be inferred. The whole migration is one transaction: its changes are invisible to
/// others until the commit, and an error thrown by the handler rolls the store back. The iteration methods read and save in batches, so
/// that memory use does not grow with the number of objects.
public final class CustomMigration {
  /// The context of the source objects, with the source model. The objects are read-only.
  public var source: ManagedObjectContext { contexts.source }
  /// The context of the destination objects, with the destination model. Changes that the handler leaves unsaved are saved after it
  /// returns.
  ///
  /// Required values are checked at the end of the stage, not in each save.
  public var destination: ManagedObjectContext { contexts.destination }
  /// The source model.
  public var sourceModel: ManagedObjectModel { contexts.session.sourceModel.model }
  /// The destination model.
  public var destinationModel: ManagedObjectModel { contexts.session.destinationModel.model }
  /// The application's entries in the store's metadata.
  public var userMetadata: [String: String] { contexts.session.metadata.userMetadata }
  /// The name of the stage.
  public let label: String

  let contexts: MigrationContexts
  private let progress: StageProgress

  init(label: String, contexts: MigrationContexts, progress: StageProgress) {
    self.label = label
    self.contexts = contexts
    self.progress = progress
  }

  // MARK: Counterparts

  /// Returns the destination object of a source object; both have the same key. Nil if its entity was removed, or if the destination object
  /// was deleted.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func destinationObject(for sourceObject: ManagedObject) throws -> ManagedObject? {
    guard let objectID = destinationID(for: sourceObject.objectID) else { return nil }
    return try contexts.destination.objects(with: [objectID])[0]
  }

  /// Returns the source object of a destination object; nil if the object is new.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func sourceObject(for destinationObject: ManagedObject) throws -> ManagedObject? {
    let objectID = destinationObject.objectID
    guard !objectID.isTemporaryID, objectID.space == contexts.destinationStore.space.number,
      let number = contexts.sources[Int(objectID.entityNumber)]
    else { return nil }
    let sourceID = ManagedObjectID(space: contexts.sourceStore.space.number, entityNumber: UInt32(number), key: objectID.key)
    return try contexts.source.objects(with: [sourceID])[0]
  }

  /// Returns the ID of the destination object of a source object, even if the destination object was deleted; nil if its entity was
  /// removed.
  package func destinationID(for sourceID: ManagedObjectID) -> ManagedObjectID? {
    guard sourceID.space == contexts.sourceStore.space.number, let number = contexts.destinations[Int(sourceID.entityNumber)] else {
      return nil
    }
    return ManagedObjectID(space: contexts.destinationStore.space.number, entityNumber: UInt32(number), key: sourceID.key)
  }

  // MARK: Iteration

  /// Calls a closure with each source object of an entity and its destination object, in bounded memory.
  ///
  /// Both sides are read in batches. After each batch, the destination objects are saved and released, progress is reported, and
  /// cancellation is checked. Source objects without a destination object (their entity was removed, or the object was deleted) are
  /// skipped; to visit them, use ``forEachSource(_:where:batchSize:_:)``.
  ///
  /// - Parameters:
  ///   - entityName: The entity's name in the source model. Objects of subentities are included.
  ///   - predicate: The condition for objects to visit; nil for all objects.
  ///   - batchSize: The number of objects to read together.
  ///   - body: Called with each source object and its destination object.
  /// - Throws: ``StoreError``; ``ValidationError`` for a destination object that cannot be saved; errors of `body`.
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
      // One request for the batch.
      let found = try contexts.destination.objects(with: ids.compactMap { $0 })
      var next = 0
      for (old, id) in zip(objects, ids) where id != nil {
        if let new = found[next], !new.isDeleted { try body(old, new) }
        next += 1
      }
    }
  }

  /// Calls a closure with each source object of an entity, in bounded memory. Use it if source and destination objects do not correspond
  /// one to one.
  ///
  /// After each batch, the destination objects that the closure has created or changed are saved and released.
  ///
  /// - Parameters:
  ///   - entityName: The entity's name in the source model. Objects of subentities are included.
  ///   - predicate: The condition for objects to visit; nil for all objects.
  ///   - batchSize: The number of objects to read together.
  ///   - body: Called with each source object.
  /// - Throws: The errors of ``forEach(_:where:batchSize:_:)``.
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
      try source.enumerateBatches(of: request, size: batchSize) { objects, _ in
        try checkCancellation()
        try body(objects)
        try contexts.saveDestination()
        advance(objects.count)
      }
    }
  }

  // MARK: Progress and cancellation

  /// Reports the handler's progress to ``PersistentStoreDescription/migrationProgress``. The iteration methods report by themselves; a call
  /// during an iteration does not change the fraction.
  ///
  /// - Parameters:
  ///   - completed: The number of completed units.
  ///   - total: The total number of units.
  ///   - phase: A description of the current task; nil for the stage's label.
  public func report(_ completed: Int, of total: Int, phase: String? = nil) {
    progress.report(phase, completed, of: total)
  }

  /// Throws if the migration was canceled with ``PersistentStoreDescription/migrationCancellation``. The iteration methods check by
  /// themselves.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled``.
  public func checkCancellation() throws { try contexts.session.checkCancellation() }
}

extension StoreError.Reason {
  static func noNewerEntity(of name: String) -> Self {
    Self(
      .invalidRequest, "No entity of the newer model was “\(name)”: iterate over its objects with forEachSource and insert new objects.",
      entity: name)
  }
}
