import Foundation

/// A completed run of another program.
public struct ProgramRun {
  /// The exit code, or the number of the signal that ended the program.
  public let status: Int32
  /// The output, including standard error if requested.
  public let output: String

  /// Runs a program in `PATH` without input.
  ///
  /// - Parameters:
  ///   - command: Its name and arguments.
  ///   - environment: Variables in addition to those of the tests.
  ///   - includesErrors: Whether to include standard error in the output instead of discarding it.
  /// - Throws: The errors of `Process.run()`.
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
