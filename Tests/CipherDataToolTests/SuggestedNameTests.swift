// Names that a mistyped one may be: of commands, functions, properties, types and versions.
import Foundation
import ObjectModel
import XCTest

final class SuggestedNameTests: XCTestCase {
  func testAMistypedCommandOfTheToolIsReportedWithTheNearestOne() throws {
    let tool = try ToolFixture()
    for (arguments, says) in [
      (["fech"], "There is no command “fech”; did you mean “fetch”?"),
      (["help", "fech"], "There is no command “fech”; did you mean “fetch”?"),
      (["model", "lnt", "x"], "There is no command “model lnt”; did you mean “model lint”?"),
      (["FETCH"], "There is no command “FETCH”; did you mean “fetch”?"),
      (["launch"], "There is no command “launch”; the commands are create, "),
    ] {
      let run = try tool.run(arguments, passphrase: nil)
      XCTAssertEqual(run.status, 64, "\(arguments)")
      XCTAssertTrue(run.error.hasPrefix("cipherdata: \(says)"), run.error)
    }
    for arguments in [["help", "fetch"], ["model", "--help"], ["help", "model", "lint"], ["--version"], ["help"], []] {
      let run = try tool.run(arguments, passphrase: nil)
      XCTAssertEqual(run.status, 0, "\(arguments): \(run.error)")
    }
  }

  func testNamesOfShellLinesAreReportedWithTheNearestOne() async throws {
    let tool = try await ToolFixture.withPackages()
    for (line, says) in [
      ("fech Package", "There is no command “fech”; did you mean “fetch”?"),
      ("help udpate", "There is no command “udpate”; did you mean “update”?"),
      ("exlt", "There is no command “exlt”; did you mean “exit”?"), ("fetch Pakage", "did you mean “Package”?"),
      ("fetch Package --where lenght(name) > 1", "Did you mean length?"),
      ("fetch Package --where lenght:(name) > 1", "Did you mean length?"),
      ("fetch Package --select summ(installedSize)", "Did you mean sum?"), ("fetch Package --where nme == 1", "Did you mean name?"),
      ("update Package --all --set nme = 1", "did you mean “name”?"),
    ] {
      let run = try tool.run(["shell", "test.store"], input: line + "\n")
      XCTAssertEqual(run.status, 64, line)
      XCTAssertTrue(run.error.contains(says), "\(line): \(run.error)")
    }
  }

  func testTypesAndRulesOfAModelFileAndVersionsAreReportedWithTheNearestOne() throws {
    let tool = try ToolFixture()
    for (line, says) in [
      ("<attribute name=\"x\" attributeType=\"Integer32\"/>", "'attributeType' names no attribute type; did you mean 'Integer 32'?"),
      ("<attribute name=\"x\" attributeType=\"string\"/>", "did you mean 'String'?"),
      ("<attribute name=\"x\" attributeType=\"Colour\"/>", "the types are "),
      ("<relationship name=\"x\" destinationEntity=\"A\" deletionRule=\"Cascad\"/>", "did you mean 'Cascade'?"),
    ] {
      let path = tool.path("M.xcdatamodel")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Data("<model><entity name=\"A\">\(line)</entity></model>".utf8).write(to: URL(filePath: path + "/contents"))
      let run = try tool.run(["model", "lint", path], passphrase: nil)
      XCTAssertEqual(run.status, 65)
      XCTAssertTrue(run.error.contains(says), run.error)
    }
    let model = ManagedObjectModel { Entity("A") }
    let path = tool.path("Library.xcdatamodeld")
    try VersionedModel(
      name: "Library", versions: ["Library", "Library 2"].map { .init(name: $0, model: model) }, currentVersionName: "Library"
    ).write(to: URL(filePath: path))
    let run = try tool.run(["model", "diff", path, "--from", "Libary 2"], passphrase: nil)
    XCTAssertTrue(run.error.contains("has no version “Libary 2”; did you mean “Library 2”?"), run.error)
  }

  func testAnAggregateOverMembersInAGroupIsNamedAsAPathThatAnAggregateTakes() async throws {
    let tool = try await ToolFixture.withPackages()
    for (column, path) in [("count(tags)", "tags.@count"), ("count(tags) + 1", "tags.@count"), ("tags.@count", "tags.@count")] {
      let run = try tool.run(["fetch", "test.store", "--entity", "Package", "--select", "\(column) AS n", "--group-by", "section"])
      XCTAssertEqual(run.status, 64)
      XCTAssertTrue(run.error.contains("or take an aggregate of it, such as min(\(path))"), run.error)
      let advised = try tool.run(["fetch", "test.store", "--entity", "Package", "--select", "min(\(path)) AS n", "--group-by", "section"])
      XCTAssertEqual(advised.status, 0, advised.error)
    }
  }

  func testErrorsHaveNoCodesOfTheLibrary() async throws {
    let tool = try await ToolFixture.withPackages()
    _ = try tool.folder.file("bad.store", "x")
    for arguments in [
      ["fetch", "gone.store", "--entity", "A"], ["fetch", "bad.store", "--entity", "A"], ["history", "test.store"], ["verify", "/"],
      ["backup", "test.store", "bad.store"],
    ] {
      let run = try tool.run(arguments)
      XCTAssertNotEqual(run.status, 0)
      XCTAssertFalse(run.error.contains("["), run.error)
    }
  }
}
