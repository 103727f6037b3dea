import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Applies the properties that were set in a snapshot to its object, or to a new object if the snapshot has no ID.
  ///
  /// Only properties that were set in the snapshot change; all others keep their current values. If a property was changed on both sides to
  /// different values, ``mergePolicy`` decides. Unsaved changes of this context count as changes of the other side. To-many relationships
  /// merge: members that the snapshot added are added, members that it removed are removed. Validation takes place in the next save.
  ///
  /// - Returns: The object.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mergeConflict`` if the policy is ``MergePolicy/error``, with the properties in its
  ///   conflict; with ``StoreError/Code/objectNotFound`` if the object, or the destination of a relationship, does not exist; with
  ///   ``StoreError/Code/modelIncompatible`` for a snapshot of another model; ``KeyValueError`` if a setter of the snapshot failed. In each
  ///   case nothing is changed.
  @discardableResult
  public func apply(_ snapshot: ObjectSnapshot) throws -> ManagedObject {
    if let failure = snapshot.failures.first { throw failure }
    guard isCompatible(snapshot.base.objectID), let entity = model.entity(named: snapshot.entityName), snapshot.isOfLayout(of: entity) else {
      throw StoreError(.snapshotOfOtherModel(entity: snapshot.entityName), operation: .applySnapshot)
    }
    guard let objectID = snapshot.objectID else { return try insert(snapshot, entity) }
    let object = try existingObject(with: objectID)
    refreshIfOutdated(object, to: snapshot)
    var work = SnapshotApplication(snapshot, object, in: self)
    try work.merge()
    try work.prepare()
    work.run()
    return object
  }

  /// Applies the properties that were set in a typed snapshot: see ``apply(_:)-(ObjectSnapshot)``.
  ///
  /// - Returns: The object.
  /// - Throws: The errors of that method; ``StoreError`` with ``StoreError/Code/invalidRequest`` if this context uses another class for the
  ///   entity.
  @discardableResult
  public func apply<Snapshot: TypedSnapshot>(_ snapshot: Snapshot) throws -> Snapshot.Object {
    let name = snapshot.storage.values.entityName
    if let entity = model.entity(named: name), !(entityClasses.type(ofEntity: entity.number) is Snapshot.Object.Type) {
      throw StoreError(.otherClass(entity: name, className: "\(Snapshot.Object.self)"), operation: .applySnapshot)
    }
    let object = try apply(snapshot.storage.values)
    guard let typed = object as? Snapshot.Object else {
      throw StoreError(.otherClass(entity: object.compiledEntity.name, className: "\(Snapshot.Object.self)"), operation: .applySnapshot)
    }
    return typed
  }

  /// Refreshes an object whose row is older than the snapshot's, keeping its unsaved changes. Objects of a pinned state stay unchanged.
  private func refreshIfOutdated(_ object: ManagedObject, to snapshot: ObjectSnapshot) {
    guard !rowSource.isPinned, let row = object.row, RowImage.version(row) > 0, RowImage.version(row) < snapshot.version else { return }
    refresh(object, mergeChanges: true)
  }

  private func insert(_ snapshot: ObjectSnapshot, _ entity: CompiledEntity) throws -> ManagedObject {
    if entity.isAbstract { throw abstractEntity(entity.name) }
    let object = entityClasses.type(ofEntity: entity.number).init(ManagedObjectSeed(newObjectOf: entity, in: self))
    var work = SnapshotApplication(snapshot, object, in: self)
    work.takeAll()
    do { try work.prepare() } catch {
      // The object is not registered, so its `deinit` must not access the context.
      object.contextReference = nil
      throw error
    }
    registerInserted(object)
    work.run()
    return object
  }
}

extension StoreError.Reason {
  static func setOnBothSides(_ id: ManagedObjectID, _ names: [String]) -> Self {
    Self(
      .mergeConflict,
      "The snapshot of the “\(id.entityName)” \(id.uriString) sets \(names.map { "“\($0)”" }.joined(separator: ", ")), which has changed since the snapshot was taken. Nothing was applied; take another snapshot, or set the context's mergePolicy.",
      property: names.count == 1 ? names.first : nil, object: id)
  }

  static func snapshotOfOtherModel(entity: String) -> Self {
    Self(
      .modelIncompatible,
      "The snapshot belongs to another version of “\(entity)” than the context's model. Take it again from an object of this model.",
      entity: entity)
  }

  static func snapshotOfOtherClass(entity: String, className name: String) -> Self {
    Self(.invalidRequest, "A snapshot of “\(entity)” does not belong to the class \(name).", entity: entity)
  }
}

extension StoreOperation {
  static let takeSnapshot: Self = "take a snapshot"
  static let applySnapshot: Self = "apply a snapshot"
}
