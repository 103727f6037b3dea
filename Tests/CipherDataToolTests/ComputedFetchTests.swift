import CipherDataToolKit
import Foundation
import ObjectModel
import StoreKeys
import XCTest

/// `fetch` with computed columns, groups, group conditions and sort orders, on a real store through the shell.
final class ComputedFetchTests: XCTestCase {
  /// Items with attributes of every type.
  private static let model = ManagedObjectModel {
    Entity("Item") {
      Attribute("name", .string).required()
      Attribute("kind", .string)
      Attribute("price", .decimal)
      Attribute("count", .integer32)
      Attribute("ratio", .float)
      Attribute("added", .date)
      Attribute("isNew", .boolean)
      Attribute("code", .uuid)
      Attribute("data", .binary)
      Relationship("shelf", to: "Shelf", inverse: "items")
      Unique("name")
    }
    Entity("Shelf") {
      Attribute("label", .string).required()
      Relationship("items", toMany: "Item", inverse: "shelf")
      Unique("label")
    }
  }
  private static let lines = """
    {"name":"apple","kind":"fruit","price":"0.10","count":3,"ratio":0.1,"added":"2024-02-29T12:30:00.5Z","isNew":true,"shelf":{"label":"A"}}
    {"name":"pear","kind":"fruit","price":"0.20","count":5,"ratio":1.5,"added":"2024-03-01","isNew":false,"shelf":{"label":"A"}}
    {"name":"漢字, \\"ink\\"","kind":"ink","price":"12345678901234567890.12","count":1,"code":"00112233-4455-6677-8899-AABBCCDDEEFF","data":"AAH/","shelf":{"label":"B"}}
    {"name":"thing"}

    """

  private func fixture() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model)
    let imported = try fixture.run(["import", "test.store", "--entity", "Item"], input: Self.lines)
    XCTAssertEqual(imported.status, 0, imported.error)
    return fixture
  }

  /// Returns the output of shell lines.
  private func answers(_ lines: [String], format: String = "csv") async throws -> [String] {
    let result = try await fixture().run(
      ["shell", "test.store", "--format", format], input: lines.flatMap { [$0, "format"] }.joined(separator: "\n"))
    XCTAssertEqual(result.error, "")
    return result.output.components(separatedBy: format + "\n").dropLast()
  }

  func testGroupsAreCountedFilteredAndSorted() async throws {
    let answers = try await answers([
      #"fetch Item --select "kind, count(name) AS n, sum(price) AS total" --group-by kind --sort kind"#,
      "fetch Item --select kind, count(*) AS n --group-by kind --having n > 1",
      "fetch Item --select kind, sum(count) AS s --group-by kind --sort s desc, kind",
      "fetch Item --select kind, max(price) AS m --group-by kind --having count(*) < 2 AND kind != nil",
      "fetch Item --group-by kind --sort -kind --limit 1",
      "fetch Item --select count(distinct kind), sum(count), average(count), median(count), min(name), max(added)",
      "fetch Item --select kind --distinct --sort kind",
      "count Item --select kind --group-by kind",
      "count Item --select kind --group-by kind --having count(*) > 1",
    ])
    XCTAssertEqual(
      answers,
      [
        "kind,n,total\r\n,1,0\r\nfruit,2,0.3\r\nink,1,12345678901234567890.12\r\n", "kind,n\r\nfruit,2\r\n",
        "kind,s\r\nfruit,8\r\nink,1\r\n,0\r\n", "kind,m\r\nink,12345678901234567890.12\r\n", "kind\r\nink\r\n",
        "count(distinct kind),sum(count),average(count),median(count),min(name),max(added)\r\n2,9,3.0,3.0,apple,2024-03-01T00:00:00Z\r\n",
        "kind\r\n\r\nfruit\r\nink\r\n", "3\n", "1\n",
      ])
  }

  func testColumnsAreComputedForEachObject() async throws {
    let answers = try await answers([
      "fetch Item --select name, price * 2 AS double, length(name) AS l --sort l desc, name",
      "fetch Item --select name, shelf, shelf.label AS label --where shelf != nil --sort name --limit 2 --offset 1",
    ])
    XCTAssertEqual(
      answers,
      [
        "name,double,l\r\n\"漢字, \"\"ink\"\"\",24691357802469135780.24,9\r\napple,0.2,5\r\nthing,,5\r\npear,0.4,4\r\n",
        "name,shelf,label\r\npear,A,A\r\n\"漢字, \"\"ink\"\"\",B,B\r\n",
      ])
  }

  func testObjectsAreGroupedByDestination() async throws {
    let answers = try await answers(["fetch Item --select shelf, count(*) AS n --group-by shelf --sort n desc, shelf.label"])
    XCTAssertEqual(answers, ["shelf,n\r\nA,2\r\n,1\r\nB,1\r\n"])
  }

  func testValuesKeepTheirTypesInJSON() async throws {
    let line = "fetch Item --select name, price, count, ratio, added, isNew, code, data --sort name"
    let rows = [
      #"{"name":"apple","price":"0.1","count":3,"ratio":0.1,"added":"2024-02-29T12:30:00.5Z","isNew":true,"code":null,"data":null}"#,
      #"{"name":"pear","price":"0.2","count":5,"ratio":1.5,"added":"2024-03-01T00:00:00Z","isNew":false,"code":null,"data":null}"#,
      #"{"name":"thing","price":null,"count":null,"ratio":null,"added":null,"isNew":null,"code":null,"data":null}"#,
      #"{"name":"漢字, \"ink\"","price":"12345678901234567890.12","count":1,"ratio":null,"added":null,"isNew":null,"code":"00112233-4455-6677-8899-AABBCCDDEEFF","data":"AAH/"}"#,
    ]
    let lines = try await answers([line], format: "jsonl")
    XCTAssertEqual(lines, [rows.map { $0 + "\n" }.joined()])
    let array = try await answers([line], format: "json")
    XCTAssertEqual(array, ["[\n  " + rows.joined(separator: ",\n  ") + "\n]\n"])
  }

  func testTablesAreAlignedByVisibleWidth() async throws {
    let answers = try await answers(
      ["fetch Item --select name, count, data, price --where kind == 'ink' OR name == 'pear' --sort name"], format: "table")
    XCTAssertEqual(
      answers,
      [
        """
        name         count  data    price
        ───────────  ─────  ──────  ───────────────────────
        pear             5  –       0.2
        漢字, "ink"      1  0001ff  12345678901234567890.12

        """
      ])
  }

  func testErrorsAreReportedByOptionAndPosition() async throws {
    let fixture = try await fixture()
    let cases: [([String], String)] = [
      (["--select", "count(nme)"], "nme"), (["--select", "name,"], "--select: "),
      (["--group-by", "kind", "--having", "n >"], "--having: "),
      (["--select", "kind, count(*)"], "Add it to --group-by"), (["--select", "kind", "--group-by", "name"], "kind"),
      (["--having", "count(*) > 1"], "--having"),
      (["--distinct"], "--distinct"), (["--select", "name", "--properties", "name"], "--properties"),
      (["--select", "name", "--sort", "nothing"], "nothing"),
    ]
    for (arguments, text) in cases {
      let result = try fixture.run(["fetch", "test.store", "--entity", "Item"] + arguments)
      XCTAssertEqual(result.status, 64, "\(arguments): \(result.error)")
      XCTAssertTrue(result.error.contains(text), result.error)
      XCTAssertEqual(result.output, "")
    }
  }

  func testComputedQueriesAreExplained() async throws {
    let fixture = try await fixture()
    let result = try fixture.run(["fetch", "test.store", "--entity", "Item", "--where", "name == 'secret' AND count > 1", "--explain"])
    XCTAssertEqual(result.status, 0, result.error)
    for text in ["SELECT", "Plan", "uniqueness constraint of Item (name)"] { XCTAssertTrue(result.output.contains(text), result.output) }
    XCTAssertFalse(result.output.contains("secret"))
    let scan = try fixture.run(["shell", "test.store"], input: "explain Item --where kind == 'fruit'\n")
    XCTAssertTrue(scan.output.contains("Warnings"), scan.output)
  }
}
