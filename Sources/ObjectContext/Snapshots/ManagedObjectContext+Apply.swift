// ManagedObjectContext+Apply: what was set in a snapshot becomes changes of a context.
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Sets what was set in a snapshot, and nothing else, on its object, or on a new one where the snapshot has no ID.
  ///
  /// What others have changed since the snapshot was taken stays where the snapshot did not set it. A property that both sides have changed, to different values,
  /// follows ``mergePolicy``; what this context has changed and not saved counts as changed by others. Members of to-many relationships merge: those that the
  /// snapshot added or removed come or go. Nothing is validated before the save.
  ///
  /// - Returns: The object.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mergeConflict``, whose conflict has the properties, where the policy is ``MergePolicy/error``; with
  ///   ``StoreError/Code/objectNotFound`` where the object, or one that a relationship was set to, is not there; with ``StoreError/Code/modelIncompatible`` for a
  ///   snapshot of another model's object; ``KeyValueError`` where a setter of the snapshot failed. Nothing is changed then.
  @discardableResult
  public func apply(_ snapshot: ObjectSnapshot) throws -> ManagedObject {
    if let failure = snapshot.failures.first { throw failure }
    guard knows(snapshot.base.objectID), let entity = model.entity(named: snapshot.entityName), snapshot.isOfLayout(of: entity) else {
      throw StoreError(.snapshotOfOtherModel(entity: snapshot.entityName), operation: .applySnapshot)
    }
    guard let objectID = snapshot.objectID else { return try insert(snapshot, entity) }
    let object = try existingObject(with: objectID)
    bringAlong(object, to: snapshot)
    var work = SnapshotWork(snapshot, object, in: self)
    try work.merge()
    try work.prepare()
    work.run()
    return object
  }

  /// Sets what was set in a typed snapshot: see ``apply(_:)-(ObjectSnapshot)``.
  ///
  /// - Returns: The object.
  /// - Throws: As there; ``StoreError`` with ``StoreError/Code/invalidRequest`` where objects of the entity are not of the class in this context.
  @discardableResult
  public func apply<Snapshot: TypedSnapshot>(_ snapshot: Snapshot) throws -> Snapshot.Object {
    let name = snapshot._snapshot.entityName
    if let entity = model.entity(named: name), !(entityClasses.type(ofEntity: entity.number) is Snapshot.Object.Type) {
      throw StoreError(.otherClass(entity: name, className: "\(Snapshot.Object.self)"), operation: .applySnapshot)
    }
    let object = try apply(snapshot._snapshot)
    guard let typed = object as? Snapshot.Object else {
      throw StoreError(.otherClass(entity: object.compiledEntity.name, className: "\(Snapshot.Object.self)"), operation: .applySnapshot)
    }
    return typed
  }

  /// An object whose row is older than the snapshot's takes the store's, below its unsaved changes. One of a state that holds still stays as it is.
  private func bringAlong(_ object: ManagedObject, to snapshot: ObjectSnapshot) {
    guard !rowSource.isPinned, let row = object.row, RowImage.version(row) > 0, RowImage.version(row) < snapshot.version else { return }
    refresh(object, mergeChanges: true)
  }

  private func insert(_ snapshot: ObjectSnapshot, _ entity: CompiledEntity) throws -> ManagedObject {
    if entity.isAbstract { throw abstractEntity(entity.name) }
    let object = entityClasses.type(ofEntity: entity.number).init(ManagedObjectSeed(newObjectOf: entity, in: self))
    var work = SnapshotWork(snapshot, object, in: self)
    work.takeAll()
    do { try work.prepare() } catch {
      // The context has not heard of it, and is not to when it goes.
      object.contextReference = nil
      throw error
    }
    registerInserted(object)
    work.run()
    return object
  }
}
