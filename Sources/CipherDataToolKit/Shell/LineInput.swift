/// The next input of the shell.
enum ShellLine: Sendable, Hashable {
  /// A line without its terminator.
  case text(String)
  /// A line that the user canceled.
  case abandoned
  /// The end of input.
  case end
}

/// A source of lines: a terminal, a file, or a pipe.
protocol LineInput: AnyObject {
  /// Waits for the next line.
  ///
  /// - Parameter prompt: The prompt to display on a terminal.
  func next(prompt: String) throws -> ShellLine
  /// Adds a line to the history.
  func remember(_ line: String)
}

/// Lines of a file or a pipe.
final class PlainLineInput: LineInput {
  private let reader: LineReader

  init(_ source: ByteSource) { reader = LineReader(source, longestLine: 1 << 20) }

  func next(prompt: String) throws -> ShellLine { try reader.next { .text(String(decoding: $0, as: UTF8.self)) } ?? .end }

  func remember(_ line: String) {}
}
