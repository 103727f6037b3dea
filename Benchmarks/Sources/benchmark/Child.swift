import BenchmarkData
import Foundation

/// Starts this program again as a child process for one measurement, and implements that process.
@MainActor
enum Child {
  /// The measurements and the checksum.
  struct Answer: Codable {
    var measured: Measured
    var checksum: UInt64 = 0
    /// The peak resident memory of the process in bytes, if it was measured.
    var memory = 0.0
  }

  /// A child process that ended without a response.
  struct Failure: Error {
    let arguments: [String]
  }

  /// Runs a child process with the given arguments.
  nonisolated static func start(_ arguments: [String]) throws -> Answer {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["--child"] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard let answer = try? JSONDecoder().decode(Answer.self, from: output) else { throw Failure(arguments: arguments) }
    return answer
  }

  /// Runs a child process, during which the main actor is free.
  static func startInBackground(_ arguments: [String]) async throws {
    _ = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try start(arguments) }) }
    }
  }

  /// Runs in the child process.
  static func run(_ arguments: [String]) async throws {
    let answer: Answer? =
      switch arguments.first {
      case FirstOpen.command: try await FirstOpen.answer(arguments)
      case LargeChild.command: try await LargeChild.answer(arguments)
      case Notices.command: try await Notices.answer(arguments)
      case StaffChild.command: try await StaffChild.answer(arguments)
      case SyncDelays.command: try await SyncDelays.answer(arguments)
      default: nil
      }
    guard let answer else { throw UsageError(message: "--child is not for you") }
    FileHandle.standardOutput.write(try JSONEncoder().encode(answer))
  }

  /// Measures `run` in the child process.
  static func measure(_ run: () async throws -> Void) async throws -> Measured {
    bench_forget_peak_memory()
    let resident = bench_resident_memory()
    let wall = bench_wall_seconds()
    let cpu = bench_cpu_seconds()
    try await run()
    var measured = Measured(cpu: bench_cpu_seconds() - cpu, wall: bench_wall_seconds() - wall)
    measured.peak = Double(bench_peak_memory()) - Double(resident)
    return measured
  }
}
