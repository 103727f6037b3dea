// ProgramRun: other programs in tests.
import Foundation

/// A program that was run to its end.
public struct ProgramRun {
  /// The exit code, or the number of the signal that ended it.
  public let status: Int32
  /// What it printed, errors included.
  public let output: String

  /// Runs a program that is in `PATH`. It is given no input.
  ///
  /// - Parameter command: Its name and its arguments.
  /// - Throws: What `Process.run()` throws.
  public init(_ command: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    status = process.terminationStatus
  }
}
