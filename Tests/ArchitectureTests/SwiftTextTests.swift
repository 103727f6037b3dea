import XCTest

final class SwiftTextTests: XCTestCase {
  func testCommentsAndLiteralsAreNotCode() {
    let text = SwiftText(
      """
      let a = "try! \\(b ? "fatalError" : "x") try!" // try!
      /* try! /* nested */ try! */ let c = #"try! \\#("try!")"# + d
      let e = \"""
        try! "quoted" try!
        \""" + f
      g(try! h())
      """)
    XCTAssertEqual(text.lines(containing: "try!"), [5])
    XCTAssertEqual(text.lines(containing: "fatalError"), [])
    XCTAssertEqual(text.lines(containing: "d"), [1])
    XCTAssertEqual(text.lines(containing: "f"), [4])
  }

  func testOnlyEntireWordsMatch() {
    let text = SwiftText("let x: Any = AnyHashable(anyAny)\nlet y: [any Many] = Any.self")
    XCTAssertEqual(text.lines(containing: "Any"), [0, 1])
  }
}
