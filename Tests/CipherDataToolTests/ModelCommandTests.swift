// `cipherdata model diff`, `lint` and `format`.
import Foundation
import ObjectModel
import XCTest

final class ModelCommandTests: XCTestCase {
  private func write(_ model: ManagedObjectModel, _ name: String, in tool: ToolFixture) throws -> String {
    let path = tool.path(name)
    try VersionedModel(name: "M", versions: [.init(name: "M", model: model)], currentVersionName: "M").write(to: URL(filePath: path))
    return path
  }

  func testDiffSaysWhatChangedAndWhetherItCanBeInferred() throws {
    let tool = try ToolFixture()
    let older = try write(ManagedObjectModel { Entity("A") { Attribute("x", .string) } }, "Old.xcdatamodeld", in: tool)
    let newer = try write(
      ManagedObjectModel {
        Entity("A") {
          Attribute("x", .string)
          Attribute("y", .date)
        }
      }, "New.xcdatamodeld", in: tool)
    let run = try tool.run(["model", "diff", older, newer], passphrase: nil)
    XCTAssertEqual(run.output, "A.y: added: Date, optional\nThe change can be inferred.\n")
    XCTAssertEqual(try tool.run(["model", "diff", older, older], passphrase: nil).output, "No difference.\n")
    XCTAssertEqual(try tool.run(["model", "diff", older], passphrase: nil).status, 64)
  }

  func testLintFindsWhatIsLikelyAMistake() throws {
    let tool = try ToolFixture()
    let path = try write(
      ManagedObjectModel {
        Entity("A") { Relationship("b", to: "A") }
        FetchTemplate("Bad", entity: "A", where: "b ==")
      }, "M.xcdatamodeld", in: tool)
    let run = try tool.run(["model", "lint", path], passphrase: nil)
    XCTAssertEqual(run.status, 65)
    XCTAssertTrue(run.output.contains("error: Bad: its predicate cannot be read"), run.output)
    XCTAssertTrue(run.output.contains("warning: A.b: the relationship has no inverse"), run.output)
    let clean = try write(ManagedObjectModel { Entity("A") { Attribute("x", .string) } }, "Clean.xcdatamodeld", in: tool)
    XCTAssertEqual(try tool.run(["model", "lint", "--strict", clean], passphrase: nil).output, "Nothing to say.\n")
  }

  func testFormatWritesTheCanonicalForm() throws {
    let tool = try ToolFixture()
    let path = try write(ManagedObjectModel { Entity("A") { Attribute("x", .string) } }, "M.xcdatamodeld", in: tool)
    XCTAssertEqual(try tool.run(["model", "format", "--check", path], passphrase: nil).status, 0)
    let file = URL(filePath: path).appendingPathComponent("M.xcdatamodel/contents")
    let canonical = try String(contentsOf: file, encoding: .utf8)
    try canonical.replacing("    <", with: "\t<").write(to: file, atomically: true, encoding: .utf8)
    XCTAssertEqual(try tool.run(["model", "format", "--check", path], passphrase: nil).status, 1)
    XCTAssertEqual(try tool.run(["model", "format", path], passphrase: nil).status, 0)
    XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), canonical)
  }
}
