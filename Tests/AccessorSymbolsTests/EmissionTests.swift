import AccessorSymbols
import Foundation
import XCTest

/// The generated accessors of a module are the ones that its declarations call, with any compiler flags.
final class EmissionTests: XCTestCase {
  private static let expected = """
    ["Program.Case Case", "Program.Furniture.Chair Chair", "Program.Shelf Shelf"]
    title kind count -
    NSSortDescriptor NSPredicate false
    A!?. case B 2 [1, 2] closed 3 2 ["1", "2"]
    add Books
    remove Books
    insert Books 2
    remove at Books 0
    replace Books 1
    add Weights
    replace Weights 3
    3 weight

    """

  private func output(_ flags: [String]) throws -> String { try run(flags).output }

  /// Returns the program's output, and the dynamically replaceable getters and setters.
  private func run(_ flags: [String]) throws -> (output: String, replaceable: [String]) {
    try CompiledModules.with { modules in
      let files = try CompiledModules.files(of: "Running").filter { $0.lastPathComponent != "CoreData.swift" }
      let base = CompiledModules.fixtures.appendingPathComponent("Running/CoreData.swift")
      _ = try modules.missingSymbols(of: "CoreData", [base], flags: flags.filter { $0 == "-O" })
      let module = ScannedModule(
        name: "Program", sources: try files.map { ScannedSource(try String(contentsOf: $0, encoding: .utf8), file: $0.path) })
      let source = AccessorSource(ManagedAccessors(of: module), of: module)
      XCTAssertEqual(source.issues, [])
      let written = try modules.write(source.text, as: "Accessors.swift")
      let output = try modules.output(of: "Program", files + [written], linking: ["CoreData"], flags: ["-parse-as-library"] + flags)
      return (output, try modules.programSymbols().filter { $0.hasSuffix("vgTX") || $0.hasSuffix("vsTX") })
    }
  }

  func testAccessorsAreFoundInDebugBuilds() throws {
    XCTAssertEqual(try output(["-Onone", "-swift-version", "5"]), Self.expected)
    XCTAssertEqual(try output(["-Onone", "-swift-version", "6"]), Self.expected)
  }

  func testAccessorsAreFoundInOptimisedBuilds() throws {
    XCTAssertEqual(try output(["-O", "-swift-version", "6"]), Self.expected)
  }

  func testAccessorsAreFoundWhereAModuleIsCompiledAsAWhole() throws {
    XCTAssertEqual(try output(["-Onone", "-wmo", "-swift-version", "6"]), Self.expected)
    XCTAssertEqual(try output(["-O", "-wmo", "-swift-version", "5"]), Self.expected)
    XCTAssertEqual(try output(["-O", "-wmo", "-swift-version", "6", "-enable-testing"]), Self.expected)
  }

  func testPropertiesLeftToThePluginAreNotReplaceable() throws {
    let optimised = ["-O", "-wmo", "-swift-version", "6"]
    let (left, declared) = (try run(optimised), try run(optimised + ["-D", "MANAGED_IN_SOURCE"]))
    XCTAssertEqual(left.output, Self.expected)
    XCTAssertEqual(declared.output, Self.expected)
    XCTAssertEqual(Set(declared.replaceable).subtracting(left.replaceable).count, 2)
    XCTAssertTrue(declared.replaceable.contains { $0.contains("weight") })
    XCTAssertEqual(try output(["-Onone", "-swift-version", "5", "-D", "MANAGED_IN_SOURCE"]), Self.expected)
  }

  func testPropertiesInvisibleToTheGeneratedFileAreNotLeftToIt() {
    let text = """
      import CoreData
      class A: NSManagedObject {
        #if canImport(ObjectiveC) || MANAGED_IN_SOURCE
        @NSManaged private var x: Int
        @NSManaged public internal(set) var y: Int
        #endif
      }
      """
    let module = ScannedModule(name: "M", sources: [ScannedSource(text, file: "/m/F.swift")])
    let source = AccessorSource(ManagedAccessors(of: module), of: module)
    XCTAssertEqual(source.issues, [])
    XCTAssertTrue(source.text.contains("#else\n#error(\"/m/F.swift:4: error: x is private to its file"), source.text)
    XCTAssertTrue(source.text.contains("  public internal(set) var `y`: `Int` { get {"), source.text)
  }

  func testPropertiesWithAccessorsOfTheirOwnHaveKeyPathsOnly() {
    let text = "import CoreData\nclass A: NSManagedObject { @NSManaged var x: Int\n @NSManaged func addToX(_ a: A) }"
    let module = ScannedModule(name: "M", sources: [ScannedSource(text, file: "M.xcdatamodeld", hasOwnAccessors: true)])
    let written = AccessorSource(ManagedAccessors(of: module), of: module).text
    XCTAssertTrue(written.contains("names.add("), written)
    XCTAssertTrue(written.contains("managedAdd("), written)
    XCTAssertFalse(written.contains("managedValue("), written)
  }

  func testConditionalErrorsAreReportedIfTheConditionHolds() throws {
    XCTAssertThrowsError(try output(["-Onone", "-swift-version", "6", "-D", "NOT_SET"])) { error in
      XCTAssertTrue("\(error)".contains("Shelf.swift:16: error: the type Nowhere of absent is not declared in this target"), "\(error)")
    }
  }

  func testOnlyModulesThatNameCompiledModelsGetBundleMethods() {
    for (text, finds) in [("let a = \"Library.momd\"", true), ("let a = \"mom\"", true), ("let a = \"Library\"", false)] {
      let module = ScannedModule(name: "M", sources: [ScannedSource("import CoreData\n\(text)\n", file: "/m/F.swift")])
      let written = AccessorSource(ManagedAccessors(of: module), of: module).text
      for function in [
        "func url(forResource name: String?, withExtension ext: String?) -> URL? {",
        "func path(forResource name: String?, ofType ext: String?) -> String? {",
        "func paths(forResourcesOfType ext: String?, inDirectory subpath: String?) -> [String] {",
      ] {
        XCTAssertEqual(written.contains(function), finds, function)
      }
    }
  }

  func testModulesThatReplaceFilesGetFileReplacementMethods() {
    for (text, replaces) in [("_ = try files.replaceItemAt(a, withItemAt: b)", true), ("let a = 1", false)] {
      let module = ScannedModule(name: "M", sources: [ScannedSource("import CoreData\n\(text)\n", file: "/m/F.swift")])
      let written = AccessorSource(ManagedAccessors(of: module), of: module).text
      XCTAssertEqual(written.contains("@discardableResult func replaceItemAt("), replaces)
      XCTAssertEqual(written.contains("func replaceItem(\n"), replaces)
    }
  }

  func testUnknownManagedMethodsAreReported() {
    let text =
      "class A: NSManagedObject {\n @NSManaged func addToX(_ a: A)\n @NSManaged func countOfX() -> Int\n @NSManaged func addTo(_ a: A) }"
    let module = ScannedModule(name: "M", sources: [ScannedSource(text, file: "/m/F.swift")])
    let issues = AccessorSource(ManagedAccessors(of: module), of: module).issues
    XCTAssertEqual(issues.map(\.reason), [.unknownMethod, .unknownMethod])
    XCTAssertEqual(issues.map(\.line), [3, 4])
  }

  func testImportsAreThoseOfTheFilesWithDeclarations() {
    let sources = [
      ScannedSource("import A\n#if X\n@testable import B\n#endif\nclass C: NSManagedObject { @NSManaged var x: Int }", file: "/m/C.swift"),
      ScannedSource("import Other\nclass D {}", file: "/m/D.swift"),
    ]
    let module = ScannedModule(name: "M", sources: sources)
    let lines = AccessorSource(ManagedAccessors(of: module), of: module).text.split(separator: "\n").filter { !$0.hasPrefix("//") }
    XCTAssertEqual(
      lines.prefix(6), ["@_spi(Generated) import CoreData", "import Foundation", "import A", "#if X", "@testable import B", "#endif"])
  }
}
