import ObjectModel
import ObjectStore
import SQLCipherConnection
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Every cached statement has a unique number, and SQL that the store's tables accept.
final class StatementNumberTests: XCTestCase {
  private typealias Models = SpecificationModels

  /// Hierarchies, ordered members with and without a join table, and relationships within one entity.
  private static func model() throws -> CompiledModel {
    try Models.frozen([
      Models.entity("Thing", [Models.text("name"), Models.toMany("kin", "Thing", "kin")]),
      Models.entity(
        "Book", [Models.toOne("shelf", "Shelf", "books"), Models.toMany("tags", "Tag", "books", ordered: true)], parent: "Thing"),
      Models.entity("Shelf", [Models.toMany("books", "Book", "shelf", ordered: true), Models.toMany("hidden", "Thing")]),
      Models.entity("Tag", [Models.toMany("books", "Book", "tags", ordered: true)]),
    ])
  }

  private static func schema() throws -> StoreSchema {
    let model = try model()
    return try StoreSchema(model: model, layout: TableLayout(model: model, entityNumbers: Array(model.entities.indices)))
  }

  private func numbers(_ numbers: StatementNumbers, _ schema: StoreSchema) -> [Int] {
    EntityStatement.all(of: schema).map(numbers.number) + JoinStatement.all(of: schema).map(numbers.number)
  }

  func testStatementNumbersAreUniqueAndUsed() throws {
    let schema = try Self.schema()
    XCTAssertEqual(schema.joins.count, 3)
    let numbers = StatementNumbers(for: schema)
    let own = self.numbers(numbers, schema)
    let bookkeeping = BookkeepingStatement.allCases.map(\.rawValue) + HistoryStatement.allCases.map(\.number)
    let all = bookkeeping + own + numbers.updates + numbers.fetches
    XCTAssertEqual(all.sorted(), Array(0..<numbers.end), "numbers are shared or left out, or a statement is missing in all(of:)")
  }

  func testSchemasOfOneConnectionHaveDistinctNumbers() throws {
    let schema = try Self.schema()
    let first = StatementNumbers(for: schema)
    let second = StatementNumbers(for: schema, behind: first)
    let ofFirst = Set(numbers(first, schema)).union(first.updates).union(first.fetches)
    let ofSecond = Set(numbers(second, schema)).union(second.updates).union(second.fetches)
    XCTAssertTrue(ofFirst.isDisjoint(with: ofSecond))
    XCTAssertEqual(second.end - first.end, first.end - HistoryStatement.end)
  }

  func testStatementSizesAreExact() {
    XCTAssertEqual(KeyListSize.allCases.map(\.position), Array(0..<KeyListSize.count))
    XCTAssertEqual(InsertionSize.allCases.map(\.rawValue), Array(0..<InsertionSize.count))
    XCTAssertEqual(LinkInsertionSize.allCases.map(\.rawValue), Array(0..<LinkInsertionSize.count))
    XCTAssertEqual(BookkeepingStatement.allCases.map(\.rawValue), Array(0..<BookkeepingStatement.count))
    XCTAssertEqual(HistoryStatement.allCases.map(\.rawValue), Array(0..<HistoryStatement.count))
    for size in KeyListSize.allCases {
      XCTAssertEqual(KeyListSize(holding: size.rawValue), size)
      XCTAssertEqual(size.condition.count { $0 == "?" }, size.rawValue)
    }
    XCTAssertEqual(KeyListSize(holding: 2), .eight)
    XCTAssertEqual(KeyListSize(holding: 10_000), .maximum)
  }

  func testStatementTablesAcceptEveryText() throws {
    let store = try TestStore()
    let open = try store.open(try Self.model())
    defer { try? open.close() }
    let engine = try XCTUnwrap(open.store as? SQLCipherIncrementalStore).engine(.fetch)
    try engine.pool.withWriter { connection in
      for statement in BookkeepingTables.creationOfExternals { try connection.execute(statement) }
      // Only new stores, which lack the columns below, get a row.
      _ = try connection.statement(.creation)
      try connection.execute(BookkeepingTables.sideTablesColumn)
      try connection.execute("ALTER TABLE \(BookkeepingTables.metadata) ADD COLUMN history TEXT")
      var texts: Set<String> = []
      for statement in EntityStatement.all(of: engine.schema) where !statement.sql(in: engine.schema).isEmpty {
        XCTAssertEqual(try engine.statement(statement, on: connection).sql, statement.sql(in: engine.schema))
        // Some statements share one text: without an order, inserting a link with positions equals inserting it without them.
        texts.insert(statement.sql(in: engine.schema))
      }
      for statement in JoinStatement.all(of: engine.schema) where !statement.sql(in: engine.schema).isEmpty {
        XCTAssertEqual(try engine.statement(statement, on: connection).sql, statement.sql(in: engine.schema))
        texts.insert(statement.sql(in: engine.schema))
      }
      for statement in BookkeepingStatement.allCases {
        XCTAssertEqual(try connection.statement(statement).sql, statement.sql)
        XCTAssertTrue(texts.insert(statement.sql).inserted, "\(statement) has another's text")
      }
    }
  }

  func testARelationshipOrTableWithoutTheLinksHasNoText() throws {
    let schema = try Self.schema()
    let tag = try XCTUnwrap(schema.model.entity(named: "Tag")?.property(named: "books")?.toMany)
    XCTAssertEqual(EntityStatement.members(relationship: tag.id, .one).sql(in: schema), "")
    let hidden = try XCTUnwrap(schema.joins.first { schema.model.relationships[$0.relationshipID].name == "hidden" })
    XCTAssertEqual(JoinStatement.positioning(side: hidden.number).sql(in: schema), "")
    XCTAssertEqual(JoinStatement.removal(side: schema.joins.count * JoinSide.countOfTable).sql(in: schema), "")
  }
}
