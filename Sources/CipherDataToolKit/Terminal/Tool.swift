import ArgumentParser
import Dispatch
import Foundation
import ObjectModel
import Synchronization

/// The tool without its process: its version and its messages on standard error.
package enum Tool {
  /// The version that `--version` prints.
  package static let version = "0.1.0"

  /// Returns whether an error is from the argument parser: invalid arguments or a help request.
  static func isOfParser(_ error: any Error) -> Bool {
    if error is ArgumentParser.ValidationError || error is CleanExit { return true }
    // The parser's own error type is not public.
    return String(reflecting: type(of: error)).hasPrefix("ArgumentParser.")
  }

  /// Writes a line to a descriptor.
  static func print(_ text: String, to descriptor: Int32) { write(text + "\n", to: descriptor) }

  /// Writes text to a descriptor.
  static func write(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { _ = Foundation.write(descriptor, $0.baseAddress, $0.count) }
  }

  /// Writes a message to standard error.
  static func note(_ text: String) { print("cipherdata: \(text)", to: STDERR_FILENO) }
}

extension Tool {
  /// Opens closed standard descriptors on `/dev/null`. Otherwise, the next opened file would get such a number and receive the terminal's
  /// output. Reading from or writing to such a descriptor still fails.
  package static func keepStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // `open` returns the lowest free number, which is this one: those before are open.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Rejects arguments that are not valid UTF-8, which would name a different file than the intended one.
  ///
  /// - Returns: The exit status; `nil` if all arguments are valid.
  package static func statusWithoutText() -> Int32? {
    for number in 0..<Int(CommandLine.argc) {
      guard let argument = CommandLine.unsafeArgv[number] else { continue }
      if String(validatingCString: argument) == nil {
        print(
          "cipherdata: Argument \(number) is not UTF-8: \(TableWriter.printable(String(cString: argument))). Rename files with such names.",
          to: STDERR_FILENO)
        return ExitStatus.usage.rawValue
      }
    }
    return nil
  }
}

/// Suggestions for mistyped commands. The argument parser would report the name as an unexpected argument.
enum CommandNames {
  /// Returns a message about an unknown command at the start of the arguments; `nil` if there is none.
  static func objection(to arguments: [String], of root: any ParsableCommand.Type) -> String? {
    var command = root
    var isRoot = true
    for word in arguments {
      let subcommands = command.configuration.subcommands
      guard !subcommands.isEmpty, !word.hasPrefix("-") else { return nil }
      // The arguments of `help` are names of commands.
      if word == "help", isRoot { continue }
      guard let next = subcommands.first(where: { names(of: $0).contains(word) }) else {
        let shown = subcommands.filter { $0.configuration.shouldDisplay }
        let known = shown.flatMap { names(of: $0) } + (isRoot ? ["help"] : [])
        let owner = isRoot ? "" : "\(name(of: command)) "
        guard let close = SimilarName.of(word, among: known) else {
          return "There is no command “\(owner)\(word)”; the commands are \(known.joined(separator: ", "))."
        }
        return "There is no command “\(owner)\(word)”; did you mean “\(owner)\(close)”?"
      }
      (command, isRoot) = (next, false)
    }
    return nil
  }

  private static func names(of command: any ParsableCommand.Type) -> [String] { [name(of: command)] + command.configuration.aliases }

  private static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? String(describing: command).lowercased()
  }
}

/// Cancels the current task when the terminal sends an interrupt, without ending the process.
final class Interruption {
  /// The current task.
  private final class Current: Sendable {
    let cancel = Mutex<(@Sendable () -> Void)?>(nil)
  }
  /// A signal handler can do little more than write a byte; the reader of the pipe has no such restrictions.
  private static let pipe: (reading: Int32, writing: Int32) = {
    var ends: [Int32] = [-1, -1]
    return Foundation.pipe(&ends) == 0 ? (ends[0], ends[1]) : (-1, -1)
  }()
  private let current = Current()
  private let source: (any DispatchSourceRead)?

  init() {
    let descriptor = Self.pipe.reading
    source = descriptor < 0 ? nil : DispatchSource.makeReadSource(fileDescriptor: descriptor)
    source?.setEventHandler { [current] in
      var byte: UInt8 = 0
      _ = read(descriptor, &byte, 1)
      current.cancel.withLock { $0 }?()
    }
    source?.activate()
  }

  deinit { source?.cancel() }

  /// Waits for a task, which an interrupt cancels.
  func cancelling<Result: Sendable>(_ work: Task<Result, any Error>) async throws -> Result {
    guard source != nil else { return try await work.value }
    current.cancel.withLock { $0 = { work.cancel() } }
    signal(SIGINT) { _ in
      var byte: UInt8 = 0
      _ = write(Interruption.pipe.writing, &byte, 1)
    }
    defer {
      signal(SIGINT, SIG_DFL)
      current.cancel.withLock { $0 = nil }
    }
    return try await work.value
  }
}
