import Foundation
import Synchronization

/// A question with the answer y or n, on standard error and standard input.
enum Question {
  /// Asks, and waits for the answer. Another answer than y or yes is no. A cancellation ends the wait; the next question then gets the line.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/noInput`` if standard input has ended.
  static func ask(_ text: String) async throws -> Bool {
    Tool.write("cipherdata: \(text) [y/N] ", to: STDERR_FILENO)
    guard let line = try await Answers.shared.next() else {
      throw ToolError(.noInput, "Standard input has ended before the question was answered. Nothing was changed.")
    }
    return ["y", "yes"].contains(line.trimmingCharacters(in: .whitespaces).lowercased())
  }
}

/// The lines of standard input, from the first question on.
private final class Answers: Sendable {
  static let shared = Answers()

  private struct State {
    var isReading = false
    var lines: [String] = []
    var hasEnded = false
  }
  private let state = Mutex(State())

  /// The time between two looks for a line.
  private static let interval = Duration.milliseconds(50)

  /// Returns the next line, or nil at the end.
  func next() async throws -> String? {
    start()
    while true {
      let (line, hasEnded) = state.withLock { ($0.lines.isEmpty ? nil : $0.lines.removeFirst(), $0.hasEnded) }
      if line != nil || hasEnded { return line }
      try await Task.sleep(for: Self.interval)
    }
  }

  /// Reads on a thread of its own: a read from a terminal cannot be canceled, and must not block those that run tasks.
  private func start() {
    let isReading = state.withLock { state in
      defer { state.isReading = true }
      return state.isReading
    }
    if isReading { return }
    let thread = Thread { [self] in
      while let line = readLine() { state.withLock { $0.lines.append(line) } }
      state.withLock { $0.hasEnded = true }
    }
    thread.start()
  }
}
