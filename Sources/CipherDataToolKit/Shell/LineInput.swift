// LineInput: where the shell's lines come from: a terminal, or a file or pipe.

/// What comes next.
enum ShellLine: Sendable, Hashable {
  /// A line without its end.
  case text(String)
  /// A line that was given up before its end.
  case abandoned
  /// No more lines.
  case end
}

/// A source of lines.
protocol LineInput: AnyObject {
  /// Waits for the next line.
  ///
  /// - Parameter prompt: What stands before it where somebody types it.
  func next(prompt: String) throws -> ShellLine
  /// Keeps a line, so that it can be called up again.
  func remember(_ line: String)
}

/// Lines of a file or a pipe.
final class PlainLineInput: LineInput {
  private let reader: LineReader

  init(_ source: ByteSource) { reader = LineReader(source, longestLine: 1 << 20) }

  func next(prompt: String) throws -> ShellLine { try reader.next { .text(String(decoding: $0, as: UTF8.self)) } ?? .end }

  func remember(_ line: String) {}
}
