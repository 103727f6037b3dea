import CipherDataToolKit
import Foundation
import ObjectModel
import XCTest

/// Two stores of a model that can be synchronized, `A.store` and `B.store`, and the tool.
final class SyncFixture {
  static let model = ManagedObjectModel {
    Entity("Folder") {
      Attribute("title", .string)
      Attribute("size", .integer64)
      Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
    }
    Entity("Note") {
      Attribute("text", .string)
      Attribute("rating", .double)
      Relationship("folder", to: "Folder", inverse: "notes")
    }
  }

  /// A model that has no entity in common with ``model``.
  static let otherModel = ManagedObjectModel { Entity("Invoice") { Attribute("number", .integer64) } }

  static let lines = """
    {"$entity":"Folder","title":"root","size":1,"notes":[{"text":"one","rating":1.5},{"text":"two"}]}
    {"$entity":"Note","text":"three"}

    """

  let tool: ToolFixture

  init() async throws {
    tool = try ToolFixture()
    for name in ["A.store", "B.store"] { try await tool.makeStore(of: Self.model, at: name) }
    try add(Self.lines, to: "A.store")
  }

  /// Two stores with the same objects.
  static func joined() async throws -> SyncFixture {
    let fixture = try await SyncFixture()
    try fixture.succeed("start", "A.store", "--hub", "hub.store", "--recovery", "recovery")
    try fixture.succeed("join", "B.store", "--hub", "hub.store", "--recovery", "recovery")
    return fixture
  }

  /// Runs `cipherdata sync` with arguments.
  func sync(_ arguments: [String], environment: [String: String] = [:]) throws -> ToolResult {
    try tool.run(["sync"] + arguments, environment: environment)
  }

  @discardableResult
  func succeed(_ arguments: String..., file: StaticString = #filePath, line: UInt = #line) throws -> ToolResult {
    let result = try sync(arguments)
    XCTAssertEqual(result.status, 0, "sync \(arguments.joined(separator: " ")): \(result.error)", file: file, line: line)
    return result
  }

  /// Expects a run to end with a status and one line that contains texts.
  func fail(
    _ status: Int32, _ texts: [String], _ arguments: String..., environment: [String: String] = [:], file: StaticString = #filePath,
    line: UInt = #line
  ) throws {
    let result = try sync(arguments, environment: environment)
    XCTAssertEqual(result.status, status, result.error, file: file, line: line)
    let last = result.error.split(separator: "\n").last.map(String.init) ?? ""
    for text in texts { XCTAssertTrue(last.contains(text), "“\(text)” is missing: \(result.error)", file: file, line: line) }
    XCTAssertEqual(result.output, "", file: file, line: line)
  }

  func add(_ lines: String, to store: String) throws {
    let result = try tool.run(["import", store, "-"], input: lines)
    XCTAssertEqual(result.status, 0, result.error)
  }

  func update(_ store: String, _ entity: String, _ condition: String, _ assignment: String) throws {
    let result = try tool.run(["update", store, "--entity", entity, "--where", condition, "--set", assignment])
    XCTAssertEqual(result.status, 0, result.error)
  }

  func remove(_ store: String, _ entity: String, _ condition: String) throws {
    let result = try tool.run(["delete", store, "--entity", entity, "--where", condition])
    XCTAssertEqual(result.status, 0, result.error)
  }

  /// The values of all objects of a store, as sorted lines.
  func contents(_ store: String) throws -> [String] {
    try [("Folder", "title,size"), ("Note", "text,rating,folder.title")].flatMap { entity, properties in
      let result = try tool.run(["fetch", store, "--entity", entity, "--properties", properties, "--format", "csv"])
      XCTAssertEqual(result.status, 0, result.error)
      return result.output.split(whereSeparator: \.isNewline).dropFirst().map(String.init).sorted()
    }
  }

  func assertEqualContents(count: Int, file: StaticString = #filePath, line: UInt = #line) throws {
    let contents = try contents("A.store")
    XCTAssertEqual(contents, try self.contents("B.store"), file: file, line: line)
    XCTAssertEqual(contents.count, count, file: file, line: line)
  }

  func status(_ store: String) throws -> JSONValue {
    try JSONParser.parse(try succeed("status", store, "--format", "json").output)
  }

  func moveHub(to name: String) throws { try FileManager.default.moveItem(atPath: tool.path("hub.store"), toPath: tool.path(name)) }
  func moveHub(back name: String) throws { try FileManager.default.moveItem(atPath: tool.path(name), toPath: tool.path("hub.store")) }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: tool.path(name)) }
}
