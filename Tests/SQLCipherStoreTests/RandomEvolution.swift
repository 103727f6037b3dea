import Foundation
import ObjectModel
import _TestSupport

/// An object as the tests represent it.
struct PlainObject: Equatable {
  var entity: String
  var key: Int64 = 0
  var values: [String: String] = [:]
  /// The numbers of related objects. A to-one relationship has at most one.
  var links: [String: [Int]] = [:]
}

/// A model that changes at random, and its objects by number. It applies in memory what a migration should do.
struct RandomEvolution {
  var model: ManagedObjectModel
  var objects: [Int: PlainObject] = [:]
  private var random: SeededGenerator
  private var nextName = 0
  private(set) var done: [String] = []

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    model = ManagedObjectModel()
    for root in 0..<Int.random(in: 1...3, using: &random) {
      addEntity("R\(root)", nil)
      var names = ["R\(root)"]
      for child in 0..<Int.random(in: 0...3, using: &random) {
        addEntity("R\(root)C\(child)", names.randomElement(using: &random))
        names.append("R\(root)C\(child)")
      }
    }
    for index in model.entities.indices { for _ in 0..<2 { addAttribute(to: index) } }
    for _ in 0..<4 { addRelationship() }
    done = []
  }

  private mutating func name(_ prefix: String) -> String {
    nextName += 1
    return "\(prefix)\(nextName)"
  }

  private mutating func pick<Item>(_ items: [Item]) -> Item? { items.randomElement(using: &random) }

  // MARK: Queries

  func index(_ entity: String) -> Int { model.entities.firstIndex { $0.name == entity } ?? 0 }
  func lineage(_ entity: String) -> [String] {
    Array(sequence(first: entity) { name in self.model.entity(named: name)?.superentityName })
  }
  func isKind(_ entity: String, of other: String) -> Bool { lineage(entity).contains(other) }
  private func children(_ entity: String) -> [String] { model.entities.filter { $0.superentityName == entity }.map(\.name) }

  private typealias Place = (entity: Int, property: Int)
  private var attributes: [Place] {
    model.entities.indices.flatMap { entity in
      model.entities[entity].properties.indices.filter { property in
        if case .attribute(let attribute) = model.entities[entity].properties[property] { attribute.name != "uid" } else { false }
      }.map { (entity, $0) }
    }
  }
  private var relationships: [Place] {
    model.entities.indices.flatMap { entity in
      model.entities[entity].properties.indices.filter { property in
        if case .relationship = model.entities[entity].properties[property] { true } else { false }
      }.map { (entity, $0) }
    }
  }
  private func relationship(_ place: Place) -> RelationshipDescription? {
    if case .relationship(let value) = model.entities[place.entity].properties[place.property] { value } else { nil }
  }
  private func attribute(_ place: Place) -> AttributeDescription? {
    if case .attribute(let value) = model.entities[place.entity].properties[place.property] { value } else { nil }
  }
  private func place(_ entity: String, _ relationship: String) -> Place? {
    for name in lineage(entity) {
      let entity = index(name)
      if let property = model.entities[entity].properties.firstIndex(where: { $0.name == relationship }) { return (entity, property) }
    }
    return nil
  }

  // MARK: Creation

  private mutating func addEntity(_ name: String, _ parent: String?) {
    var entity = EntityDescription(name: name, superentity: parent)
    if parent == nil { entity.properties.append(.attribute(AttributeDescription(name: "uid", type: .integer64, isOptional: true))) }
    model.entities.append(entity)
    done.append("add \(name)")
  }

  private static let numberTypes: [AttributeType] = [.integer16, .integer32, .integer64, .float, .double, .decimal]

  private static func number(_ value: Int64, _ type: AttributeType) -> Slot {
    AttributeType.integer64.converted(.int(value), to: type) ?? .null
  }

  private mutating func addAttribute(to entity: Int) {
    let isText = Bool.random(using: &random)
    let type = isText ? .string : pick(Self.numberTypes) ?? .integer64
    var attribute = AttributeDescription(name: name("a"), type: type, isOptional: true)
    if Bool.random(using: &random) {
      attribute.defaultValue = isText ? .text("d'") : Self.number(42, type)
      attribute.isOptional = Bool.random(using: &random)
    }
    model.entities[entity].properties.append(.attribute(attribute))
    let owner = model.entities[entity].name
    if !attribute.defaultValue.isNull { give(owner, attribute.name, isText ? "d'" : "42") { _ in true } }
    renamed.insert(attribute.name)
    done.append("add \(owner).\(attribute.name)")
  }

  private mutating func give(_ entity: String, _ name: String, _ value: String?, _ condition: (PlainObject) -> Bool) {
    for (number, object) in objects where isKind(object.entity, of: entity) && condition(object) { objects[number]?.values[name] = value }
  }

  private mutating func addRelationship() {
    guard let source = pick(model.entities.map(\.name)), let target = pick(model.entities.map(\.name)) else { return }
    let (first, second) = (name("r"), name("r"))
    let hasInverse = Int.random(in: 0...3, using: &random) > 0
    func side(_ name: String, _ destination: String, _ inverse: String?, _ random: inout SeededGenerator) -> RelationshipDescription {
      let isToMany = Bool.random(using: &random)
      return RelationshipDescription(
        name: name, destination: destination, inverse: inverse, isToMany: isToMany, isOrdered: isToMany && Bool.random(using: &random))
    }
    model.entities[index(source)].properties.append(.relationship(side(first, target, hasInverse ? second : nil, &random)))
    if hasInverse { model.entities[index(target)].properties.append(.relationship(side(second, source, first, &random))) }
    done.append("relate \(source).\(first) and \(target).\(second)")
  }

  /// Makes objects with values and links. Saving assigns their keys.
  mutating func makeObjects(_ count: Int) -> [Int] {
    let concrete = model.entities.filter { !$0.isAbstract }.map(\.name)
    var made: [Int] = []
    for _ in 0..<count {
      guard let entity = pick(concrete) else { continue }
      let number = (objects.keys.max() ?? 0) + 1
      var object = PlainObject(entity: entity)
      for name in lineage(entity) {
        for attribute in model.entity(named: name)?.attributes ?? [] where attribute.name != "uid" && !attribute.isTransient {
          if attribute.isOptional, Bool.random(using: &random) { continue }
          object.values[attribute.name] =
            attribute.type == .string ? random.word(length: 1...8) : "\(Int.random(in: 0...999, using: &random))"
        }
      }
      objects[number] = object
      made.append(number)
    }
    for place in relationships {
      guard let relationship = relationship(place) else { continue }
      let owners = made.filter { isKind(objects[$0]?.entity ?? "", of: model.entities[place.entity].name) }
      let members = objects.keys.sorted().filter { isKind(objects[$0]?.entity ?? "", of: relationship.destinationEntityName) }
      for owner in owners {
        for _ in 0..<Int.random(in: 0...2, using: &random) { if let member = pick(members) { link(owner, member, relationship) } }
      }
    }
    return made
  }

  private mutating func link(_ owner: Int, _ member: Int, _ relationship: RelationshipDescription) {
    guard !(objects[owner]?.links[relationship.name] ?? []).contains(member) else { return }
    let inverse = relationship.inverseName.flatMap { name in
      place(relationship.destinationEntityName, name).flatMap { self.relationship($0) }
    }
    // Existing links are not moved: a link is made only where both sides allow another one.
    if !relationship.isToMany, objects[owner]?.links[relationship.name]?.isEmpty == false { return }
    if let inverse, !inverse.isToMany, objects[member]?.links[inverse.name]?.isEmpty == false { return }
    objects[owner]?.links[relationship.name, default: []].append(member)
    if let inverse { objects[member]?.links[inverse.name, default: []].append(owner) }
  }

  // MARK: Changes

  /// Changes the model, and the objects as a migration should.
  mutating func evolve(_ count: Int) {
    done = []
    for entity in model.entities.indices {
      model.entities[entity].renamingIdentifier = nil
      for property in model.entities[entity].properties.indices {
        switch model.entities[entity].properties[property] {
        case .attribute(var attribute):
          attribute.renamingIdentifier = nil
          model.entities[entity].properties[property] = .attribute(attribute)
        case .relationship(var relationship):
          relationship.renamingIdentifier = nil
          model.entities[entity].properties[property] = .relationship(relationship)
        case .fetchedProperty: break
        }
      }
    }
    renamed = []
    for _ in 0..<count { change() }
    model.versionIdentifiers = [name("v")]
  }
  /// The items already changed in this version. A second change of one could not be distinguished from a different single change.
  private var renamed: Set<String> = []

  private mutating func change() {
    switch Int.random(in: 0..<20, using: &random) {
    case 0: addAttribute(to: Int.random(in: model.entities.indices, using: &random))
    case 1: removeAttribute()
    case 2: renameAttribute()
    case 3: requireAttribute()
    case 4: addEntity(name("E"), Bool.random(using: &random) ? nil : pick(model.entities.map(\.name)))
    case 5: removeEntity()
    case 6: renameEntity()
    case 7: removeRelationship()
    case 8: addRelationship()
    case 9: renameRelationship()
    case 10, 11: changeCardinality()
    case 12: toggleOrder()
    case 13: moveAttributeUp()
    case 14: moveAttributeDown()
    case 15: insertParent()
    case 16: changeType()
    case 17, 18: renameOneSide()
    default: changeRule()
    }
  }

  private mutating func removeAttribute() {
    guard let place = pick(attributes), let attribute = attribute(place), !renamed.contains(attribute.name) else { return }
    model.entities[place.entity].properties.remove(at: place.property)
    for number in objects.keys { objects[number]?.values[attribute.name] = nil }
    done.append("remove \(attribute.name)")
  }

  private mutating func renameAttribute() {
    guard let place = pick(attributes), var attribute = attribute(place), !renamed.contains(attribute.name) else { return }
    let old = attribute.name
    attribute.name = name("a")
    attribute.renamingIdentifier = old
    renamed.insert(attribute.name)
    model.entities[place.entity].properties[place.property] = .attribute(attribute)
    for number in objects.keys {
      let value = objects[number]?.values[old]
      objects[number]?.values[attribute.name] = value
      objects[number]?.values[old] = nil
    }
    done.append("rename \(old) to \(attribute.name)")
  }

  private mutating func requireAttribute() {
    guard let place = pick(attributes), var attribute = attribute(place), attribute.isOptional,
      renamed.insert(attribute.name).inserted
    else { return }
    attribute.isOptional = false
    attribute.defaultValue = attribute.type == .string ? .text("req") : Self.number(7, attribute.type)
    model.entities[place.entity].properties[place.property] = .attribute(attribute)
    let text = attribute.type == .string ? "req" : "7"
    give(model.entities[place.entity].name, attribute.name, text) { $0.values[attribute.name] == nil }
    done.append("require \(attribute.name)")
  }

  private mutating func removeEntity() {
    let candidates = model.entities.filter { entity in
      children(entity.name).isEmpty && entity.relationships.isEmpty && !renamed.contains(entity.name)
        && !relationships.contains { relationship($0)?.destinationEntityName == entity.name } && model.entities.count > 2
    }
    guard let entity = pick(candidates) else { return }
    model.entities.removeAll { $0.name == entity.name }
    let gone = Set(objects.filter { $0.value.entity == entity.name }.keys)
    for number in gone { objects[number] = nil }
    for number in objects.keys {
      for key in objects[number]?.links.keys.map({ $0 }) ?? [] { objects[number]?.links[key]?.removeAll(where: gone.contains) }
    }
    done.append("remove \(entity.name)")
  }

  private mutating func renameEntity() {
    guard let old = pick(model.entities.map(\.name)), !renamed.contains(old) else { return }
    let new = name("E")
    renamed.insert(new)
    for entity in model.entities.indices {
      if model.entities[entity].name == old {
        model.entities[entity].name = new
        model.entities[entity].renamingIdentifier = old
      }
      if model.entities[entity].superentityName == old { model.entities[entity].superentityName = new }
    }
    for place in relationships {
      guard var relationship = relationship(place), relationship.destinationEntityName == old else { continue }
      relationship.destinationEntityName = new
      model.entities[place.entity].properties[place.property] = .relationship(relationship)
    }
    for number in objects.keys where objects[number]?.entity == old { objects[number]?.entity = new }
    done.append("rename \(old) to \(new)")
  }

  private mutating func removeRelationship() {
    guard let place = pick(relationships), let relationship = relationship(place), !renamed.contains(relationship.name) else { return }
    let names = [relationship.name, relationship.inverseName].compactMap { $0 }
    for entity in model.entities.indices { model.entities[entity].properties.removeAll { names.contains($0.name) } }
    for number in objects.keys { for name in names { objects[number]?.links[name] = nil } }
    done.append("remove \(names)")
  }

  private mutating func renameRelationship() {
    guard let place = pick(relationships), var relationship = relationship(place), !renamed.contains(relationship.name) else { return }
    let old = relationship.name
    relationship.name = name("r")
    relationship.renamingIdentifier = old
    renamed.insert(relationship.name)
    model.entities[place.entity].properties[place.property] = .relationship(relationship)
    for other in relationships {
      guard var back = self.relationship(other), back.inverseName == old else { continue }
      back.inverseName = relationship.name
      model.entities[other.entity].properties[other.property] = .relationship(back)
    }
    for number in objects.keys {
      let members = objects[number]?.links[old]
      objects[number]?.links[relationship.name] = members
      objects[number]?.links[old] = nil
    }
    done.append("rename \(old) to \(relationship.name)")
  }

  /// Renames one side of a pair without a renaming identifier. The inverse identifies it.
  private mutating func renameOneSide() {
    guard let place = pick(relationships), var relationship = relationship(place), let inverse = relationship.inverseName,
      inverse != relationship.name, !renamed.contains(relationship.name), !renamed.contains(inverse)
    else { return }
    let old = relationship.name
    relationship.name = name("r")
    renamed.formUnion([relationship.name, inverse])
    model.entities[place.entity].properties[place.property] = .relationship(relationship)
    for other in relationships {
      guard var back = self.relationship(other), back.name == inverse else { continue }
      back.inverseName = relationship.name
      model.entities[other.entity].properties[other.property] = .relationship(back)
    }
    for number in objects.keys {
      let members = objects[number]?.links[old]
      objects[number]?.links[relationship.name] = members
      objects[number]?.links[old] = nil
    }
    done.append("\(old) becomes \(relationship.name)")
  }

  private mutating func changeType() {
    guard let place = pick(attributes), var attribute = attribute(place), attribute.type != .string, let type = pick(Self.numberTypes)
    else {
      return
    }
    attribute.defaultValue = attribute.type.converted(attribute.defaultValue, to: type) ?? .null
    done.append("\(attribute.name) from \(attribute.type.rawValue) to \(type.rawValue)")
    attribute.type = type
    model.entities[place.entity].properties[place.property] = .attribute(attribute)
  }

  private mutating func changeCardinality() {
    guard let place = pick(relationships), var relationship = relationship(place) else { return }
    if relationship.isToMany {
      guard objects.values.allSatisfy({ $0.links[relationship.name]?.count ?? 0 <= 1 }) else { return }
      relationship.isToMany = false
      relationship.isOrdered = false
      relationship.maxCount = 1
    } else {
      relationship.isToMany = true
      relationship.maxCount = 0
    }
    model.entities[place.entity].properties[place.property] = .relationship(relationship)
    done.append("\(relationship.name) to \(relationship.isToMany ? "many" : "one")")
  }

  private mutating func toggleOrder() {
    guard let place = pick(relationships), var relationship = relationship(place), relationship.isToMany,
      renamed.insert(relationship.name).inserted
    else { return }
    relationship.isOrdered.toggle()
    model.entities[place.entity].properties[place.property] = .relationship(relationship)
    if relationship.isOrdered {
      let keys = objects.mapValues(\.key)
      for number in objects.keys { objects[number]?.links[relationship.name]?.sort { keys[$0] ?? 0 < keys[$1] ?? 0 } }
    }
    done.append("\(relationship.name) \(relationship.isOrdered ? "ordered" : "unordered")")
  }

  private mutating func moveAttributeUp() {
    guard let place = pick(attributes.filter { model.entities[$0.entity].superentityName != nil }),
      let attribute = attribute(place), attribute.isOptional, attribute.defaultValue.isNull, renamed.insert(attribute.name).inserted,
      let parent = model.entities[place.entity].superentityName
    else { return }
    model.entities[place.entity].properties.remove(at: place.property)
    model.entities[index(parent)].properties.append(.attribute(attribute))
    done.append("move \(attribute.name) up to \(parent)")
  }

  private mutating func moveAttributeDown() {
    guard let place = pick(attributes.filter { !children(model.entities[$0.entity].name).isEmpty }), let attribute = attribute(place),
      let child = pick(children(model.entities[place.entity].name)), renamed.insert(attribute.name).inserted
    else { return }
    model.entities[place.entity].properties.remove(at: place.property)
    model.entities[index(child)].properties.append(.attribute(attribute))
    for (number, object) in objects where !isKind(object.entity, of: child) { objects[number]?.values[attribute.name] = nil }
    done.append("move \(attribute.name) down to \(child)")
  }

  private mutating func insertParent() {
    guard let child = pick(model.entities.map(\.name)) else { return }
    let parent = model.entities[index(child)].superentityName
    let new = name("P")
    var entity = EntityDescription(name: new, superentity: parent, isAbstract: Bool.random(using: &random))
    if parent == nil {
      entity.properties.append(.attribute(AttributeDescription(name: "uid", type: .integer64, isOptional: true)))
      model.entities[index(child)].properties.removeAll { $0.name == "uid" }
    }
    model.entities[index(child)].superentityName = new
    model.entities.append(entity)
    done.append("insert \(new) above \(child)")
  }

  private mutating func changeRule() {
    guard let place = pick(relationships), var relationship = relationship(place) else { return }
    relationship.deleteRule = relationship.deleteRule == .nullify ? .noAction : .nullify
    model.entities[place.entity].properties[place.property] = .relationship(relationship)
    done.append("\(relationship.name) \(relationship.deleteRule.rawValue)")
  }
}
