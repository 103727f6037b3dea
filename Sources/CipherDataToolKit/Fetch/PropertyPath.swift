package import ObjectContext
package import ObjectModel

/// A column of a result: a path such as `name`, `maintainer.name`, `relations.alternatives.packageName`, or `tags.@count`, resolved against
/// a model. `@entity` is the name of the object's entity, `@id` its URI.
package struct PropertyPath: Sendable {
  private enum Step: Sendable {
    case toOne(CompiledRelationship)
    case toMany(CompiledRelationship)
  }
  private enum End: Sendable {
    case attribute(Int, AttributeType)
    case object
    case count(CompiledRelationship)
    case entityName
    case uri
  }
  /// The original text of the path.
  package let text: String
  private let steps: [Step]
  private let end: End

  /// Resolves a path.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/usage``.
  package init(_ text: String, of entity: CompiledEntity, in model: CompiledModel) throws {
    self.text = text
    var steps: [Step] = []
    var end: End?
    var current = entity
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    // The path of the composite attributes that the preceding names have entered.
    var composite = ""
    for (index, key) in names.enumerated() {
      let isLast = index == names.count - 1
      let name = composite + key
      func fail(_ message: String) -> ToolError { ToolError(.usage, "Property path “\(text)”: \(message)") }
      if name == "@count", isLast, case .toMany(let relationship)? = steps.last {
        steps.removeLast()
        end = .count(relationship)
        break
      }
      if isLast, name == "@entity" || name == "@id" {
        end = name == "@id" ? .uri : .entityName
        break
      }
      guard let property = current.property(named: name) else {
        throw fail(
          "the entity \(current.name) has no property “\(name)”; \(ToolError.advice(for: name, among: current.propertyNames))")
      }
      switch property {
      case .attribute(let slot):
        guard isLast else { throw fail("“\(name)” is an attribute: the path ends there.") }
        guard let type = slot.attributeType, !slot.isTransient else { throw fail("“\(name)” is transient: it is not stored.") }
        end = .attribute(slot.index, type)
      case .toOne(let relationship):
        steps.append(.toOne(relationship))
        current = model.entities[relationship.destinationEntity]
      case .toMany(let relationship):
        steps.append(.toMany(relationship))
        current = model.entities[relationship.destinationEntity]
      case .composite(let part):
        guard !isLast else {
          throw fail("“\(name)” is a composite attribute; name one of its elements: \(part.partNames.joined(separator: ", ")).")
        }
        composite = name + "."
        continue
      case .fetched: throw fail("“\(name)” is a fetched property.")
      }
      composite = ""
    }
    self.steps = steps
    self.end = end ?? .object
  }

  /// Returns the value for an object, or an array if the path includes a to-many relationship.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - identities: The constraints that name objects at the end of a path.
  ///   - isCell: Whether the value is for a table or CSV.
  package func value(of object: ManagedObject, identities: IdentityTable, isCell: Bool) -> JSONValue {
    value(from: object, step: 0, identities, isCell)
  }

  private func value(from object: ManagedObject, step: Int, _ identities: IdentityTable, _ isCell: Bool) -> JSONValue {
    guard step < steps.count else {
      switch end {
      case .attribute(let slot, let type):
        let value = object.slotValue(slot)
        return ValueCoding.output(value, type: type, isCell: isCell)
      case .object: return identities.label(of: object)
      case .entityName: return .string(object.compiledEntity.name)
      case .uri: return .string(object.objectID.uriString)
      case .count(let relationship): return .integer(object.toManyCount(relationship.index))
      }
    }
    switch steps[step] {
    case .toOne(let relationship):
      guard let destination: ManagedObject = object.toOne(relationship.index) else { return .null }
      return value(from: destination, step: step + 1, identities, isCell)
    case .toMany(let relationship):
      var values: [JSONValue] = []
      for member in object.toManyArray(relationship.index, as: ManagedObject.self) {
        switch value(from: member, step: step + 1, identities, isCell) {
        case .null: break
        case .array(let nested): values.append(contentsOf: nested)
        case let single: values.append(single)
        }
      }
      if !relationship.isOrdered { values.sort { $0.plainText.utf8.lexicographicallyPrecedes($1.plainText.utf8) } }
      return .array(values)
    }
  }
}

extension IdentityTable {
  /// Returns the name of an object in a result: the value of its key, a JSON object of the values of a compound key, or its URI.
  package func label(of object: ManagedObject) -> JSONValue {
    let entity = object.compiledEntity
    guard let constraint = key(of: object)?.constraint else { return .string(object.objectID.uriString) }
    let values = constraint.slots.map { index in
      let slot = entity.slots[index]
      let destination: ManagedObject? = slot.relationship == nil ? nil : object.toOne(index)
      return (
        slot.name, destination.map(label) ?? ValueCoding.json(object.slotValue(index), type: slot.attributeType ?? .undefined)
      )
    }
    return values.count == 1 ? values[0].1 : .object(values)
  }
}
