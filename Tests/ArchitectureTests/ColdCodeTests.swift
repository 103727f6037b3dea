import XCTest

/// Code that runs once per model, and not whenever a container is opened, is excluded from optimization. Every application would otherwise
/// wait for its compilation three times.
final class ColdCodeTests: XCTestCase {
  /// Code that reads, compares, prints and writes models. A release build of an application compiles it once for itself and twice for the
  /// generator.
  private static let cold = [
    "Sources/ModelCodeGeneration/", "Sources/ObjectModel/Difference/", "Sources/ObjectModel/ModelFile/", "Sources/ObjectModel/Printing/",
    "Sources/ObjectModel/Validation/ModelLint",
  ]
  private static let longest = 8

  func testLongFunctionsThatRunOncePerModelAreNotOptimized() {
    for folder in Self.cold {
      let sources = Repository.sources.filter { $0.file.hasPrefix(folder) }
      XCTAssertFalse(sources.isEmpty, "\(folder) no longer exists; list its replacement")
      for (file, text) in sources {
        for line in Self.longFunctions(of: text) where !text.code[line].contains("@_optimize(none)") {
          XCTFail("\(file):\(line + 1) has more than \(Self.longest) lines: write @_optimize(none) before it")
        }
      }
    }
  }

  func testLongFunctionsAreFound() {
    let body = String(repeating: "    work()\n", count: 8)
    let text = SwiftText("struct A {\n  func short() {\n\(body)  }\n  var long: Int {\n\(body)    return 1\n  }\n}\n")
    XCTAssertEqual(Self.longFunctions(of: text), [11])
  }

  /// The first lines (from 0) of functions, initializers and computed properties with longer bodies.
  private static func longFunctions(of text: SwiftText) -> [Int] {
    text.code.indices.filter { first in
      guard text.code[first].contains(#/^ {0,4}[a-z@_() ]*\b(func |init[?]?[<(]|var \w+: [^=]*\{\s*$)/#) else { return false }
      var (depth, line, isOpen) = (0, first, false)
      while line < text.code.count {
        for character in text.code[line] {
          if character == "{" { (depth, isOpen) = (depth + 1, true) }
          if character == "}" { depth -= 1 }
        }
        if isOpen, depth <= 0 { break }
        // A protocol requirement, or another declaration without a body.
        if !isOpen, depth < 0 { return false }
        line += 1
      }
      return isOpen && line - first - 1 > longest
    }
  }
}
