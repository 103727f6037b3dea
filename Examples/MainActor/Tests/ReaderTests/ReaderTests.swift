import Foundation
import XCTest

// Tests of applications with the main actor as default isolation. XCTest's classes are nonisolated.
nonisolated final class ReaderTests: XCTestCase {
  private func output(of name: String) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Reader-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name)
    process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) { _, new in new }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    XCTAssertEqual(process.terminationStatus, 0, name)
    return text
  }

  func testMainActorApplicationUsesClassesOfAnotherTarget() throws {
    XCTAssertEqual(
      try output(of: "Reader"), "The Dispossessed, Ursula K. Le Guin (2)\nThe Left Hand of Darkness, Ursula K. Le Guin (2)\n")
  }

  func testSwift5ModeApplicationUsesItsOwnClass() throws {
    XCTAssertEqual(try output(of: "Swift5Reader"), "3 new\n")
  }
}
