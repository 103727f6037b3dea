import Foundation
import ModelCodeGeneration
import XCTest

/// A program in the folder Fixtures. A line that must be rejected ends in `// ERROR: ` and a part of the diagnostic.
struct Fixture {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures")

  private let name: String
  private var file: URL { Fixture.folder.appendingPathComponent(name + ".swift") }

  init(_ name: String) { self.name = name }

  /// Compiles the program together with other files, and compares the errors with the marked lines.
  ///
  /// - Parameters:
  ///   - others: The other files.
  ///   - flags: More arguments of the compiler.
  ///   - isStrict: Whether a marked line must have exactly one error.
  func check(with others: [URL] = [], flags: [String] = [], isStrict: Bool = false, line: UInt = #line) throws {
    let expected = try expected()
    let (status, diagnostics) = try Compiler().check([file] + others, flags: ["-parse-as-library"] + flags)
    let errors = diagnostics.filter { $0.contains("error: ") }
    XCTAssertEqual(status == 0, expected.isEmpty, errors.joined(separator: "\n"), line: line)
    for (place, text) in expected {
      XCTAssertTrue(
        errors.contains { $0.contains("\(name).swift:\(place):") && $0.contains(text) },
        "line \(place) of \(name) compiles, or is refused for another reason:\n" + errors.joined(separator: "\n"), line: line)
    }
    for (place, _) in expected where isStrict {
      let found = errors.filter { $0.contains("\(name).swift:\(place):") }
      XCTAssertEqual(found.count, 1, "line \(place) of \(name) has several errors:\n" + found.joined(separator: "\n"), line: line)
    }
    for error in errors where !expected.keys.contains(where: { error.contains("\(name).swift:\($0):") }) {
      XCTFail("unexpected: \(error)", line: line)
    }
  }

  var rejectedLines: Set<Int> { get throws { Set(try expected().keys) } }

  /// The diagnostics for the program, with their lines.
  func diagnostics(with others: [URL] = [], flags: [String]) throws -> [(line: Int, text: String)] {
    let (_, diagnostics) = try Compiler().check([file] + others, flags: ["-parse-as-library"] + flags)
    return diagnostics.map { text in
      let place = text.firstMatch(of: /\.swift:([0-9]+):/).flatMap { Int($0.1) }
      return (place ?? 0, text)
    }
  }

  private func expected() throws -> [Int: String] {
    var expected: [Int: String] = [:]
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    for (index, text) in lines.enumerated() {
      if let range = text.range(of: "// ERROR: ") { expected[index + 1] = String(text[range.upperBound...]) }
    }
    return expected
  }

  /// Runs a closure with a temporary folder of the classes generated for the model of `Examples/Sources/Quickstart`, or of another example.
  static func withLibraryClasses(of path: String = "Quickstart/Library", _ body: (URL) throws -> Void) throws {
    let name = String(path.split(separator: "/").last ?? "")
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("classes-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // With the earlier versions, as the plugin generates them.
    let model = Compiler.root.appendingPathComponent("Examples/Sources/\(path).xcdatamodeld")
    let library = folder.appendingPathComponent("\(name).swift")
    try ModelCodeGenerator(contentsOf: model, name: name, options: CodeGenerationOptions(access: .internal)).source()
      .write(to: library, atomically: true, encoding: .utf8)
    try body(library)
  }
}

final class FixtureTests: XCTestCase {
  func testEveryFixtureIsCompiledByATest() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Fixture.folder.path).filter { $0.hasSuffix(".swift") }
    XCTAssertEqual(names.count, 22)
  }
}
