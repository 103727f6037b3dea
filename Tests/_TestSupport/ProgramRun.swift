// ProgramRun: other programs in tests.
import Foundation

/// A program that was run to its end.
public struct ProgramRun {
  /// The exit code, or the number of the signal that ended it.
  public let status: Int32
  /// What it printed, errors included if they are wanted.
  public let output: String

  /// Runs a program that is in `PATH`. It is given no input.
  ///
  /// - Parameters:
  ///   - command: Its name and its arguments.
  ///   - environment: Variables that it has besides those of the tests.
  ///   - includesErrors: Whether what it prints to standard error is kept, rather than dropped.
  /// - Throws: What `Process.run()` throws.
  public init(_ command: [String], environment: [String: String] = [:], includesErrors: Bool = true) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = includesErrors ? pipe : FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    status = process.terminationStatus
  }
}
