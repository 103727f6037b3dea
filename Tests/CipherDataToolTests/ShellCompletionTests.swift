import CipherDataToolKit
import ObjectModel
import XCTest

/// The completions for the Tab key of the shell.
final class ShellCompletionTests: XCTestCase {
  private func complete(_ text: String) throws -> ShellCompletion.Completions {
    ShellCompletion(try CompiledModel(TestStack.model("DebianArchive"))).completions(text)
  }

  private func assert(_ text: String, becomes result: String, line: UInt = #line) throws {
    XCTAssertEqual(text + (try complete(text).insertion), result, line: line)
  }

  func testCommandsAreCompleted() throws {
    try assert("fe", becomes: "fetch ")
    try assert("  fe", becomes: "  fetch ")
    XCTAssertEqual(try complete("qu").insertion, "it ")
    XCTAssertTrue(Set(try complete("").candidates).isSuperset(of: ["entities", "describe", "fetch", "count", "format", "help", "quit"]))
    XCTAssertEqual(try complete("nothing"), ShellCompletion.Completions())
    try assert("help fe", becomes: "help fetch ")
    try assert("format cs", becomes: "format csv ")
  }

  func testEntitiesAreCompleted() throws {
    try assert("fetch Mai", becomes: "fetch Maintainer ")
    try assert("count Pack", becomes: "count Package")
    XCTAssertEqual(try complete("count Package").candidates, ["Package", "PackageRelation"])
    XCTAssertEqual(try complete("quit Mai"), ShellCompletion.Completions())
  }

  func testOptionsAreCompleted() throws {
    try assert("fetch Package --wh", becomes: "fetch Package --where ")
    XCTAssertTrue(Set(try complete("fetch Package ").candidates).isSuperset(of: ["--where", "--sort", "--limit"]))
    try assert("fetch Package --where name == 'x' --li", becomes: "fetch Package --where name == 'x' --limit ")
    try assert("fetch Package --limit 5 --format js", becomes: "fetch Package --limit 5 --format json")
    XCTAssertEqual(try complete("fetch Package --limit ").candidates, [])
  }

  func testPropertiesAreCompletedThroughRelationships() throws {
    try assert("fetch Package --where inst", becomes: "fetch Package --where installedSize")
    try assert("fetch Package --where section.na", becomes: "fetch Package --where section.name")
    try assert("fetch Package --where (inst", becomes: "fetch Package --where (installedSize")
    try assert("fetch Package --where ANY tags.na", becomes: "fetch Package --where ANY tags.name")
    try assert("fetch Package --sort -inst", becomes: "fetch Package --sort -installedSize")
    try assert("fetch Package --properties name,tags.@", becomes: "fetch Package --properties name,tags.@count")
    XCTAssertEqual(try complete("fetch Package --where section.").candidates, ["name", "packages", "@count"])
    XCTAssertEqual(try complete("fetch Package --where name.x"), ShellCompletion.Completions())
    XCTAssertEqual(try complete("fetch Nothing --where na"), ShellCompletion.Completions())
  }

  func testKeywordsAreCompletedInTheirCase() throws {
    try assert("fetch Package --where name BEG", becomes: "fetch Package --where name BEGINSWITH")
    try assert("fetch Package --where name beg", becomes: "fetch Package --where name beginswith")
  }

  func testNothingIsCompletedInsideAString() throws {
    XCTAssertEqual(try complete(#"fetch Package --where name == "inst"#), ShellCompletion.Completions())
    try assert(#"fetch Package --where name == "x" AND inst"#, becomes: #"fetch Package --where name == "x" AND installedSize"#)
    try assert("fetch Package --where 'inst", becomes: "fetch Package --where 'installedSize")
    XCTAssertEqual(try complete(#"fetch Package --where 'name == "inst"#), ShellCompletion.Completions())
  }
}
