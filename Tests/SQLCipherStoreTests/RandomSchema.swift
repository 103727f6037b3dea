import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import _StoreSpecification
import _TestSupport

/// Random entities with attributes, to-one relationships with to-many inverses, and pairs. Every object has a unique number. Queries over
/// them exist as a request and, written independently of the library, as SQL over the documented tables.
struct RandomSchema {
  struct Attribute {
    var name: String
    var type: AttributeType
  }
  struct Entity {
    var name: String
    var attributes: [Attribute]
    /// To-one relationships by destination entity. The inverse is named after both.
    var references: [(name: String, target: Int)]
  }

  private(set) var entities: [Entity] = []
  var random: SeededGenerator
  static let texts = [
    "", "a", "A", "ab", "Ab", "it's", "100%", "a_b", "\"x\"", "; DROP TABLE Entity0; --", "\u{65E5}\u{672C}", "\u{1F600}", "\u{E9}", "\n",
  ]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    let types: [AttributeType] = [.integer64, .integer32, .double, .string, .boolean, .date]
    for index in 0..<Int.random(in: 2...4, using: &random) {
      var attributes = [Attribute(name: "number", type: .integer64)]
      for column in 0..<Int.random(in: 2...6, using: &random) {
        attributes.append(Attribute(name: "value\(column)", type: pick(types)))
      }
      entities.append(Entity(name: "Entity\(index)", attributes: attributes, references: []))
    }
    for index in entities.indices {
      for reference in 0..<Int.random(in: 0...2, using: &random) {
        entities[index].references.append(("ref\(reference)", Int.random(in: entities.indices, using: &random)))
      }
    }
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[Int.random(in: 0..<elements.count, using: &random)] }
  mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

  func inverse(_ entity: Int, _ reference: String) -> String { "of\(entity)\(reference)" }

  func model() throws -> CompiledModel {
    typealias Models = SpecificationModels
    let descriptions = entities.enumerated().map { index, entity in
      var properties = entity.attributes.map { Models.attribute($0.name, $0.type) }
      properties += entity.references.map { Models.toOne($0.name, entities[$0.target].name, inverse(index, $0.name)) }
      for (other, source) in entities.enumerated() {
        properties += source.references.filter { $0.target == index }
          .map { Models.toMany(inverse(other, $0.name), source.name, $0.name) }
      }
      if index == 0 { properties.append(Models.toMany("pairs", entities[1].name, "pairedBy")) }
      if index == 1 { properties.append(Models.toMany("pairedBy", entities[0].name, "pairs")) }
      return Models.entity(entity.name, properties)
    }
    return try Models.compiled(descriptions)
  }

  // MARK: Rows

  mutating func fill(_ open: OpenStore, count: Int) throws {
    try open.save { save in
      var ids: [[ManagedObjectID]] = []
      for entity in entities { ids.append(try open.newIDs(entity.name, count: count)) }
      for (index, entity) in entities.enumerated() {
        for (number, id) in ids[index].enumerated() {
          var values: [String: Slot] = [:]
          for attribute in entity.attributes.dropFirst() where !chance(4) { values[attribute.name] = value(attribute.type).slot }
          for reference in entity.references where !chance(4) { values[reference.name] = pick(ids[reference.target]).slot }
          values["number"] = .int(Int64(number))
          try save.insert(id, values)
        }
      }
      for id in ids[0] { try save.change(id, "pairs", add: ids[1].filter { _ in chance(12) }) }
    }
  }

  /// A value in its stored, requested and SQL forms.
  struct Value {
    var slot: Slot
    var constant: FetchConstant
    var sql: String
  }

  mutating func value(_ type: AttributeType) -> Value {
    switch type {
    case .integer64:
      let number: Int64 = pick([0, 1, 2, 3, -1, 7, 100, 9_007_199_254_740_993, .max, .min])
      return Value(slot: .int(number), constant: .int(number), sql: "\(number)")
    case .integer32:
      let number: Int64 = pick([0, 1, 2, 3, -1, 7, Int64(Int32.max), Int64(Int32.min)])
      return Value(slot: .int(number), constant: .int(number), sql: "\(number)")
    case .double:
      let number = pick([0, 0.5, -0.5, 1, 2, 3.25, 1e300, -1e300, 0.1])
      return Value(slot: .real(number), constant: .real(number), sql: "\(number)")
    case .date:
      let seconds = Double(Int.random(in: -3...3, using: &random))
      return Value(slot: .real(seconds), constant: .date(Date(timeIntervalSinceReferenceDate: seconds)), sql: "\(seconds)")
    case .boolean:
      let isTrue = chance(2)
      return Value(slot: .int(isTrue ? 1 : 0), constant: .bool(isTrue), sql: isTrue ? "1" : "0")
    default:
      let text = pick(Self.texts)
      return Value(slot: .text(text), constant: .string(text), sql: "'" + text.replacingOccurrences(of: "'", with: "''") + "'")
    }
  }
}
