import Dispatch
import Foundation
import XCTest
import _TestSupport

/// Starts this test program again as a child process, which plays the part that its environment names.
struct HubChildProcess {
  private let process = Process()
  private let pipe = Pipe()

  /// - Parameter wrapper: The absolute path of a program that starts the process, for example with other privileges, and its arguments.
  init(_ role: String, _ arguments: [String], through wrapper: [String] = []) throws {
    let command = wrapper + [try XCTUnwrap(CommandLine.arguments.first), "SyncHubTests.HubProcessTests/testRunChildRole"]
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["CIPHERDATA_HUB_ROLE": role, "CIPHERDATA_HUB_ARGUMENTS": arguments.joined(separator: "\n")]) { $1 }
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
  }

  /// Waits for the process to end.
  ///
  /// - Returns: The lines that the part printed, and the exit code; -1 after a signal.
  func finish() -> (lines: [String], output: String, status: Int32) {
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (Self.lines(of: output), output, process.terminationReason == .exit ? process.terminationStatus : -1)
  }

  /// Kills the process as soon as it has printed a number of lines.
  ///
  /// - Returns: The lines that the part printed.
  func kill(after count: Int, microseconds: UInt32) -> [String] {
    Self.lines(of: process.kill(reading: pipe, when: { Self.lines(of: $0).count >= count }, microseconds: microseconds))
  }

  /// Prints a line for the parent process at once.
  static func answer(_ text: String) {
    let line = Array("ANSWER \(text)\n".utf8)
    _ = write(STDOUT_FILENO, line, line.count)
  }

  /// The part's lines that are complete.
  private static func lines(of output: String) -> [String] {
    output.components(separatedBy: "\n").dropLast().filter { $0.hasPrefix("ANSWER ") }.map { String($0.dropFirst(7)) }
  }
}
