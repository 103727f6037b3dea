import ObjectModel
import ObjectQuery
import ObjectStore

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
