import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObject {
  /// Loads the object's row if it is a fault. Returns `false` if the row was deleted or could not be read; the object then reads as empty.
  @discardableResult
  final func fireFault(trigger: Int?) -> Bool {
    guard flags.contains(.isFault) else { return !flags.contains(.isInaccessible) }
    guard let contextReference else {
      // A fault without a context stays empty. Property reads cannot throw, so a notice is logged.
      if row == nil, !flags.contains(.isRemoved) { MissingContextWarning.log(entityName: compiledEntity.name) }
      return row != nil
    }
    if row == nil, !contextReference._withUnsafeGuaranteedRef({ $0.readRow(of: self, trigger: trigger) }) {
      if flags.contains(.isInaccessible) { discardPartialRow() }
      return false
    }
    discardPartialRow()
    let number = Int(currentID.entityNumber)
    let needsWork = contextReference._withUnsafeGuaranteedRef { $0.entityClasses.needsWorkWhenFired(entity: number) }
    awake {
      if needsWork {
        setTransientDefaults()
        updateDirectRow()
      } else if overlay == nil, flags.exposesRow {
        showRow()
      }
    }
    return true
  }

  /// Fires a fault whose row is in memory and can be read directly, which applies to nearly all fetched objects. Returns `false` if the
  /// slow path is required or the object is not a fault.
  @inline(__always) final func firesInMemory() -> Bool {
    guard flags.firesInMemory, overlay == nil, row != nil, let contextReference,
      !contextReference._withUnsafeGuaranteedRef({ $0.entityClasses.needsWorkWhenFired(entity: Int(entityNumber)) })
    else { return false }
    awake { showRow() }
    return true
  }

  /// Ends the fault state of an object whose row is loaded, and calls `awakeFromFetch()`.
  ///
  /// - Parameter show: Lets reads access the row.
  @inline(__always) private final func awake(_ show: () -> Void) {
    flags = flags.subtracting(.isFault).union(.isAwakening)
    show()
    awakeFromFetch()
    flags.remove(.isAwakening)
  }

  /// Replaces the object's row by one that was read again, and keeps the object's changes. `nil` means that the row was deleted.
  ///
  /// - Parameter unloadsMembers: Whether the members of to-many relationships are unloaded too.
  final func setRefreshedRow(_ row: RowImage?, unloadsMembers: Bool = true) {
    managedObjectContext?.fetchedProperties.forget(self)
    discardPartialRow()
    if unloadsMembers || row == nil { for state in toManyStates { state.unload() } }
    image = row
    if row == nil { flags.insert(.isFault) }
    updateDirectRow()
    if let row { keepOwners(over: row) }
    if row == nil {
      fireFault(trigger: nil)
    } else if !flags.contains(.isFault) {
      awake(fromSnapshotEvents: .refresh)
    }
  }

  /// Keeps the unsaved destinations of to-one relationships, and the inverses, after the row was changed elsewhere.
  private func keepOwners(over row: RowImage) {
    guard let overlay, let context = managedObjectContext else { return }
    for slot in withEntity(\.referenceSlots) where overlay.isDirty(slot) {
      let stored = row.reference(slot)
      guard let own = loadedReference(slot), own != stored, let relationship = compiledEntity.slots[slot].relationship,
        let inverse = context.tables.inverse(of: relationship)
      else { continue }
      if !stored.isNull {
        // The owner's members may have been loaded before they included the object.
        if inverse.isToMany { context.object(stored, near: self)?.toManyStates[inverse.index]?.unload() }
        context.removeFromInverse(inverse, owner: stored, member: self)
      }
      guard let destination = own.isNull ? nil : context.object(own, near: self) else { continue }
      if inverse.isToMany {
        destination.toManyStates[inverse.index]?.unload()
        destination.addMember(self, to: inverse)
      } else if destination.referenceValue(inverse.index).isNull {
        destination.setReference(currentID.reference, at: inverse.index)
      }
    }
  }

  /// Reports that members of to-many relationships, but not the row, were changed elsewhere.
  final func recordRefreshedMembers() {
    managedObjectContext?.fetchedProperties.forget(self)
    if !flags.contains(.isFault) { awake(fromSnapshotEvents: .refresh) }
  }

  /// Makes the object a fault: values and changes are dropped, and the row is read again on demand.
  final func turnIntoFault() {
    willTurnIntoFault()
    managedObjectContext?.fetchedProperties.forget(self)
    managedObjectContext?.mutableValues.remove(self)
    hideRow()
    image = nil
    setOverlay(nil)
    flags.remove(.isPartial)
    keepStatesWithOtherChanges()
    flags.insert(.isFault)
    flags.remove(.isInaccessible)
    didTurnIntoFault()
  }

  /// Drops the states of relationships, except for changes that belong to the members' to-one inverses.
  private func keepStatesWithOtherChanges() {
    if toManyStates.isEmpty { return }
    let model = managedObjectContext?.model
    toManyStates.filter { state in
      guard state.isChanged, let inverse = model?.inverse(of: state.relationship), !inverse.isToMany else { return false }
      state.unload(keepingOrder: false)
      return state.isChanged
    }
  }
}

// MARK: - Partial faults

extension ManagedObjectContext {
  /// The name of the column that contains the objects. No property can have this name.
  private static var objectColumn: String { "objectID" }

  /// Returns the request for a store. If the request selects properties, it fetches dictionaries with these properties and the object.
  ///
  /// Refreshed objects need complete rows, so a refreshing fetch ignores the selection.
  func readSpecification(_ specification: FetchSpecification) throws -> FetchSpecification {
    guard specification.resultType == .objects, !specification.propertiesToFetch.isEmpty, !specification.shouldRefreshRefetchedObjects,
      !rowSource.readsUnsavedRows
    else { return specification }
    let entity = try entity(of: specification)
    var slots = SlotMask()
    for property in specification.propertiesToFetch {
      guard case .keyPath(let name) = property else { throw notPartial(property.name, entity) }
      switch entity.property(named: name) {
      case .attribute(let slot): slots.insert(slot.index)
      case .toOne(let relationship): slots.insert(relationship.index)
      case .composite(let composite): for slot in composite.slots { slots.insert(slot) }
      default: throw notPartial(name, entity)
      }
    }
    var partial = specification
    partial.resultType = .dictionaries
    partial.returnsDistinctResults = false
    partial.propertiesToGroupBy = []
    partial.havingPredicate = nil
    let names = slots.slots(below: entity.slots.count).map { entity.slots[$0] }.filter { !$0.isTransient }.map(\.name)
    partial.propertiesToFetch = [.expression(.evaluatedObject, as: Self.objectColumn)] + names.map { .keyPath($0) }
    return partial
  }

  private func notPartial(_ name: String, _ entity: CompiledEntity) -> StoreError {
    return StoreError(.notFetchableWithObjects(name, entity: entity.name), operation: .fetch)
  }

  /// Returns the objects of dictionary rows, in order. Faults without a row take the values.
  func materialize(_ dictionaries: DictionaryRows, from store: PersistentStore) throws -> [ManagedObject] {
    let space = store.space.number
    let references = try dictionaries.rows.map { row in
      guard case .int(let word)? = row.first else { throw unexpectedResult() }
      return ObjectReference(rawValue: word)
    }
    let names = dictionaries.columns.dropFirst().map(\.name)
    guard let first = references.first else { return [] }
    let slots = names.compactMap { name in model.entities[first.entity].slots.first { $0.name == name }?.index }
    let group = references.count > 1 ? faultGroups.add(references, space: space) : 0
    return zip(references, dictionaries.rows).enumerated().map { position, pair in
      let (reference, row) = pair
      let object = registeredObject(reference, space: space) ?? makeFault(reference, space: space)
      if object.flags.contains(.isFault), object.row == nil { object.setPartialRow(row.dropFirst(), slots: slots) }
      object.join(group, at: position)
      return object
    }
  }
}

extension ManagedObject {
  /// Stores the values of a partially read row. The object stays a fault: accessing any other property reads the complete row.
  final func setPartialRow(_ values: ArraySlice<Slot>, slots: [Int]) {
    discardPartialRow()
    guard overlay == nil else { return }
    let partial = Overlay(of: compiledEntity)
    for (value, slot) in zip(values, slots) { partial.keep(value, at: slot) }
    setOverlay(partial)
    flags.insert(.isPartial)
  }

  final func discardPartialRow() {
    guard flags.contains(.isPartial) else { return }
    flags.remove(.isPartial)
    setOverlay(nil)
  }

  /// Returns whether a fault has the partially read value of a slot.
  @inline(__always) final func hasPartialValue(_ slot: Int) -> Bool {
    flags.contains(.isPartial) && row == nil && overlay?.has(slot) ?? false
  }

  /// Returns the destination of a to-one relationship if it has been read; nil otherwise.
  final func readReference(_ slot: Int) -> ObjectReference? {
    if let row {
      MemoryPrefetch.prefetch(behind: self, row)
      return ObjectReference(rawValue: slot < RowImage.slotCount(row) ? RowImage.word(row, slot) : 0)
    }
    guard hasPartialValue(slot) else { return nil }
    if case .int(let word)? = overlay?[slot] { return ObjectReference(rawValue: word) }
    return ObjectReference(rawValue: 0)
  }
}

extension StoreError.Reason {
  static func notFetchableWithObjects(_ name: String, entity: String) -> Self {
    Self(
      .invalidRequest,
      "“\(name)” cannot be fetched with objects: name attributes and to-one relationships of “\(entity)” in propertiesToFetch, and prefetch others.",
      entity: entity, property: name)
  }
}
