import Foundation
import ObjectModel
import XCTest

/// `cipherdata model lint --sync`.
final class ModelSyncLintTests: XCTestCase {
  private func write(_ model: ManagedObjectModel, _ name: String, in tool: ToolFixture) throws -> String {
    let path = tool.path(name)
    try VersionedModel(name: "M", versions: [.init(name: "M", model: model)], currentVersionName: "M").write(to: URL(filePath: path))
    return path
  }

  func testLintPrintsHowPropertiesAreMerged() throws {
    let tool = try ToolFixture()
    let path = try write(
      ManagedObjectModel {
        Entity("Folder") {
          Attribute("opens", .integer64).syncMergeRule(.counter)
          Attribute("noteCount", .integer32)
          Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
        }
        Entity("Note") { Relationship("folder", to: "Folder", inverse: "notes").required() }
      }, "Notes.xcdatamodeld", in: tool)
    let run = try tool.run(["model", "lint", path, "--sync"], passphrase: nil)
    XCTAssertEqual(run.status, 0, run.error)
    XCTAssertEqual(
      run.output,
      """
      entity Folder
        opens      Integer 64  the sum of the changes
        noteCount  Integer 32  the later change
        notes      ->> Note    follows from Note.folder

      entity Note
        folder  -> Folder  the later change; deleted with the destination

      The deletion of an object wins over all changes of it.
      The model can be synchronized.
      warning: Folder.noteCount: concurrent increments are lost, because the later change wins; declare the merge rule “counter”

      """)
    let strict = try tool.run(["model", "lint", path, "--sync", "--strict"], passphrase: nil)
    XCTAssertEqual(strict.status, 65)
    XCTAssertTrue(strict.error.contains("The model has 1 warning of synchronization."), strict.error)

    struct Report: Decodable {
      struct Entity: Decodable {
        struct Property: Decodable { var name, type, merge, explanation: String }
        var name: String
        var parent: String?
        var abstract: Bool
        var properties: [Property]
      }
      struct Finding: Decodable { var entity, property, reason, explanation: String }
      var model: String
      var entities: [Entity]
      var obstacles, warnings: [Finding]
    }
    let json = try tool.run(["model", "lint", path, "--sync", "--format", "json"], passphrase: nil)
    let report = try JSONDecoder().decode(Report.self, from: Data(json.output.utf8))
    XCTAssertEqual(report.model, path)
    XCTAssertEqual(report.entities.map(\.name), ["Folder", "Note"])
    XCTAssertEqual(report.entities[0].properties.map(\.merge), ["counter", "latest", "inverse"])
    XCTAssertEqual(report.warnings.map(\.reason), ["lostIncrements"])
    XCTAssertEqual(report.obstacles.count, 0)
    XCTAssertEqual(try tool.run(["model", "lint", path, "--format", "json"], passphrase: nil).status, 64)
  }

  func testLintFailsIfAModelCannotBeSynchronized() throws {
    let tool = try ToolFixture()
    let path = try write(
      ManagedObjectModel {
        Entity("List") {
          Attribute("name", .string).syncMergeRule(.max)
          Relationship("items", toMany: "List").ordered()
          Unique("name")
        }
      }, "Lists.xcdatamodeld", in: tool)
    let run = try tool.run(["model", "lint", path, "--sync"], passphrase: nil)
    XCTAssertEqual(run.status, 65)
    XCTAssertTrue(
      run.output.contains(
        "  items  ->> List  members are added and removed one by one; an addition wins; what is moved together stays together\n"),
      run.output)
    XCTAssertTrue(
      run.output.contains(
        "The model cannot be synchronized yet.\nerror: List.name: a uniqueness constraint over a computed value or an attribute with a merge rule\n"
      ), run.output)
    XCTAssertTrue(run.error.contains("The model has 1 obstacle of synchronization."), run.error)
    let unknown = try write(
      ManagedObjectModel { Entity("A") { Attribute("x", .integer16).userInfo("syncMergeRule", "sum") } }, "Bad.xcdatamodeld", in: tool)
    for arguments in [[], ["--sync"]] {
      let run = try tool.run(["model", "lint", unknown] + arguments, passphrase: nil)
      XCTAssertEqual(run.status, 65)
      let text = run.output + run.error
      XCTAssertTrue(text.contains("contents:4:9: A.x: 'syncMergeRule' in the user info is 'sum'"), text)
    }
  }
}
