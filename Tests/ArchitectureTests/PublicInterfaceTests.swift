import XCTest

/// Compares the public API of each module with the reviewed list (Documentation/API).
final class PublicInterfaceTests: XCTestCase {
  func testPublicInterfaceMatchesTheReviewedOne() throws {
    for list in try PinnedLists.publicInterfaces { try list.check(hint: "If the change is meant, run Scripts/api-baseline.") }
  }

  func testDeclarationsForGeneratedCodeMatchTheReviewedOnes() throws {
    try PinnedLists.generatedCode.check(hint: "If the change is meant, run Scripts/api-baseline.")
  }

  func testNoPublicNameBeginsWithAnUnderscore() throws {
    // Requirements of protocols of the standard library.
    let permitted: Set<Substring> = [
      "_cVarArgEncoding", "_cVarArgObject", "_CVarArgObject", "_rawHashValue", "_disfavoredOverload", "_optimize", "__always",
    ]
    for line in try (PinnedLists.publicInterfaces + [PinnedLists.generatedCode]).flatMap(\.lines) {
      for name in line.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }) where name.count > 1 && name.hasPrefix("_") {
        XCTAssertTrue(permitted.contains(name), line)
      }
    }
  }

  func testDeclarationsForGeneratedCodeAreListedSeparately() {
    let declarations = PublicDeclarations(
      SwiftText(
        """
        @_spi(Generated) public protocol P {
          func f()
        }
        public struct S {
          @_spi(Generated) @inlinable public init(of x: Int) {}
          public func g() {}
        }
        @_spi(Generated)
        extension S: P { public func f() {} }
        """))
    XCTAssertEqual(declarations.lines, ["S: public struct S", "S: public func g()"])
    XCTAssertEqual(
      declarations.linesForGeneratedCode,
      [
        "P: public protocol P", "P: func f()", "S: @inlinable public init(of x: Int)", "S: extension S: P", "S: public func f()",
      ])
  }

  func testDeclarationsAreReadFromText() {
    let text = SwiftText(
      """
      import Foundation
      public struct A<B: Sendable>: Hashable where B: Hashable {
        public let x: Int
        public private(set) var y = [1, 2].map { $0 + 1 }
        var hidden: Int { 1 }
        @inlinable
        public static func f(
          _ a: Int = 3, b: (Int) -> Bool = { $0 > 1 }
        ) throws(E) -> [B] {
          func inner() {}
          return []
        }
        public var both: Int { get { x } set {} }
        public var one: Int {
          if x > 2 { return 1 }
          return 2
        }
        public enum Kind: Int { case a = 1, b; case c(Int)
          func hidden() {}
        }
        struct Hidden { public let z: Int }
      }
      public protocol P: Sendable {
        var v: Int { get set }
        func g()
        associatedtype T
      }
      extension A: P where B: Hashable {
        public func g() { while true { } }
        public static func == (l: A, r: A) -> Bool { true }
        open class var k: Int { 1 }
      }
      package extension A { func notListed() {} }
      public func free() {}
      """)
    XCTAssertEqual(
      PublicDeclarations.of(text),
      [
        "A: public struct A<B: Sendable>: Hashable where B: Hashable",
        "A: public let x: Int",
        "A: public private(set) var y",
        "A: @inlinable public static func f(_ a: Int = 3, b: (Int) -> Bool = { $0 > 1 }) throws(E) -> [B]",
        "A: public var both: Int { get set }",
        "A: public var one: Int { get }",
        "A.Kind: public enum Kind: Int",
        "A.Kind: case a = 1, b",
        "A.Kind: case c(Int)",
        "A.Hidden: public let z: Int",
        "P: public protocol P: Sendable",
        "P: var v: Int { get set }",
        "P: func g()",
        "P: associatedtype T",
        "A: extension A: P where B: Hashable",
        "A: public func g()",
        "A: public static func == (l: A, r: A) -> Bool",
        "A: open class var k: Int { get }",
        "public func free()",
      ])
  }
}
