import Foundation
import ObjectModel
@_spi(Generated) import ObjectQuery
import XCTest

/// Objects of a small library model by number, for tests of predicates and sort orders.
final class Library: ObjectResolver {
  struct Row {
    var entity: CompiledEntity
    var values: [Slot]
    var toOne: [Int: Int] = [:]
    var toMany: [[Int]]
  }

  let model: CompiledModel
  private(set) var rows: [Int: Row] = [:]

  init() throws { model = try CompiledModel(Library.description) }

  static var description: ManagedObjectModel {
    func attribute(_ name: String, _ type: AttributeType, isTransient: Bool = false) -> PropertyDescription {
      var attribute = AttributeDescription(name: name, type: type, isOptional: true)
      attribute.isTransient = isTransient
      return .attribute(attribute)
    }
    func relationship(_ name: String, _ destination: String, _ inverse: String?, isToMany: Bool = false) -> PropertyDescription {
      .relationship(RelationshipDescription(name: name, destination: destination, inverse: inverse, isToMany: isToMany))
    }
    return ManagedObjectModel(entities: [
      EntityDescription(
        name: "Author",
        properties: [
          attribute("name", .string), attribute("born", .date), relationship("mentor", "Author", "students"),
          relationship("students", "Author", "mentor", isToMany: true), relationship("books", "Book", "author", isToMany: true),
        ]),
      EntityDescription(
        name: "Book",
        properties: [
          attribute("title", .string), attribute("pages", .integer32), attribute("copies", .integer64), attribute("rating", .double),
          attribute("weight", .float), attribute("price", .decimal), attribute("inPrint", .boolean), attribute("published", .date),
          attribute("isbn", .uuid), attribute("site", .uri), attribute("cover", .binary), attribute("extra", .transformable),
          attribute("draft", .string, isTransient: true), relationship("author", "Author", "books"),
          relationship("tags", "Tag", "books", isToMany: true),
        ]),
      EntityDescription(name: "Novel", superentity: "Book", properties: [attribute("genre", .string)]),
      EntityDescription(name: "Tag", properties: [attribute("name", .string), relationship("books", "Book", "tags", isToMany: true)]),
    ])
  }

  /// Adds an object. Relationships are given by object numbers, and inverses are maintained.
  @discardableResult
  func add(
    _ entityName: String, _ number: Int, _ values: [String: any FetchConstantConvertible] = [:], toOne: [String: Int] = [:],
    toMany: [String: [Int]] = [:]
  ) throws -> Int {
    let entity = try XCTUnwrap(model.entity(named: entityName))
    var row = Row(
      entity: entity, values: Array(repeating: .null, count: entity.slots.count),
      toMany: Array(repeating: [], count: entity.toManyRelationships.count))
    for (key, value) in values {
      guard case .attribute(let slot) = entity.property(named: key) else { throw UnknownKey(key: key) }
      row.values[slot.index] = value.fetchConstant.natural?.0 ?? .null
    }
    rows[number] = row
    for (key, target) in toOne {
      guard case .toOne(let relationship) = entity.property(named: key) else { throw UnknownKey(key: key) }
      rows[number]?.toOne[relationship.index] = target
      if let inverse = model.inverse(of: relationship), inverse.isToMany { rows[target]?.toMany[inverse.index].append(number) }
    }
    for (key, targets) in toMany {
      guard case .toMany(let relationship) = entity.property(named: key) else { throw UnknownKey(key: key) }
      for target in targets {
        rows[number]?.toMany[relationship.index].append(target)
        guard let inverse = model.inverse(of: relationship) else { continue }
        if inverse.isToMany {
          rows[target]?.toMany[inverse.index].append(number)
        } else {
          rows[target]?.toOne[inverse.index] = number
        }
      }
    }
    return number
  }

  struct UnknownKey: Error { let key: String }

  // MARK: ObjectResolver

  private struct NoRow: Error {}
  private func row(_ object: Int) throws -> Row {
    guard let row = rows[object] else { throw NoRow() }
    return row
  }

  func entity(of object: Int) -> CompiledEntity { rows[object]?.entity ?? model.entities[0] }
  func objectID(of object: Int) -> ManagedObjectID {
    ManagedObjectID(space: 0, entityNumber: UInt32(entity(of: object).number), key: Int64(object))
  }
  func value(of object: Int, slot: Int) throws -> Slot { try row(object).values[slot] }
  func destination(of object: Int, slot: Int) throws -> Int? { try row(object).toOne[slot] }
  func members(of object: Int, toMany index: Int) throws -> [Int] { try row(object).toMany[index] }

  // MARK: Queries

  /// The numbers of an entity's objects that match a predicate, ascending or in the given order.
  func fetch(_ entityName: String, _ predicate: FetchPredicate?, sortedBy descriptors: [FetchSortDescriptor] = []) throws -> [Int] {
    var specification = FetchSpecification(entityName: entityName, predicate: predicate)
    specification.sortDescriptors = descriptors
    let fetch = try FetchResolver(model: model).resolve(specification)
    let evaluator = PredicateEvaluator(fetch, resolver: self)
    let objects = try rows.keys.sorted().filter { entity(of: $0).isKind(of: fetch.entity) }.filter { try evaluator.matches($0) }
    return try ObjectOrder(fetch, resolver: self).sorted(objects)
  }

  /// The resolved form of a predicate.
  func resolve(_ entityName: String, _ predicate: FetchPredicate) throws -> ResolvedFetch {
    try FetchResolver(model: model).resolve(FetchSpecification(entityName: entityName, predicate: predicate))
  }
}
