import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Names and values that look like SQL are treated as names and values.
public final class InjectionSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testFiveHundredSQLLikeNamesAreValidAttributeNames", { $0.testFiveHundredSQLLikeNamesAreValidAttributeNames }),
        ("testFiveHundredSQLLikeNamesAreValidEntityNames", { $0.testFiveHundredSQLLikeNamesAreValidEntityNames }),
        ("testTwoThousandSQLLikeValuesAreStoredUnchanged", { $0.testTwoThousandSQLLikeValuesAreStoredUnchanged }),
      ] as [(String, (InjectionSpecification) -> () throws -> Void)])
  }

  private func equal(_ name: String, _ text: String) -> FetchPredicate {
    .comparison(FetchComparison(left: .keyPath([name]), op: .equal, right: .constant(.string(text))))
  }

  func testFiveHundredSQLLikeNamesAreValidAttributeNames() throws {
    let names = HostileStrings.names
    XCTAssertEqual(Set(names).count, 500)
    let model = try SpecificationModels.compiled([
      SpecificationModels.entity("Thing", names.map { SpecificationModels.text($0) } + [SpecificationModels.integer("number")])
    ])
    let folder = try makeFolder()
    var open = try openStore(in: folder, model)
    let values = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, Slot.text("value \($0)")) })
    let (id, other) = (try open.insert("Thing", values), try open.insert("Thing", ["number": .int(2)]))
    for (number, name) in names.enumerated() {
      var fetch = FetchSpecification(entityName: "Thing", predicate: equal(name, "value \(number)"))
      XCTAssertEqual(try open.ids(fetch), [id], name)
      fetch.predicate = equal(name, "value \(number + 1)")
      XCTAssertEqual(try open.count(fetch), 0, name)
      fetch.predicate = nil
      fetch.sortDescriptors = [FetchSortDescriptor(name)]
      XCTAssertEqual(try open.ids(fetch), [other, id], name)
    }
    if storeUnderTest.keepsRows {
      try open.close()
      open = try openStore(in: folder, model)
    }
    let row = try open.rows(FetchSpecification(entityName: "Thing", predicate: .compare("number", .equal, nil))).first
    for name in names where storeUnderTest.keepsRows { XCTAssertEqual(try open.value(XCTUnwrap(row), name), values[name], name) }
  }

  func testFiveHundredSQLLikeNamesAreValidEntityNames() throws {
    let names = HostileStrings.names
    let model = try SpecificationModels.compiled(
      names.enumerated().map { SpecificationModels.entity($1, [SpecificationModels.text(names[($0 + 1) % names.count])]) })
    let open = try makeStore(model)
    for (number, name) in names.enumerated() { try open.insert(name, [names[(number + 1) % names.count]: .text(name)]) }
    for (number, name) in names.enumerated() {
      XCTAssertEqual(try open.texts(names[(number + 1) % names.count], FetchSpecification(entityName: name)), [name])
    }
  }

  func testTwoThousandSQLLikeValuesAreStoredUnchanged() throws {
    XCTAssertEqual(Set(HostileStrings.values).count, 2_000)
    // Each among a hundred others, to be quick.
    let groups = (0..<20).map { group in HostileStrings.values.indices.filter { $0 % 20 == group }.map { HostileStrings.values[$0] } }
    let model = try SpecificationModels.compiled(
      groups.indices.map {
        SpecificationModels.entity("Thing\($0)", [SpecificationModels.text("text"), SpecificationModels.integer("number")])
      })
    let open = try makeStore(model)
    try open.save { save in
      for (group, values) in groups.enumerated() {
        for (number, value) in values.enumerated() {
          try save.insert("Thing\(group)", ["text": .text(value), "number": .int(Int64(number))])
        }
      }
    }
    for (group, values) in groups.enumerated() { try ask(open, "Thing\(group)", values) }
  }

  /// Queries for each of the values of an entity.
  private func ask(_ open: OpenStore, _ entityName: String, _ values: [String]) throws {
    func numbers(_ op: ComparisonOperator, _ constant: FetchConstant) throws -> [Slot] {
      let predicate = FetchPredicate.comparison(FetchComparison(left: .keyPath(["text"]), op: op, right: .constant(constant)))
      var fetch = FetchSpecification(entityName: entityName, predicate: predicate)
      fetch.sortDescriptors = [FetchSortDescriptor("number")]
      return try open.values("number", fetch)
    }
    for (number, value) in values.enumerated() {
      XCTAssertEqual(try numbers(.equal, .string(value)), [.int(Int64(number))], value)
      // Printing and parsing preserves the predicate.
      let written = equal("text", value).predicateFormat
      XCTAssertEqual(try FetchPredicate(format: written), equal("text", value), written)
      // A text is found by a part of it, whatever that means elsewhere.
      guard number % 10 == 2 else { continue }
      let holding = values.indices.filter { values[$0].utf8Contains(value) }.map { Slot.int(Int64($0)) }
      XCTAssertEqual(try numbers(.contains, .string(value)), holding, value)
      let beginning = values.indices.filter { values[$0].utf8.starts(with: value.utf8) }.map { Slot.int(Int64($0)) }
      XCTAssertEqual(try numbers(.beginsWith, .string(value)), beginning, value)
    }
    // All in one list, and as they were saved.
    XCTAssertEqual(try numbers(.in, .list(HostileStrings.values.map { .string($0) })).count, values.count)
    var all = FetchSpecification(entityName: entityName)
    all.sortDescriptors = [FetchSortDescriptor("number")]
    XCTAssertEqual(try open.texts("text", all), values)
  }
}

extension String {
  /// Whether the text contains the bytes of another one.
  fileprivate func utf8Contains(_ text: String) -> Bool {
    let (own, other) = (Array(utf8), Array(text.utf8))
    guard own.count >= other.count else { return false }
    return (0...(own.count - other.count)).contains { own[$0] == other.first && own[$0..<$0 + other.count].elementsEqual(other) }
  }
}
