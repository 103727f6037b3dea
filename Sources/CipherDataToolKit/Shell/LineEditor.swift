import CLibedit
import Foundation

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

/// A line editor on the terminal with history and completion, based on the system's libedit. It is not thread-safe.
final class LineEditor: LineInput {
  /// Completes the text before the cursor when the user presses Tab.
  typealias Completer = (String) -> ShellCompletion.Completions

  private static let historySize = 1000
  private let editor: OpaquePointer
  private let history: OpaquePointer
  private let file: ShellHistory?
  /// The prompt, which the editor requests when it displays a line.
  private var prompt: UnsafeMutablePointer<CChar>
  private let completer: Completer
  private var isAbandoned = false

  /// Takes over the terminal's input.
  ///
  /// - Throws: ``ToolError`` if there is no terminal.
  init(history file: ShellHistory?, completer: @escaping Completer) throws {
    guard let editor = cipherdata_edit_open("cipherdata"), let history = history_init(), let prompt = strdup("> ") else {
      throw ToolError(.unavailable, "The terminal's line editor does not start.")
    }
    self.editor = editor
    self.history = history
    self.file = file
    self.prompt = prompt
    self.completer = completer
    // `deinit` ends the editor, which therefore never outlives this object.
    cipherdata_edit_set_client(editor, Unmanaged.passUnretained(self).toOpaque())
    cipherdata_edit_set_prompt(editor) { LineEditor.of($0)?.prompt }
    cipherdata_edit_set_history(editor, history, Int32(Self.historySize))
    for line in file?.lines ?? [] { cipherdata_history_add(history, line) }
    // The user's key bindings from ~/.editrc; those below take precedence.
    el_source(editor, nil)
    cipherdata_edit_bind(editor, "^I", "cipherdata-complete", "Complete the word") { editor, _ in
      LineEditor.of(editor)?.complete() ?? UInt8(CC_ERROR)
    }
    cipherdata_edit_take_signal_keys(editor)
    cipherdata_edit_bind(editor, "^C", "cipherdata-abandon", "Abandon the line") { editor, _ in
      LineEditor.of(editor)?.abandon() ?? UInt8(CC_ERROR)
    }
    cipherdata_edit_bind(editor, "^Z", "cipherdata-suspend", "Suspend the shell") { _, _ in
      raise(SIGTSTP)
      return UInt8(CC_REDISPLAY)
    }
  }

  deinit {
    el_end(editor)
    history_end(history)
    free(prompt)
  }

  func next(prompt text: String) throws -> ShellLine {
    isAbandoned = false
    if let copy = strdup(text) {
      free(prompt)
      prompt = copy
    }
    var count: Int32 = 0
    let typed = el_gets(editor, &count)
    if isAbandoned { return .abandoned }
    guard let typed, count > 0 else {
      LineEditor.write("\n")
      return .end
    }
    return .text(String(decoding: UnsafeRawBufferPointer(start: typed, count: Int(count)), as: UTF8.self).trimmingLineEnd)
  }

  func remember(_ line: String) {
    cipherdata_history_add(history, line)
    file?.append(line)
  }

  // MARK: Keys

  private static func of(_ editor: OpaquePointer?) -> LineEditor? {
    guard let editor, let client = cipherdata_edit_client(editor) else { return nil }
    // The pointer that `init` stored: the editor calls back only while this object is alive.
    return Unmanaged<LineEditor>.fromOpaque(client).takeUnretainedValue()
  }

  private func abandon() -> UInt8 {
    LineEditor.write("^C\n")
    isAbandoned = true
    return UInt8(CC_NEWLINE)
  }

  private func complete() -> UInt8 {
    guard let line = el_line(editor)?.pointee, let start = line.buffer, let cursor = line.cursor else { return UInt8(CC_ERROR) }
    let before = String(decoding: UnsafeRawBufferPointer(start: start, count: cursor - start), as: UTF8.self)
    let completions = completer(before)
    if !completions.insertion.isEmpty {
      return el_insertstr(editor, completions.insertion) == 0 ? UInt8(CC_REFRESH) : UInt8(CC_ERROR)
    }
    guard completions.candidates.count > 1 else { return UInt8(CC_REFRESH_BEEP) }
    LineEditor.write("\n" + LineEditor.columns(completions.candidates, width: Terminal.width(STDOUT_FILENO)))
    return UInt8(CC_REDISPLAY)
  }

  /// Returns words in as many columns as fit the terminal, sorted downwards.
  static func columns(_ words: [String], width: Int) -> String {
    let column = (words.map { DisplayWidth.of($0) }.max() ?? 0) + 2
    let columns = max(width / column, 1)
    let rows = (words.count + columns - 1) / columns
    return (0..<rows).map { row in
      let line = stride(from: row, to: words.count, by: rows).map { words[$0] }
      return line.dropLast().map { $0 + String(repeating: " ", count: column - DisplayWidth.of($0)) }.joined() + (line.last ?? "") + "\n"
    }.joined()
  }

  private static func write(_ text: String) {
    var text = text
    text.withUTF8 { _ = Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
  }
}

extension String {
  /// The text without its line terminator, if any.
  fileprivate var trimmingLineEnd: String {
    var text = self
    while let last = text.last, last.isNewline { text.removeLast() }
    return text
  }
}

/// A history file of shell input, which only its owner can read. The file contains plaintext. Without a file, which is the default, the
/// history ends with the process.
final class ShellHistory {
  private static let longest = 1000
  private let descriptor: Int32
  /// The lines of earlier sessions, oldest first.
  let lines: [String]

  /// Opens or creates a file, and makes it inaccessible to other users.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/cannotCreate``.
  init(path: String) throws {
    descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw ToolError(.cannotCreate, "Cannot open the history \(path): \(String(cString: strerror(errno))).") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, fchmod(descriptor, 0o600) == 0 else {
      close(descriptor)
      throw ToolError(.cannotCreate, "Cannot use \(path) as history: it is not a file of this user.")
    }
    let reader = LineReader(ByteSource(descriptor: descriptor, name: path), longestLine: 1 << 20)
    var lines: [String] = []
    do {
      while let line = try reader.next({ String(decoding: $0, as: UTF8.self) }) { lines.append(line) }
    } catch {
      close(descriptor)
      throw error
    }
    self.lines = lines.suffix(Self.longest)
    // The file is truncated once it has twice the maximum number of lines.
    if lines.count >= 2 * Self.longest, ftruncate(descriptor, 0) == 0 { self.lines.forEach(append) }
  }

  deinit { close(descriptor) }

  /// Appends a line.
  func append(_ line: String) {
    var bytes = Array(line.utf8)
    bytes.append(0x0A)
    bytes.withUnsafeBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
  }
}
