import CipherDataToolKit
import Foundation
import ObjectModel
import XCTest

/// `update` and `delete` of many objects, under the rules of the model.
final class BatchChangeTests: XCTestCase {
  /// The store's model has an inverse that does not lead back: setting `favorite` sets `fans`.
  func testAnUpdateSetsAOneSidedInverseInTheToolAsInTheShell() async throws {
    let model = ManagedObjectModel(entities: [
      EntityDescription(
        name: "Customer",
        properties: [
          .attribute(AttributeDescription(name: "name", type: .string, isOptional: true)),
          .relationship(RelationshipDescription(name: "favorite", destination: "Order", inverse: "fans")),
        ]),
      EntityDescription(
        name: "Order",
        properties: [
          .attribute(AttributeDescription(name: "total", type: .integer64, isOptional: true)),
          .relationship(RelationshipDescription(name: "fans", destination: "Customer", isToMany: true)),
        ]),
    ])
    for isShell in [false, true] {
      let fixture = try ToolFixture()
      try await fixture.makeStore(of: model)
      let lines = [
        #"{"$entity":"Customer","name":"Ann"}"#, #"{"$entity":"Customer","name":"Bob"}"#, #"{"$entity":"Order","total":1}"#,
        #"{"$entity":"Order","total":2}"#,
      ]
      try fixture.run(["import", "test.store", "-"], input: lines.map { $0 + "\n" }.joined())
      func uri(_ total: Int) throws -> String {
        let run = try fixture.run([
          "fetch", "test.store", "--entity", "Order", "--where", "total == \(total)", "--properties", "@id", "--format", "csv",
        ])
        return try XCTUnwrap(run.output.split(separator: "\r\n").last.map(String.init))
      }
      func update(_ condition: String, _ values: String) throws -> ToolResult {
        if isShell { return try fixture.run(["shell", "test.store"], input: "update Customer \(condition) --set \(values)\n") }
        let condition = condition.split(separator: " ", maxSplits: 1).map { $0.trimmingCharacters(in: ["\""]) }
        return try fixture.run(["update", "test.store", "--entity", "Customer"] + condition + ["--set", values])
      }
      func expect(_ fans: [String], at line: UInt = #line) throws {
        let run = try fixture.run([
          "fetch", "test.store", "--entity", "Order", "--sort", "total", "--properties", "fans.name", "--format", "jsonl",
        ])
        XCTAssertEqual(run.output.split(separator: "\n").map(String.init), fans.map { "{\"fans.name\":\($0)}" }, run.error, line: line)
      }
      let (first, second) = (try uri(1), try uri(2))
      XCTAssertEqual(try update("--all", "favorite = '\(first)'").output, "2\n")
      try expect([#"["Ann","Bob"]"#, "[]"])
      XCTAssertEqual(try update("--where \"name == 'Bob'\"", "favorite = '\(second)', name = uppercase(name)").output, "1\n")
      try expect([#"["Ann"]"#, #"["BOB"]"#])
      XCTAssertEqual(try update("--all", "favorite = nil").output, "2\n")
      try expect(["[]", "[]"])
      // A failure changes nothing.
      let failed = try update("--all", "favorite = '\(first)0'")
      XCTAssertNotEqual(failed.status, 0)
      try expect(["[]", "[]"])
    }
  }

  private func fixture() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index)
    return fixture
  }

  private func packages(_ fixture: ToolFixture, _ columns: String = "name,installedSize,section") throws -> String {
    try fixture.run([
      "fetch", "test.store", "--entity", "Package", "--properties", columns, "--sort", "name,architecture", "--format", "csv",
    ]).output.replacingOccurrences(of: "\r\n", with: " ")
  }

  func testNewValuesAreComputedForEachObject() async throws {
    let fixture = try await fixture()
    let result = try fixture.run([
      "update", "test.store", "--entity", "Package", "--where", "section.name == 'shells'", "--set",
      "installedSize = installedSize * 2, name = uppercase(name), summary = nil",
    ])
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertEqual(result.output, "2\n")
    XCTAssertEqual(
      try packages(fixture, "name,installedSize,summary"), "name,installedSize,summary BASH,14328, ZSH,5000, gcc,46, gcc,46, ")
  }

  func testADryRunChangesNothing() async throws {
    let fixture = try await fixture()
    let before = try packages(fixture)
    for command in [["update", "--set", "installedSize = 1"], ["delete"]] {
      let result = try fixture.run(
        [command[0], "test.store", "--entity", "Package", "--where", "name == 'gcc'", "--dry-run"] + command.dropFirst())
      XCTAssertEqual(result.output, "2\n", result.error)
    }
    XCTAssertEqual(try packages(fixture), before)
  }

  func testAToOneRelationshipTakesAnObjectsURIOrNothing() async throws {
    let fixture = try await fixture()
    let uri = try fixture.run([
      "fetch", "test.store", "--entity", "Section", "--where", "name == 'shells'", "--properties", "@id", "--format", "csv",
    ]).output.split(separator: "\r\n")[1]
    let moved = try fixture.run([
      "update", "test.store", "--entity", "Package", "--where", "name == 'gcc'", "--set", "section = '\(uri)'",
    ])
    XCTAssertEqual(moved.output, "2\n", moved.error)
    XCTAssertEqual(
      try packages(fixture), "name,installedSize,section bash,7164,shells gcc,46,shells gcc,46,shells zsh,2500,shells ")
    let found = try fixture.run([
      "fetch", "test.store", "--entity", "Package", "--where", "section == CAST('\(uri)', 'ObjectID')", "--count",
    ])
    XCTAssertEqual(found.output, "4\n", found.error)
    let cut = try fixture.run(["update", "test.store", "--entity", "Package", "--all", "--set", "section = nil"])
    XCTAssertEqual(cut.output, "4\n", cut.error)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Package", "--where", "section == nil", "--count"]).output, "4\n")
    let wrong = try fixture.run(["update", "test.store", "--entity", "Package", "--all", "--set", "section = 'shells'"])
    XCTAssertEqual(wrong.status, 64)
    XCTAssertTrue(wrong.error.contains("URI"), wrong.error)
  }

  func testDeletionFollowsTheDeleteRules() async throws {
    let fixture = try await fixture()
    // bash has three relations with four alternatives. They are deleted with it; its tags and its maintainer remain.
    let result = try fixture.run(["delete", "test.store", "--entity", "Package", "--where", "name == 'bash'"])
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertEqual(result.output, "8\n")
    let left = try fixture.run(
      ["shell", "test.store", "--format", "csv"], input: "count PackageRelation\ncount Alternative\ncount Tag\ncount Maintainer\n")
    XCTAssertEqual(left.output, "4\n5\n2\n2\n")
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
    let all = try fixture.run(["delete", "test.store", "--entity", "Section", "--all"])
    XCTAssertEqual(all.output, "2\n", all.error)
    XCTAssertEqual(try packages(fixture), "name,installedSize,section gcc,46, gcc,46, zsh,2500, ")
  }

  func testErrorsChangeNothing() async throws {
    let fixture = try await fixture()
    let before = try packages(fixture)
    let cases: [([String], Int32, String)] = [
      (["update", "--set", "installedSize = 1"], 64, "--all"), (["delete"], 64, "--all"),
      (["delete", "--all", "--where", "name == 'gcc'"], 64, "--all"), (["update", "--all", "--set", "size = 1"], 64, "size"),
      (["update", "--all", "--set", "installedSize ="], 64, "--set"), (["update", "--all", "--set", "installedSize"], 64, "--set"),
      (["update", "--all", "--set", "name = nil"], 65, "name"), (["update", "--all", "--set", "installedSize = -1"], 65, "installedSize"),
      (["update", "--all", "--set", "installedSize = 'x'"], 65, "installedSize"), (["update", "--all", "--set", "tags = nil"], 65, "tags"),
      (["update", "--all", "--set", "name = 'same', version = '1', architecture = 'all'"], 65, "name"),
      (["update", "--where", "nome == 1", "--set", "name = 'x'"], 64, "nome"), (["delete", "--where", "nome == 1"], 64, "nome"),
    ]
    for (arguments, status, text) in cases {
      let result = try fixture.run([arguments[0], "test.store", "--entity", "Package"] + arguments.dropFirst())
      XCTAssertEqual(result.status, status, "\(arguments): \(result.error)")
      XCTAssertTrue(result.error.contains(text), result.error)
      XCTAssertEqual(result.output, "")
    }
    XCTAssertEqual(try packages(fixture), before)
  }

  func testShellUpdatesAndFetchesInOneSession() async throws {
    let fixture = try await fixture()
    let result = try fixture.run(
      ["shell", "test.store"],
      input: """
        count Package --where installedSize > 5000
        update Package --where name == "zsh" --set installedSize = installedSize + 3000
        count Package --where installedSize > 5000
        delete Package --where name == "gcc" --dry-run
        delete Package --where name == "zsh"
        count Package
        """)
    XCTAssertEqual(result.output, "1\n1\n2\n2\n1\n3\n")
    XCTAssertEqual(result.error, "")
    let refused = try fixture.run(["shell", "test.store", "--read-only"], input: "delete Package --all\ncount Package\n")
    XCTAssertEqual(refused.output, "3\n")
    XCTAssertTrue(refused.error.contains("line 1"), refused.error)
    XCTAssertNotEqual(refused.status, 0)
  }
}
