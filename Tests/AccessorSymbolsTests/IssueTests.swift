import AccessorSymbols
import XCTest

/// A managed declaration that cannot have accessors causes an error with its file and line.
final class IssueTests: XCTestCase {
  /// The errors for a class with a declaration, in the format that build systems parse.
  private func issues(_ lines: String, dependencies: [ScannedModule] = []) -> [AccessorIssue] {
    ManagedAccessors(of: ScannedModule(name: "M", sources: [ScannedSource(lines, file: "/m/F.swift")]), dependencies: dependencies).issues
  }

  private func check(_ lines: String, _ reason: AccessorIssue.Reason, at line: Int, name: String = "x", place: UInt = #line) {
    XCTAssertEqual(issues(lines), [AccessorIssue(file: "/m/F.swift", line: line, name: name, reason: reason)], line: place)
  }

  func testIssuesUseTheFormatOfCompilerDiagnostics() {
    XCTAssertEqual(
      issues("class A: NSManagedObject {\n\n  @NSManaged var x: Nowhere?\n}").map(\.description),
      [
        "/m/F.swift:3: error: the type Nowhere of x is not declared in this target, its dependencies, Swift or Foundation; use a type that is"
      ])
  }

  func testMissingTypesAreReported() {
    check("class A: NSManagedObject { @NSManaged var x: Nowhere.Kind }", .unknownType("Nowhere.Kind"), at: 1)
    check("class A: NSManagedObject {\n @NSManaged func x(_ value: Nowhere) }", .unknownType("Nowhere"), at: 2)
    check("class A: NSManagedObject {\n @NSManaged var x: [String: Set<Nowhere>] }", .unknownType("Nowhere"), at: 2)
    check("enum B { enum K {} }\nclass A: NSManagedObject { @NSManaged var x: K }", .unknownType("K"), at: 2)
  }

  func testTypesThatNoAttributeHasAreReported() {
    check("class A: NSManagedObject { @NSManaged var x: (Int) -> Int }", .unsupportedType("(Int) -> Int"), at: 1)
    check("class A: NSManagedObject { @NSManaged var x: (Int, Int) }", .unsupportedType("(Int, Int)"), at: 1)
    check("class A: NSManagedObject { @NSManaged var x: P & Q }", .unsupportedType("P & Q"), at: 1)
    check("class A: NSManagedObject { @NSManaged var x: A.Type }", .unsupportedType("A.Type"), at: 1)
    check("class A: NSManagedObject { @NSManaged var x: some P }", .unsupportedType("some P"), at: 1)
    check("class A: NSManagedObject { @NSManaged func x() throws -> Int }", .unsupportedType("throws"), at: 1)
    check("typealias L = L\nclass A: NSManagedObject { @NSManaged var x: L }", .unsupportedType("L"), at: 2)
    check("class A: NSManagedObject { @NSManaged var x }", .missingType, at: 1)
  }

  func testUnsupportedGenericTypesAreReported() {
    check("class A: NSManagedObject { @NSManaged var x: Set }", .genericType("Set"), at: 1)
    check("class A: NSManagedObject { @NSManaged var x: Date<Int> }", .genericType("Date"), at: 1)
    check("struct G<T> {}\nclass A: NSManagedObject { @NSManaged var x: G }", .genericType("G"), at: 2)
    check("typealias G<T> = [T]\nclass A: NSManagedObject { @NSManaged var x: G<Int> }", .genericType("G"), at: 2)
  }

  func testFilePrivateDeclarationsAreReported() {
    check("private enum K { case a }\nclass A: NSManagedObject {\n @NSManaged private var x: K? }", .privateType("K"), at: 3)
    check("fileprivate class A: NSManagedObject { @NSManaged var x: Int }", .privateClass("A"), at: 1)
    check("private enum N { class A: NSManagedObject { @NSManaged var x: Int } }", .privateClass("N.A"), at: 1)
  }

  func testClassesThatCannotBeEntityClassesAreReported() {
    check("class A<T>: NSManagedObject { @NSManaged var x: Int }", .genericClass("A"), at: 1)
    check("struct A { @NSManaged var x: Int }", .noClass("A"), at: 1)
    check("extension Nowhere { @NSManaged var x: Int }", .unknownClass("Nowhere"), at: 1)
    check("func f() {\n class A: NSManagedObject {\n  @NSManaged var x: Int } }", .declaredInFunction, at: 3, name: "@NSManaged")
  }

  func testDuplicateTypesAreReportedWithBothLocations() {
    let text = "#if UNKNOWN\ntypealias K = Int\n#else\ntypealias K = String\n#endif\nclass A: NSManagedObject { @NSManaged var x: K }"
    check(text, .ambiguousType("K", in: ["/m/F.swift:2", "/m/F.swift:4"]), at: 6)
    XCTAssertEqual(issues(text.replacingOccurrences(of: "UNKNOWN", with: "os(Linux)")), [])
  }

  func testDeclarationsForOtherPlatformsAreNotReported() {
    for condition in [
      "os(iOS)", "!os(Linux)", "canImport(UIKit)", "os(iOS) || (canImport(AppKit) && DEBUG)", "false", "targetEnvironment(simulator)",
      "!(canImport(Foundation) || UNKNOWN)", "_runtime(_ObjC)",
    ] {
      let text = "class A: NSManagedObject {\n#if \(condition) // why\n @NSManaged var x: Nowhere\n#endif\n}"
      XCTAssertEqual(issues(text), [], condition)
      XCTAssertEqual(
        issues(text.replacingOccurrences(of: "\n#endif", with: "\n#else\n @NSManaged var y: Nowhere\n#endif")).map(\.name), ["y"])
    }
    XCTAssertEqual(issues("class A: NSManagedObject {\n#if UNKNOWN\n @NSManaged var x: Nowhere\n#endif\n}").map(\.line), [3])
  }
}
