import XCTest

/// Compares the public API of each module with the reviewed list (Documentation/API).
final class PublicInterfaceTests: XCTestCase {
  func testPublicInterfaceMatchesTheReviewedOne() throws {
    for list in try PinnedLists.publicInterfaces { try list.check(hint: "If the change is meant, run Scripts/api-baseline.") }
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
