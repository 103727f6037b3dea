// MistakeTests: the wrong use of a macro is an error of the compiler that stands where it is and says what to do.
import Foundation
import XCTest

final class MistakeTests: XCTestCase {
  private static let fixture = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    .appendingPathComponent("Fixtures/Mistakes.swift.txt")

  /// Every line of the fixture that ends in `// ERROR:` is refused with each of the texts there, parted by bars; `// INSIDE:` stands for an error in the
  /// code that the macro wrote for the line's type. Errors that only follow from these are not looked at.
  func testEveryMistakeIsReportedWhereItIs() throws {
    let source = try String(contentsOf: Self.fixture, encoding: .utf8)
    let output = try compile(source)
    var errors: [Int: [String]] = [:]
    var inside: [String] = []
    for line in output.split(separator: "\n").map(String.init) where line.first != " " && line.contains("error: ") {
      guard let place = line.firstMatch(of: /Mistakes\.swift:([0-9]+):[0-9]+: error: (.*)/), let number = Int(place.1) else {
        inside.append(line)
        continue
      }
      errors[number, default: []].append(String(place.2))
    }
    var count = 0
    for (index, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let found = errors[index + 1] ?? []
      if let marked = line.range(of: "// ERROR: ") {
        for text in line[marked.upperBound...].split(separator: "|").map({ $0.trimmingCharacters(in: .whitespaces) }) {
          count += 1
          XCTAssertTrue(found.contains { $0.contains(text) }, "line \(index + 1) is not refused for '\(text)', but for \(found)")
        }
      } else if let marked = line.range(of: "// INSIDE: ") {
        count += 1
        let text = line[marked.upperBound...]
        XCTAssertTrue((inside + found).contains { $0.contains(text) }, "no error says '\(text)'; those inside say \(inside)")
      }
    }
    XCTAssertEqual(count, 48)
  }

  /// What the compiler says of a program that uses the macros of this build.
  private func compile(_ source: String) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Mistakes-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("Mistakes.swift")
    try source.write(to: file, atomically: true, encoding: .utf8)
    let build = try buildFolder()
    let root = Self.fixture.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    var arguments = [
      "swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-module-name", "Checked", "-D", "DEBUG", "-diagnostic-style",
      "llvm",
      "-I", build.appendingPathComponent("Modules").path, "-load-plugin-executable",
      build.appendingPathComponent("CipherDataMacros-tool").path + "#CipherDataMacros",
    ]
    for library in ["CLibcrypto", "CSQLCipher", "CZlib"] { arguments += ["-I", root.appendingPathComponent("Sources/\(library)").path] }
    arguments += try run(["pkg-config", "--cflags", "sqlcipher", "libcrypto"]).split(whereSeparator: \.isWhitespace).flatMap {
      ["-Xcc", String($0)]
    }
    return try run(arguments + [file.path])
  }

  /// Where this build keeps its modules and the macros' program.
  private func buildFolder() throws -> URL {
    for start in [Bundle(for: Self.self).bundleURL, Bundle.main.bundleURL, URL(fileURLWithPath: CommandLine.arguments[0])] {
      var folder = start
      for _ in 0..<4 {
        if FileManager.default.fileExists(atPath: folder.appendingPathComponent("CipherDataMacros-tool").path) { return folder }
        folder.deleteLastPathComponent()
      }
    }
    throw XCTSkip("This build keeps the program of the macros elsewhere than beside the test bundle.")
  }

  private func run(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text
  }
}
