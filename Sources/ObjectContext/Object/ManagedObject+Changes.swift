import ObjectModel
import ObjectStore

extension ManagedObject {
  final func changedValues() -> [String: Any?] {
    guard hasChanges else { return [:] }
    let entity = compiledEntity
    var values: [String: Any?] = [:]
    if let overlay {
      for slot in entity.slots where overlay.isDirty(slot.index) {
        values.updateValue(self[slot.name], forKey: slot.name)
      }
    }
    for state in toManyStates where state.isChanged {
      values.updateValue(self[state.relationship.name], forKey: state.relationship.name)
    }
    return values
  }

  final func changedValuesForCurrentEvent() -> [String: Any?] {
    guard let overlay else { return [:] }
    var values: [String: Any?] = [:]
    for slot in compiledEntity.slots where overlay.isChangedInEvent(slot.index) {
      values.updateValue(self[slot.name], forKey: slot.name)
    }
    return values
  }

  final func committedValues(forKeys keys: [String]?) throws -> [String: Any?] {
    if flags.contains(.isInserted) { return [:] }
    willAccess()
    let entity = compiledEntity
    var values: [String: Any?] = [:]
    for key in keys ?? entity.slots.map(\.name) {
      switch entity.property(named: key) {
      case .attribute(let slot):
        guard let attribute = slot.attribute else { continue }
        let stored = try image.map { try storedValue(slot.index, of: $0) } ?? .null
        values.updateValue(try Self.untypedValue(stored, attribute, entityName: entity.name, objectID), forKey: key)
      case .toOne(let relationship):
        let reference = image?.reference(relationship.index) ?? ObjectReference(rawValue: 0)
        values.updateValue(reference.isNull ? nil : managedObjectContext?.objectID(reference, near: self), forKey: key)
      case .composite(let composite):
        let parts = composite.partNames.map { "\(composite.name).\($0)" }
        var whole: [String: Any] = [:]
        for (name, value) in try committedValues(forKeys: parts) {
          if let value { whole[String(name.dropFirst(composite.name.count + 1))] = value }
        }
        values.updateValue(whole.isEmpty ? nil : whole, forKey: key)
      case .toMany, .fetched: continue
      case nil: throw KeyValueError(unknown: key, of: entity)
      }
    }
    return values
  }
}

extension ManagedObject: CustomStringConvertible {
  /// The entity, the ID, and, unless the object is a fault, its values. Does not fire a fault.
  final var printedForm: String {
    let entity = compiledEntity
    let head = "<\(Swift.type(of: self))> (entity: \(entity.name); id: \(objectID.uriString); data: "
    if isFault { return head + "<fault>)" }
    var lines: [String] = []
    for slot in entity.slots {
      if slot.relationship != nil {
        let reference = loadedReference(slot.index) ?? ObjectReference(rawValue: 0)
        let id = reference.isNull ? nil : managedObjectContext?.objectID(reference, near: self)
        lines.append("\(slot.name) = \(id?.uriString ?? "nil")")
      } else {
        lines.append("\(slot.name) = \(printed(slot))")
      }
    }
    for relationship in entity.toManyRelationships {
      if let state = toManyStates[relationship.index], state.isLoaded {
        let ids = state.members.compactMap { managedObjectContext?.objectID($0, near: self)?.uriString }
        lines.append("\(relationship.name) = [\(ids.joined(separator: ", "))]")
      } else {
        lines.append("\(relationship.name) = <relationship fault: '\(relationship.name)'>")
      }
    }
    return head + "{ " + lines.joined(separator: "; ") + " })"
  }

  private func printed(_ slot: CompiledSlot) -> String {
    // Do not read large values for a description.
    let external = overlay?.has(slot.index) ?? false ? overlay?.external(slot.index) : nil
    if slot.kind == .bytes, external != nil || overlay?.has(slot.index) != true && image?.external(slot.index) != nil {
      return "<large value>"
    }
    guard let attribute = slot.attribute else { return "nil" }
    let value: Any?
    do {
      value = try Self.swiftValue(loadedSlotValue(slot.index) ?? .null, attribute, entityName: compiledEntity.name)
    } catch {
      return "<unreadable>"
    }
    guard let value else { return "nil" }
    return value is String ? "\"\(value)\"" : "\(value)"
  }
}
