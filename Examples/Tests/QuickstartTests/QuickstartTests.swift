import Foundation
import XCTest

/// The README's example equals the one here, and prints the expected output.
final class QuickstartTests: XCTestCase {
  private var examples: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }

  func testExampleMatchesTheReadme() throws {
    let readme = try String(contentsOf: examples.deletingLastPathComponent().appendingPathComponent("README.md"), encoding: .utf8)
    let source = try String(contentsOf: examples.appendingPathComponent("Sources/Quickstart/main.swift"), encoding: .utf8)
    let code = source.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().joined(separator: "\n")
    XCTAssertTrue(
      readme.contains("```swift\n\(code)```"), "Copy the README's example into Sources/Quickstart/main.swift, or the other way round.")
  }

  func testExampleFetchesWhatItSaved() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Quickstart-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("Quickstart")
    let process = Process()
    process.executableURL = program
    process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) { _, new in new }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    XCTAssertEqual(process.terminationStatus, 0)
    XCTAssertEqual(text, "The Left Hand of Darkness by Ursula K. Le Guin\n")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    XCTAssertTrue(files.contains("library.store") && files.contains("library.store.keys"), "\(files)")
    for file in files {
      let bytes = try Data(contentsOf: folder.appendingPathComponent(file))
      XCTAssertNil(bytes.range(of: Data("Ursula".utf8)), "\(file) holds what was stored.")
    }
  }
}
