import AccessorSymbols
import XCTest

/// What the scanner finds in Swift sources, and what must not confuse it.
final class ScanningTests: XCTestCase {
  private func scan(_ text: String) -> ScannedSource { ScannedSource(text, file: "F.swift") }

  func testOnlyDeclarationsAreFoundInMisleadingSources() throws {
    let module = try CompiledModules.scanned("Library")
    let odd = try XCTUnwrap(module.sources.first { $0.file.hasSuffix("Oddities.swift") })
    XCTAssertEqual(odd.managed.map(\.name), ["first", "second", "third3", "kind", "sameLine", "fourth"])
    XCTAssertEqual(odd.types.map(\.name), ["Odd", "Case", "Shelf", "Generic", "Inner", "Clerk"])
    XCTAssertEqual(odd.managedInFunctions, [])
    XCTAssertEqual(odd.imports.map(\.module), ["CoreData", "Foundation"])
  }

  func testAccessLevelComesFromTheDeclarationOrItsExtension() {
    let source = scan(
      """
      public extension A { @NSManaged var a: Int; @NSManaged private var b: Int; @NSManaged internal(set) open var c: Int }
      open class B { @NSManaged var d: Int; @NSManaged public private(set) var e: Int }
      """)
    XCTAssertEqual(source.managed.map(\.access), [.public, .private, .open, .internal, .public])
    XCTAssertEqual(source.managed.map(\.setterAccess), [nil, nil, .internal, nil, .private])
  }

  func testLineNumberIsThatOfTheName() {
    let source = scan("\r\n/*\n\n*/ class A {\n  @NSManaged\n  var\n    x: Int,\n    y: String\n}\n")
    XCTAssertEqual(source.managed.map(\.line), [7, 8])
    XCTAssertEqual(source.types.map(\.line), [4])
  }

  func testConditionsOfNestedIfsAreCombined() {
    let source = scan(
      """
      #if os(Linux) && (A ||
        B) // one
      class A {
        #if X
        @NSManaged var a: Int
        #elseif Y /* two */
        @NSManaged var b: Int
        #else
        @NSManaged var c: Int
        #endif
        @NSManaged var d: Int
      }
      #endif
      class B { @NSManaged var e: Int }
      """)
    let outer = "os(Linux) && (A || B)"
    XCTAssertEqual(
      source.managed.map(\.conditions), [[outer, "X"], [outer, "!(X)", "Y"], [outer, "!(X)", "!(Y)"], [outer], []])
  }

  func testImportsAreFoundWithTheirConditions() {
    let source = scan(
      "@testable import Model\nimport struct Foundation.Date\n#if canImport(UIKit)\nimport UIKit.UIImage\n#endif\nimport class A.B;")
    XCTAssertEqual(source.imports.map(\.module), ["Model", "Foundation", "UIKit", "A"])
    XCTAssertEqual(source.imports.map(\.isTestable), [true, false, false, false])
    XCTAssertEqual(source.imports[2].conditions, ["canImport(UIKit)"])
  }

  func testSourcesThatDoNotCompileAreScannedToTheEnd() {
    for text in [
      "class A { @NSManaged var", "class A { @NSManaged var x:", "class", "}}}", "class A { @NSManaged func f(", "\"\\(", "/* /*", "@",
      "#if",
      "#else\n#endif\n#elseif", "class A: B<C { var", "func f(a: [", "@NSManaged(", "import", "`", "#\"", "var x = { (", "extension A<B",
      "x: [A",
      "typealias A = (B,", "\"\"\"\n\\#", "let a = /[", "class A { @NSManaged var x: (", "class A { @NSManaged func f(_ a: (B, ) }",
    ] {
      _ = ManagedAccessors(of: ScannedModule(name: "M", sources: [scan(text)]))
    }
    XCTAssertEqual(scan("class A { func f( }\nclass B: C { @NSManaged var x: Int }").types.first?.name, "A")
  }
}
