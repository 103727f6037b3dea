import Foundation
package import ObjectModel

/// Converts JSON objects to input objects of any model.
///
/// In addition to properties, an object can have `$entity` (its entity), `$id` (an identifier by which other lines refer to it), and `$ref`
/// (the identifier of the object that it refers to), and `$stableID`. A to-one relationship is a nested object or null. A to-many relationship is an array
/// of nested objects with all members.
package struct JSONMapping {
  private let model: CompiledModel
  private let defaultEntity: CompiledEntity?

  /// Creates a mapping for a model.
  ///
  /// - Parameter defaultEntity: The entity of objects that do not name one; `nil` if all must name one.
  package init(_ model: CompiledModel, defaultEntity: CompiledEntity?) {
    self.model = model
    self.defaultEntity = defaultEntity
  }

  /// Returns the object of a line.
  ///
  /// - Throws: ``InputError`` with entity and key.
  package func object(_ value: JSONValue, line: Int) throws -> ImportObject {
    try object(value, declared: defaultEntity, line: line, root: nil, path: "")
  }

  /// Returns the object of a value at a path.
  ///
  /// - Parameter root: The entity of the line's outermost object, at which the path begins; `nil` for that object itself.
  private func object(_ value: JSONValue, declared: CompiledEntity?, line: Int, root: CompiledEntity?, path: String) throws -> ImportObject
  {
    guard case .object(let members) = value else {
      throw InputError(
        line: line, entity: (root ?? declared)?.name, key: path.isEmpty ? nil : path, "An object is expected, not \(value.kindName).")
    }
    let entity = try entity(of: value, declared: declared, line: line, root: root, path: path)
    let root = root ?? entity
    var object = ImportObject(entity: entity, line: line)
    for member in members {
      let key = path.isEmpty ? member.key : "\(path).\(member.key)"
      func fail(_ message: String) -> InputError { InputError(line: line, entity: root.name, key: key, message) }
      if member.key.hasPrefix("$") {
        if member.key == "$entity" { continue }
        guard case .string(let name) = member.value else { throw fail("A string is expected, not \(member.value.kindName).") }
        switch member.key {
        case "$id": object.identifier = name
        case "$ref": object.reference = name
        case "$stableID":
          guard let id = UUID(uuidString: name) else { throw fail("A UUID is expected.") }
          object.stableID = id
        default: throw fail("No such key; there are $entity, $id, $ref and $stableID.")
        }
        continue
      }
      switch entity.property(named: member.key) {
      case .attribute(let slot):
        guard !slot.isTransient, let type = slot.attributeType else { throw fail("The attribute is transient: it is not stored.") }
        do {
          object.values.append((slot.index, try ValueCoding.slot(member.value, type: type)))
        } catch {
          throw fail(error.message)
        }
      case .toOne(let relationship):
        let destination = model.entities[relationship.destinationEntity]
        let nested = member.value.isNull ? nil : try self.object(member.value, declared: destination, line: line, root: root, path: key)
        object.toOne.append((relationship, nested))
      case .toMany(let relationship):
        guard case .array(let values) = member.value else { throw fail("An array of objects is expected, not \(member.value.kindName).") }
        let destination = model.entities[relationship.destinationEntity]
        let nested = try values.enumerated().map { index, value in
          try self.object(value, declared: destination, line: line, root: root, path: "\(key)[\(index)]")
        }
        object.toMany.append((relationship, nested))
      case .composite: throw fail("A composite attribute is set part by part, as in “\(member.key).part”.")
      case .fetched: throw fail("A fetched property cannot be set.")
      case nil: throw fail("The entity has no such property; \(ToolError.advice(for: member.key, among: entity.propertyNames))")
      }
    }
    return object
  }

  private func entity(
    of value: JSONValue, declared: CompiledEntity?, line: Int, root: CompiledEntity?, path: String
  ) throws -> CompiledEntity {
    let key = path.isEmpty ? "$entity" : "\(path).$entity"
    let entity: CompiledEntity
    switch value["$entity"] {
    case .string(let name):
      guard let named = model.entity(named: name) else {
        let advice = ToolError.advice(for: name, among: model.entities.map(\.name))
        throw InputError(line: line, entity: root?.name, key: key, "The model has no entity of this name; \(advice)")
      }
      if let declared, !named.isKind(of: declared) {
        throw InputError(line: line, entity: (root ?? declared).name, key: key, "The entity is neither this one nor a subentity.")
      }
      entity = named
    case nil:
      guard let declared else { throw InputError(line: line, key: "$entity", "The entity is not named: give --entity or this key.") }
      entity = declared
    case .some(let other): throw InputError(line: line, entity: root?.name, key: key, "A string is expected, not \(other.kindName).")
    }
    return entity
  }
}
