import Foundation
package import ObjectModel
package import ObjectQuery
import ObjectStore
package import _TestSupport

/// A model with attributes of every type, subentities, and relationships of every kind.
package enum RandomModel {
  package static let model = SpecificationModels.compile([
    SpecificationModels.entity(
      "Thing",
      [
        attribute("tiny", .integer16), attribute("count", .integer32), attribute("size", .integer64), attribute("flag", .boolean),
        attribute("real", .double), attribute("single", .float), attribute("price", .decimal), attribute("name", .string),
        attribute("note", .string), attribute("day", .date), attribute("uid", .uuid), attribute("site", .uri), attribute("blob", .binary),
        toOne("owner", "Person", "things"), toOne("parent", "Thing", "parts"), toMany("parts", "Thing", "parent", ordered: true),
        toMany("labels", "Label", "things"), toMany("shelves", "Shelf", "items", ordered: true), toOne("twin", "Thing"),
        toMany("links", "Thing"), toMany("queue", "Label", ordered: true),
      ]),
    SpecificationModels.entity("Special", [attribute("extra", .string), attribute("level", .integer32)], parent: "Thing"),
    SpecificationModels.entity("Rare", [attribute("weight", .double)], parent: "Special"),
    SpecificationModels.entity(
      "Person",
      [
        attribute("name", .string), attribute("age", .integer32), attribute("born", .date), toOne("boss", "Person", "staff"),
        toMany("staff", "Person", "boss"), toMany("friends", "Person", "friends"), toMany("things", "Thing", "owner"),
      ]),
    SpecificationModels.entity(
      "Label", [attribute("name", .string), attribute("weight", .double), toOne("main", "Thing"), toMany("things", "Thing", "labels")]),
    SpecificationModels.entity(
      "Shelf", [attribute("name", .string), attribute("rank", .integer64), toMany("items", "Thing", "shelves", ordered: true)]),
  ])

  private static func attribute(_ name: String, _ type: AttributeType) -> PropertyDescription { SpecificationModels.attribute(name, type) }
  private static func toOne(_ name: String, _ destination: String, _ inverse: String? = nil) -> PropertyDescription {
    SpecificationModels.toOne(name, destination, inverse)
  }
  private static func toMany(
    _ name: String, _ destination: String, _ inverse: String? = nil, ordered: Bool = false
  ) -> PropertyDescription { SpecificationModels.toMany(name, destination, inverse, ordered: ordered) }
}

/// A random graph of ``RandomModel``, in a store and in plain arrays, which the evaluator reads.
package final class RandomGraph: ObjectResolver {
  private struct Row {
    let entity: CompiledEntity
    let id: ManagedObjectID
    var values: [Slot]
    var toOne: [Int?]
    var toMany: [[Int]]
  }

  package let model = RandomModel.model
  private var rows: [Row] = []
  private var random: SeededGenerator

  /// Makes a graph and saves it.
  ///
  /// - Parameters:
  ///   - seed: Determines every value.
  ///   - count: The number of things; there are fewer other objects.
  ///   - store: An empty store of ``RandomModel``.
  package init(seed: UInt64, count: Int, in store: OpenStore) throws {
    random = SeededGenerator(seed: seed)
    var numbers: [String: [Int]] = [:]
    let counts = [("Thing", count / 2), ("Special", count / 3), ("Rare", count / 6), ("Person", 6), ("Label", 5), ("Shelf", 4)]
    for (name, count) in counts {
      let entity = try store.entity(name)
      for id in try store.newIDs(name, count: max(count, 1)) {
        numbers[name, default: []].append(rows.count)
        rows.append(
          Row(
            entity: entity, id: id, values: entity.slots.map { value(of: $0) }, toOne: entity.slots.map { _ in nil },
            toMany: entity.toManyRelationships.map { _ in [] }))
      }
    }
    for entity in model.entities where entity.root == entity.number {
      let members = { (number: Int) in
        self.model.entities[self.model.entities[number].subtree].flatMap { numbers[$0.name] ?? [] }
      }
      for relationship in entity.relationships { connect(relationship, members(entity.number), members(relationship.destinationEntity)) }
    }
    try save(to: store)
  }

  // MARK: Values

  private func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

  private func value(of slot: CompiledSlot) -> Slot {
    guard let type = slot.attributeType, !chance(4) else { return .null }
    return RandomValues.slot(type, using: &random)
  }

  private func connect(_ relationship: CompiledRelationship, _ sources: [Int], _ targets: [Int]) {
    let inverse = model.inverse(of: relationship)
    if !relationship.isToMany {
      // The inverse is set from here.
      for source in sources where !chance(3) {
        guard let target = targets.randomElement(using: &random), target != source else { continue }
        rows[source].toOne[relationship.index] = target
        if let inverse { rows[target].toMany[inverse.index].append(source) }
      }
      if let inverse, inverse.isOrdered {
        for target in targets { rows[target].toMany[inverse.index].shuffle(using: &random) }
      }
      return
    }
    if let inverse, !inverse.isToMany || inverse.id < relationship.id { return }
    let isSymmetric = inverse?.id == relationship.id
    for source in sources {
      for target in targets where chance(4) && !(isSymmetric && target <= source) {
        rows[source].toMany[relationship.index].append(target)
        if let inverse { rows[target].toMany[inverse.index].append(source) }
      }
    }
    if relationship.isOrdered { for source in sources { rows[source].toMany[relationship.index].shuffle(using: &random) } }
    if let inverse, inverse.isOrdered { for target in targets { rows[target].toMany[inverse.index].shuffle(using: &random) } }
  }

  private func save(to store: OpenStore) throws {
    try store.save { save in
      for row in rows {
        var values: [String: Slot] = [:]
        for slot in row.entity.slots {
          if slot.attribute != nil {
            values[slot.name] = row.values[slot.index]
          } else {
            values[slot.name] = row.toOne[slot.index].map { rows[$0].id.slot } ?? .null
          }
        }
        try save.insert(row.id, values)
      }
      for row in rows {
        for relationship in row.entity.toManyRelationships {
          let members = row.toMany[relationship.index].map { rows[$0].id }
          guard !members.isEmpty else { continue }
          let inverse = model.inverse(of: relationship)
          // One side of a many-to-many relationship saves the links, each side its order.
          let isAdded = inverse.map { $0.isToMany && $0.id >= relationship.id } ?? true
          guard isAdded || relationship.isOrdered else { continue }
          try save.change(row.id, relationship.name, add: isAdded ? members : [], order: relationship.isOrdered ? members : nil)
        }
      }
    }
  }

  // MARK: Queries

  /// Returns the keys of the objects of an entity that match a predicate.
  package func keys(_ entityName: String, _ predicate: FetchPredicate) throws -> Set<Int64> {
    let fetch = try FetchResolver(model: model).resolve(FetchSpecification(entityName: entityName, predicate: predicate))
    let evaluator = PredicateEvaluator(fetch, resolver: self)
    var keys: Set<Int64> = []
    for (number, row) in rows.enumerated() where row.entity.isKind(of: fetch.entity) {
      if try evaluator.matches(number) { keys.insert(row.id.key) }
    }
    return keys
  }

  /// Returns the ID of a random object of an entity or its subentities.
  package func someID(of entity: CompiledEntity, using random: inout SeededGenerator) -> ManagedObjectID? {
    rows.filter { $0.entity.isKind(of: entity) }.randomElement(using: &random)?.id
  }

  // MARK: ObjectResolver

  /// Returns the entity of an object.
  package func entity(of object: Int) -> CompiledEntity { rows[object].entity }
  /// Returns the object's ID in the store.
  package func objectID(of object: Int) -> ManagedObjectID { rows[object].id }
  /// Returns the value of an attribute.
  package func value(of object: Int, slot: Int) -> Slot { rows[object].values[slot] }
  /// Returns the object of a to-one relationship.
  package func destination(of object: Int, slot: Int) -> Int? { rows[object].toOne[slot] }
  /// Returns the members of a to-many relationship.
  package func members(of object: Int, toMany index: Int) -> [Int] { rows[object].toMany[index] }
}
