import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Explanations of how requests would be executed.
final class ExplainTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Package") {
      Attribute("name", .string)
      Attribute("section", .string)
      Attribute("size", .integer64)
      Relationship("maintainer", to: "Maintainer", inverse: "packages")
      Relationship("tags", toMany: "Tag", inverse: "packages")
      Index("byName", on: "name")
      Index("bySize", on: "size")
    }
    Entity("Library", parent: "Package")
    Entity("Maintainer") {
      Attribute("email", .string)
      Relationship("packages", toMany: "Package", inverse: "maintainer")
      Unique("email")
    }
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("packages", toMany: "Package", inverse: "tags")
      Index("byTagName", on: "name")
    }
  }

  private func onStore(_ kind: StoreKind, _ body: (Stack, ManagedObjectContext) throws -> Void) async throws {
    try await onEachStore([kind], model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      for number in 0..<20 { try context.make("Package", ["name": "p\(number)", "section": "games", "size": number]) }
      try context.save()
      try body(stack, context)
    }
  }

  private func explain(
    _ format: String?, sortedBy key: String? = nil, comparison: FetchSortDescriptor.Comparison = .binary, _ context: ManagedObjectContext
  ) throws -> FetchExplanation {
    var request = FetchRequest<ManagedObject>(entityName: "Package", predicate: try format.map { try FetchPredicate(format: $0) })
    if let key { request = request.sorted(by: key, comparison: comparison) }
    return try context.explain(request)
  }

  func testScanWarningSuggestsAPropertyToIndex() async throws {
    try await onStore(.sqlcipher) { _, context in
      let explanation = try explain("section == 'games'", context)
      XCTAssertEqual(explanation.warnings.map(\.kind), [.scan])
      XCTAssertEqual(explanation.warnings.first?.properties, ["section"])
      XCTAssertEqual(explanation.warnings.first?.message, "the table of Package is scanned: no index begins with section")
      XCTAssertEqual(explanation.statements.count, 1)
      XCTAssertEqual(explanation.statements.first?.plan.map(\.access), [.scan])
      XCTAssertEqual(explanation.statements.first?.plan.first?.entityName, "Package")
      XCTAssertEqual(explanation.indexes, [])
      XCTAssertEqual(
        try explain("name CONTAINS 'a'", context).warnings.first?.message,
        "the table of Package is scanned: no part of the condition can use an index")
      XCTAssertEqual(try explain(nil, context).warnings, [], "who asks for all gets all")
    }
  }

  func testIndexesUseTheNamesOfTheModel() async throws {
    try await onStore(.sqlcipher) { _, context in
      for format in ["name == 'a'", "name BEGINSWITH 'a'", "name IN {'a', 'b'}", "name BETWEEN {'a', 'b'}"] {
        let explanation = try explain(format, context)
        XCTAssertEqual(
          explanation.indexes,
          [.init(origin: .declared, entityName: "Package", name: "byName", properties: ["name"])], format)
        XCTAssertEqual(explanation.statements.first?.plan.first?.access, .search)
        XCTAssertEqual(explanation.warnings, [])
      }
      let maintained = try explain("maintainer.email == 'a@b.c'", context)
      XCTAssertTrue(maintained.indexes.contains(.init(origin: .uniqueness, entityName: "Maintainer", properties: ["email"])))
      let tagged = try explain("ANY tags.name == 'x'", context)
      XCTAssertTrue(tagged.indexes.contains(.init(origin: .declared, entityName: "Tag", name: "byTagName", properties: ["name"])))
      XCTAssertTrue(tagged.indexes.contains { $0.origin == .relationship && $0.name == "tags" }, "\(tagged)")
      XCTAssertEqual(tagged.warnings, [])
    }
  }

  func testMemberConditionsAreListedBelowTheirOwner() async throws {
    try await onStore(.sqlcipher) { _, context in
      let explanation = try explain("name == 'p1' AND NONE tags.name CONTAINS 'x'", context)
      let plan = try XCTUnwrap(explanation.statements.first?.plan)
      XCTAssertEqual(plan.first?.entityName, "Package")
      XCTAssertFalse(plan.flatMap(\.children).isEmpty, "\(explanation)")
      XCTAssertTrue(plan.flatMap(\.children).contains { $0.entityName == "Tag" || $0.children.contains { $0.entityName == "Tag" } })
    }
  }

  func testSortWithoutAnIndexIsReported() async throws {
    try await onStore(.sqlcipher) { _, context in
      XCTAssertEqual(try explain(nil, sortedBy: "size", context).warnings, [])
      let warning = try XCTUnwrap(try explain(nil, sortedBy: "section", context).warnings.first)
      XCTAssertEqual(warning.kind, .sort)
      XCTAssertEqual(warning.message, "the results are sorted: no index begins with section")
      XCTAssertEqual(try explain(nil, sortedBy: "maintainer.email", context).warnings.map(\.kind), [.sort])
      XCTAssertEqual(
        try explain(nil, sortedBy: "name", comparison: .localized, context).warnings.first?.message,
        "the results are sorted: no index has the order localized of name")
    }
  }

  func testExplanationContainsNoConstants() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let secrets = ["secret", "4711", "0815"]
      var explanation = try explain("name == 'secret' OR section LIKE '*secret*' OR size IN {4711, 815}", context)
      for secret in secrets { XCTAssertFalse("\(explanation)".contains(secret), "\(explanation)") }
      let list = FetchPredicate.compare("name", .in, (0..<1_000).map { "secret\($0)" })
      explanation = try context.explain(FetchRequest<ManagedObject>(entityName: "Package", predicate: list))
      XCTAssertFalse("\(explanation)".contains("secret"), "\(explanation)")
      if stack.kind == .sqlcipher {
        XCTAssertEqual(explanation.statements.map(\.parameters), [["all of a list, text"]])
        let two = try explain("name == 'secret' AND size > 4711", context)
        XCTAssertEqual(two.statements.first?.parameters, ["text", "integer"])
        XCTAssertTrue(two.statements.first?.text.contains("?1") ?? false)
        XCTAssertTrue(two.statements.first?.text.contains("?2") ?? false)
      }
    }
  }

  func testExplainingReadsNothing() async throws {
    try await onStore(.sqlcipher) { stack, context in
      stack.statements?.reset()
      _ = try explain("section == 'games'", sortedBy: "name", context)
      XCTAssertEqual(stack.statements?.count, 0)
    }
  }

  func testAllKindsOfResultsAreExplained() async throws {
    try await onStore(.sqlcipher) { _, context in
      let predicate = FetchPredicate.compare("section", .equal, "games")
      let ids = FetchRequest<ManagedObjectID>(entityName: "Package", predicate: predicate).limit(3).offset(1)
      XCTAssertEqual(try context.explain(ids).statements.first?.parameters, ["text", "limit", "offset"])
      var dictionaries = FetchRequest<[String: Any]>(entityName: "Package", predicate: .compare("size", .greater, 3))
      dictionaries.propertiesToFetch = ["section"]
      dictionaries.returnsDistinctResults = true
      XCTAssertTrue(try context.explain(dictionaries).warnings.contains { $0.kind == .sort })
      var count = FetchRequest<ManagedObject>(entityName: "Library", predicate: predicate)
      count.resultType = .count
      let explanation = try context.explain(count)
      XCTAssertEqual(explanation.warnings.first?.entityName, "Library")
      XCTAssertTrue(explanation.statements.first?.text.hasPrefix("SELECT count(*)") ?? false)
    }
  }

  func testExplainThrowsTheErrorsOfTheFetch() async throws {
    try await onStore(.sqlcipher) { _, context in
      XCTAssertThrowsError(try explain("nothing == 1", context)) { XCTAssertTrue($0 is FetchPredicateError) }
      XCTAssertThrowsError(try context.explain(FetchRequest<ManagedObject>(entityName: "Nobody")))
    }
  }

  func testExplanationReportsInMemoryComparisonOfUnsavedChanges() async throws {
    try await onStore(.sqlcipher) { _, context in
      XCTAssertEqual(try explain("section == 'games'", context).inMemory, [])
      try context.make("Package", ["name": "new"])
      context.delete(try context.named("p3", "Package"))
      let explanation = try explain("section == 'games'", context)
      XCTAssertEqual(explanation.inMemory.count, 2)
      XCTAssertTrue("\(explanation)".contains("unsaved"))
    }
  }

  func testStoreWithoutAQueryLanguageReportsIt() async throws {
    try await onStore(.inMemory) { _, context in
      let explanation = try explain("section == 'games'", context)
      XCTAssertEqual(explanation.stores.map(\.method), [.memory])
      XCTAssertEqual(explanation.statements, [])
      XCTAssertEqual(explanation.warnings.map(\.kind), [.memory])
      XCTAssertEqual(explanation.warnings.first?.entityName, "Package")
    }
  }

  func testAnExplanationPrintsStatementPlanIndexesAndWarnings() async throws {
    try await onStore(.sqlcipher) { _, context in
      let text = try explain("name == 'a' AND size > 3", sortedBy: "section", context).description
      for part in ["SELECT", "?1: text", "Plan", "index “byName” of Package (name)", "Warnings", "no index begins with section"] {
        XCTAssertTrue(text.contains(part), "\(part) is not in:\n\(text)")
      }
    }
  }
}
