import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Names of entities and properties that are difficult for a database.
public final class NameSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testAttributesMayHaveAnyName", { $0.testAttributesMayHaveAnyName }),
        ("testEntitiesMayHaveAnyName", { $0.testEntitiesMayHaveAnyName }),
        ("testRelationshipsMayHaveAnyName", { $0.testRelationshipsMayHaveAnyName }),
        ("testConstraintsMayHaveAnyName", { $0.testConstraintsMayHaveAnyName }),
        ("testNamesThatDifferOnlyInCaseAreDistinct", { $0.testNamesThatDifferOnlyInCaseAreDistinct }),
      ] as [(String, (NameSpecification) -> () throws -> Void)])
  }

  /// Keywords, names of internal database objects, quotes, spaces, other scripts.
  static let hardNames = [
    "order", "from", "group", "index", "values", "set", "select", "where", "table", "primary", "key", "limit", "null", "default", "case",
    "rowid", "oid", "_rowid_", "id", "pk", "version", "kind", "entity_", "optlock", "Z_PK", "sqlite_x", "sqlite_master", "main", "temp",
    "transaction",
    "quote\"d", "it's", "back`tick", "[bracket]", "two words", " lead", "semi;colon", "dash-ed", "100%", "a_b", "?", "$1", ":name",
    "größe", "名前", "имя", "é", "🙂", "ASC", "Asc", "asc", "x\\y", "--", "/*", "source", "destination", "position",
  ]

  func testAttributesMayHaveAnyName() throws {
    let names = Self.hardNames
    let model = try SpecificationModels.compiled([
      SpecificationModels.entity("Thing", names.map { SpecificationModels.text($0) } + [SpecificationModels.integer("number")])
    ])
    let open = try makeStore(model)
    let values = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, Slot.text("value \($0)")) })
    let id = try open.insert("Thing", values)
    let row = try XCTUnwrap(open.row(id))
    for slot in try open.entity("Thing").slots where slot.name != "number" {
      XCTAssertEqual(try row.slot(slot.index, kind: slot.kind), values[slot.name], slot.name)
    }
    for name in names {
      var specification = FetchSpecification(entityName: "Thing")
      specification.predicate = .comparison(
        FetchComparison(left: .keyPath([name]), op: .equal, right: .constant(.string("nothing"))))
      XCTAssertEqual(try open.count(specification), 0, name)
      specification.predicate = nil
      specification.sortDescriptors = [FetchSortDescriptor(name)]
      XCTAssertEqual(try open.ids(specification), [id], name)
    }
    try open.save { try $0.update(id, ["rowid": .text("changed"), "oid": .null]) }
    XCTAssertEqual(try open.value(id, "rowid"), .text("changed"))
    XCTAssertEqual(try open.value(id, "order"), .text("value 0"))
  }

  func testEntitiesMayHaveAnyName() throws {
    let model = try SpecificationModels.compiled(
      Self.hardNames.map { SpecificationModels.entity($0, [SpecificationModels.text("name")]) })
    let open = try makeStore(model)
    for entity in open.model.entities {
      let id = try open.newIDs(entity.name, count: 1)[0]
      try open.save { try $0.insert(id, ["name": .text(entity.name)]) }
      XCTAssertEqual(open.coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()), id, entity.name)
    }
    for entity in open.model.entities {
      let found = try open.texts("name", FetchSpecification(entityName: entity.name))
      XCTAssertEqual(found, [entity.name])
    }
  }

  func testRelationshipsMayHaveAnyName() throws {
    let names = Self.hardNames
    var first: [PropertyDescription] = [SpecificationModels.text("label")]
    var second: [PropertyDescription] = [SpecificationModels.text("label")]
    for name in names {
      first.append(SpecificationModels.toOne(name, "values", "back " + name))
      second.append(SpecificationModels.toMany("back " + name, "order", name))
      first.append(SpecificationModels.toMany("many " + name, "values", "far " + name))
      second.append(SpecificationModels.toMany("far " + name, "order", "many " + name))
    }
    let open = try makeStore(
      try SpecificationModels.compiled([SpecificationModels.entity("order", first), SpecificationModels.entity("values", second)]))
    let target = try open.insert("values", ["label": .text("target")])
    let source = try open.insert("order", Dictionary(uniqueKeysWithValues: names.map { ($0, target.slot) }))
    try open.save { save in for name in names { try save.change(source, "many " + name, add: [target]) } }
    for name in names {
      XCTAssertEqual(try open.value(source, name), target.slot, name)
      XCTAssertEqual(try open.members(target, "back " + name), [source.reference], name)
      XCTAssertEqual(try open.members(target, "far " + name), [source.reference], name)
      XCTAssertEqual(try open.members(source, "many " + name), [target.reference], name)
      let label = FetchComparison(left: .keyPath([name, "label"]), op: .equal, right: .constant(.string("target")))
      XCTAssertEqual(try open.count(FetchSpecification(entityName: "order", predicate: .comparison(label))), 1, name)
    }
  }

  func testConstraintsMayHaveAnyName() throws {
    let names = ["order", "quote\"d", "größe", "rowid", "two words"]
    let model = try SpecificationModels.compiled([
      SpecificationModels.entity("group", names.map { SpecificationModels.text($0) }, unique: names.map { [$0] } + [names])
    ])
    let open = try makeStore(model)
    try open.insert("group", Dictionary(uniqueKeysWithValues: names.map { ($0, .text("1")) }))
    for name in names {
      let error = assertStoreError(.constraintConflict) { try open.insert("group", [name: .text("1")]) }
      XCTAssertEqual(error?.constraintConflicts.first?.constraint, [name])
    }
  }

  func testNamesThatDifferOnlyInCaseAreDistinct() throws {
    let model = try SpecificationModels.compiled([
      SpecificationModels.entity(
        "Item", [SpecificationModels.text("name"), SpecificationModels.text("Name"), SpecificationModels.text("NAME")]),
      SpecificationModels.entity("ITEM", [SpecificationModels.text("name")]),
    ])
    let open = try makeStore(model)
    let id = try open.insert("Item", ["name": .text("1"), "Name": .text("2"), "NAME": .text("3")])
    try open.insert("ITEM", ["name": .text("4")])
    XCTAssertEqual(try ["name", "Name", "NAME"].map { try open.value(id, $0) }, ["1", "2", "3"].map { .text($0) })
    XCTAssertEqual(try open.ids(FetchSpecification(entityName: "Item", predicate: .compare("Name", .equal, "2"))), [id])
    XCTAssertEqual(try open.count("ITEM"), 1)
  }
}
