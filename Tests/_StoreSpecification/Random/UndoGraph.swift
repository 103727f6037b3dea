import Foundation
package import ObjectContext
package import ObjectModel
import ObjectQuery
import ObjectStore
package import _TestSupport

/// Random changes of a graph of ``model``, which can be repeated in another context and compared as text. Objects are identified by a
/// number from their insertion.
package enum UndoGraph {
  /// Every kind of relationship: cascade and nullify, ordered and not, one-to-one, many-to-many, without inverse; and attributes of every
  /// kind.
  package static let model = {
    var model = ManagedObjectModel(entities: entities)
    model.composites = [CompositeDescription(name: "Place", elements: [part("city"), part("zip")])]
    return SpecificationModels.compile(model)
  }()

  private static func part(_ name: String) -> AttributeDescription { AttributeDescription(name: name, type: .string, isOptional: true) }

  /// The attributes of owners, in addition to those of every object.
  private static let attributes: [AttributeDescription] = {
    let types: [(String, AttributeType)] = [
      ("day", .date), ("price", .decimal), ("flag", .boolean), ("uid", .uuid), ("ratio", .double), ("site", .uri), ("form", .transformable),
      ("file", .binary), ("mood", .string), ("place", .composite),
    ]
    return types.map { name, type in
      var attribute = AttributeDescription(name: name, type: type, isOptional: true)
      attribute.isTransient = name == "mood"
      attribute.allowsExternalBinaryDataStorage = name == "file"
      if type == .composite { attribute.compositeName = "Place" }
      return attribute
    }
  }()

  private static let entities = [
    SpecificationModels.entity(
      "Owner",
      attributes.map { .attribute($0) } + [
        SpecificationModels.integer("number"), SpecificationModels.text("name"), SpecificationModels.integer("rank"),
        toMany("items", "Item", "owner", ordered: true, rule: .cascade), toMany("notes", "Note", "owner"),
        SpecificationModels.toOne("partner", "Owner", "partner"), toMany("friends", "Owner", "friends"),
      ]),
    SpecificationModels.entity(
      "Item",
      [
        SpecificationModels.integer("number"), SpecificationModels.text("name"), SpecificationModels.integer("rank"),
        SpecificationModels.attribute("blob", .binary), SpecificationModels.toOne("owner", "Owner", "items"),
        toMany("tags", "Tag", "items"), toMany("parts", "Item", "whole", rule: .cascade),
        SpecificationModels.toOne("whole", "Item", "parts"),
      ]),
    SpecificationModels.entity(
      "Tag",
      [
        SpecificationModels.integer("number"), SpecificationModels.text("name"), SpecificationModels.integer("rank"),
        toMany("items", "Item", "tags", ordered: true), toMany("notes", "Note"),
      ]),
    SpecificationModels.entity(
      "Note",
      [
        SpecificationModels.integer("number"), SpecificationModels.text("name"), SpecificationModels.integer("rank"),
        SpecificationModels.toOne("owner", "Owner", "notes"),
      ]),
  ]

  private static func toMany(
    _ name: String, _ destination: String, _ inverse: String? = nil, ordered: Bool = false, rule: DeleteRule = .nullify
  ) -> PropertyDescription {
    var relationship = RelationshipDescription(
      name: name, destination: destination, inverse: inverse, isToMany: true, isOrdered: ordered)
    relationship.deleteRule = rule
    return .relationship(relationship)
  }

  /// One change.
  package enum Step: Sendable {
    case insert(entity: String, number: Int64)
    case setText(Int64, String?)
    case setNumber(Int64, Int64)
    case setBytes(Int64, count: Int)
    /// Sets an attribute of an owner to the value for a number; 0 for nil.
    case setValue(Int64, key: String, Int)
    case setToOne(Int64, key: String, Int64?)
    case add(Int64, key: String, Int64)
    case remove(Int64, key: String, Int64)
    case move(Int64, key: String, from: Int, to: Int)
    case insertMember(Int64, key: String, Int64, at: Int)
    case replaceMember(Int64, key: String, Int64, at: Int)
    case setMembers(Int64, key: String, [Int64])
    case delete(Int64)
    case save
  }

  // MARK: Selection

  /// Selects a random change of the objects in a context.
  package static func step(in context: ManagedObjectContext, nextNumber: inout Int64, using random: inout SeededGenerator) throws -> Step? {
    var objects: [ManagedObject] = []
    for entity in model.entities { objects += try all(entity.name, in: context) }
    func some(_ entity: String) -> Int64? {
      objects.filter { $0.entity.name == entity }.randomElement(using: &random)?.integer("number")
    }
    let roll = Int.random(in: 0..<100, using: &random)
    if objects.count < 12 || roll < 12 && objects.count < 40 {
      nextNumber += 1
      return .insert(entity: ["Owner", "Item", "Item", "Tag", "Note"].randomElement(using: &random) ?? "Item", number: nextNumber)
    }
    guard let object = objects.randomElement(using: &random), let number = object.integer("number") else { return nil }
    switch roll {
    case ..<24: return .setNumber(number, Int64.random(in: 0..<100, using: &random))
    case ..<34:
      let length = Int.random(in: 0..<40, using: &random)
      return .setText(number, length == 0 ? nil : String(repeating: "abcdefghij".randomElement(using: &random) ?? "a", count: length))
    case ..<37 where object.entity.name == "Item": return .setBytes(number, count: [0, 20, 2_000].randomElement(using: &random) ?? 0)
    // Links to a note without an inverse are lost once its deletion is saved.
    case ..<44 where object.entity.name != "Note": return .delete(number)
    case 44..<48: return .save
    default: break
    }
    if roll < 56, object.entity.name == "Owner", let attribute = attributes.randomElement(using: &random) {
      return .setValue(number, key: attribute.name, Int.random(in: 0..<4, using: &random))
    }
    guard let relationship = object.entity.relationships.randomElement(using: &random) else { return nil }
    let key = relationship.name
    if !relationship.isToMany { return .setToOne(number, key: key, roll % 4 == 0 ? nil : some(relationship.destinationEntityName)) }
    let members = relationship.isOrdered ? object.list(key) : Array(object.members(key))
    if relationship.isOrdered, members.count > 1, roll % 3 == 0 {
      let places = members.indices
      return .move(
        number, key: key, from: Int.random(in: places, using: &random), to: Int.random(in: places, using: &random))
    }
    if roll % 5 == 0 {
      let chosen = members.shuffled(using: &random).prefix(roll % 3).compactMap { $0.integer("number") }
      let other = some(relationship.destinationEntityName).flatMap { chosen.contains($0) ? nil : $0 }
      guard relationship.isOrdered, roll % 2 == 0, let other else {
        return .setMembers(number, key: key, chosen + [other].compactMap { $0 })
      }
      guard roll % 4 == 0, let place = members.indices.randomElement(using: &random) else {
        return .insertMember(number, key: key, other, at: Int.random(in: 0...members.count, using: &random))
      }
      return .replaceMember(number, key: key, other, at: place)
    }
    if roll % 2 == 0, !members.isEmpty {
      let numbers = members.compactMap { $0.integer("number") }.sorted()
      return numbers.randomElement(using: &random).map { .remove(number, key: key, $0) }
    }
    return some(relationship.destinationEntityName).map { .add(number, key: key, $0) }
  }

  /// Returns an owner of an object and the relationship with the object as a member, selected before the object is deleted; nil if it is
  /// not a member.
  package static func owner(
    of member: Int64, in context: ManagedObjectContext, using random: inout SeededGenerator
  ) throws -> (number: Int64, key: String)? {
    let found = try object(member, in: context)
    var owners: [(number: Int64, key: String)] = []
    for entity in model.entities {
      for owner in try all(entity.name, in: context) where owner !== found {
        guard let number = owner.integer("number") else { continue }
        for relationship in owner.entity.relationships where relationship.isToMany && owner.members(relationship.name).contains(found) {
          owners.append((number, relationship.name))
        }
      }
    }
    return owners.randomElement(using: &random)
  }

  /// Assigns some or all of the members that an owner shows; nil if the owner is deleted too.
  package static func assignment(
    to owner: (number: Int64, key: String), in context: ManagedObjectContext, using random: inout SeededGenerator
  ) throws -> Step? {
    guard let object = try? object(owner.number, in: context) else { return nil }
    let isOrdered = object.entity.relationships.first { $0.name == owner.key }?.isOrdered ?? false
    let shown = isOrdered ? object.list(owner.key) : Array(object.members(owner.key))
    let numbers = shown.compactMap { $0.integer("number") }
    return .setMembers(owner.number, key: owner.key, Bool.random(using: &random) ? numbers : Array(numbers.dropFirst()))
  }

  // MARK: Execution

  /// Makes a change in a context. Objects are fetched by their numbers, and nothing else of the graph is read.
  package static func run(_ step: Step, in context: ManagedObjectContext) throws {
    switch step {
    case .insert(let entity, let number):
      let object = try context.insertObject(entityName: entity)
      try object.setValue(number, forKey: "number")
      try object.setValue("new \(number)", forKey: "name")
    case .setText(let number, let text): try object(number, in: context).setValue(text, forKey: "name")
    case .setNumber(let number, let value): try object(number, in: context).setValue(value, forKey: "rank")
    case .setBytes(let number, let count):
      let bytes = count == 0 ? nil : ExternalData(.init(repeating: UInt8(truncatingIfNeeded: number), count: count))
      try object(number, in: context).setExternalData(bytes, forKey: "blob")
    case .setToOne(let number, let key, let other):
      try object(number, in: context).setValue(try other.map { try object($0, in: context) }, forKey: key)
    case .add(let number, let key, let other): try members(number, key, in: context).add(object(other, in: context))
    case .remove(let number, let key, let other): try members(number, key, in: context).remove(object(other, in: context))
    case .move(let number, let key, let from, let to):
      let members = try members(number, key, in: context)
      let member = members.objects[from]
      members.insert(member, at: to)
    case .setValue(let number, let key, let value):
      try object(number, in: context).setValue(attributes.first { $0.name == key }.flatMap { Self.value($0, value) }, forKey: key)
    case .insertMember(let number, let key, let other, let place):
      let (members, other) = (try members(number, key, in: context), try object(other, in: context))
      members.insert(other, at: place)
    case .replaceMember(let number, let key, let other, let place):
      let (members, other) = (try members(number, key, in: context), try object(other, in: context))
      members.replace(at: place, with: other)
    case .setMembers(let number, let key, let others):
      let objects = try others.map { try object($0, in: context) }
      let isOrdered = try members(number, key, in: context).isOrdered
      try object(number, in: context).setValue(isOrdered ? objects : Set(objects), forKey: key)
    case .delete(let number): context.delete(try object(number, in: context))
    case .save: try context.save()
    }
  }

  /// Returns the value of an attribute for a number; nil for 0.
  private static func value(_ attribute: AttributeDescription, _ number: Int) -> (any Sendable)? {
    if number == 0 { return nil }
    switch attribute.type {
    case .date: return Date(timeIntervalSinceReferenceDate: Double(number) * 1_000.5)
    case .decimal: return Decimal(number) / 8
    case .boolean: return number % 2 == 0
    case .uuid: return UUID(uuid: (UInt8(number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    case .double: return Double(number) / 3
    case .uri: return URL(string: "https://example.org/\(number)")
    // Large values are stored in files.
    case .binary: return Data(repeating: UInt8(number), count: number == 3 ? 200_000 : number * 900)
    case .transformable: return Data(repeating: UInt8(number), count: number * 7)
    case .composite: return number == 1 ? ["city": "Ulm"] : ["city": "Bonn", "zip": "5311\(number)"]
    default: return String(repeating: "m", count: number)
    }
  }

  private static func members(_ number: Int64, _ key: String, in context: ManagedObjectContext) throws -> MutableMembers {
    let object = try object(number, in: context)
    let isOrdered = object.entity.relationships.first { $0.name == key }?.isOrdered ?? false
    return isOrdered ? try object.mutableOrderedSetValue(forKey: key) : try object.mutableSetValue(forKey: key)
  }

  /// No object has the number.
  package struct Missing: Error { let number: Int64 }

  private static func object(_ number: Int64, in context: ManagedObjectContext) throws -> ManagedObject {
    for entity in model.entities {
      let request = FetchRequest<ManagedObject>(entityName: entity.name, predicate: .compare("number", .equal, number))
      if let object = try context.fetch(request).first { return object }
    }
    throw Missing(number: number)
  }

  private static func all(_ entity: String, in context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.all(entity).sorted { ($0.integer("number") ?? 0) < ($1.integer("number") ?? 0) }
  }

  // MARK: Reading

  /// Returns the contents of a context, one line per object, and inconsistencies between the ends of relationships.
  package static func state(of context: ManagedObjectContext) throws -> [String] {
    var lines: [String] = []
    for entity in model.entities {
      for object in try all(entity.name, in: context) { lines.append(try line(object)) }
    }
    return lines
  }

  private static func line(_ object: ManagedObject) throws -> String {
    func name(_ other: ManagedObject?) -> String { other.map { "\($0.integer("number") ?? -1)" } ?? "-" }
    var parts = ["\(object.entity.name) \(name(object))", object.text("name") ?? "-", "\(object.integer("rank") ?? -1)"]
    if object.entity.name == "Owner" {
      for attribute in attributes where !attribute.isTransient {
        switch object[attribute.name] {
        case let data as Data: parts.append("\(data.count) \(data.first ?? 0)")
        case let place as [String: Any]: parts.append(place.map { "\($0) \($1)" }.sorted().joined(separator: ", "))
        case let value: parts.append(value.map { "\($0)" } ?? "-")
        }
      }
    }
    if object.entity.name == "Item" { parts.append("\(try object.externalData(forKey: "blob")?.data().count ?? -1)") }
    for relationship in object.entity.relationships {
      let others: [ManagedObject]
      if relationship.isToMany {
        others = relationship.isOrdered ? object.list(relationship.name) : Array(object.members(relationship.name))
      } else {
        others = [object.object(relationship.name)].compactMap { $0 }
      }
      let names = others.map(name)
      parts.append("\(relationship.name): " + (relationship.isOrdered ? names : names.sorted()).joined(separator: ","))
      for other in others {
        guard let inverse = relationship.inverseName else { continue }
        let isToMany = other.entity.relationships.first { $0.name == inverse }?.isToMany ?? false
        let knows = isToMany ? other.members(inverse).contains(object) : other.object(inverse) === object
        if !knows { parts.append("(\(name(other)).\(inverse) does not have it)") }
      }
    }
    return parts.joined(separator: " | ")
  }
}
