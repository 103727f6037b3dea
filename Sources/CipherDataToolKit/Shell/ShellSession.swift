// ShellSession: the shell's loop, and what it keeps from line to line.
import ArgumentParser
import Foundation
import ObjectContext

/// A session on an open store.
final class ShellSession {
  /// The open store.
  let container: PersistentContainer
  /// The form of the output of commands that do not name one.
  var format: OutputFormat
  /// Whether somebody sits at the keyboard.
  let isInteractive: Bool
  private let interruption: Interruption?
  /// Whether the session goes on.
  var goesOn = true

  init(_ container: PersistentContainer, format: OutputFormat, isInteractive: Bool) {
    self.container = container
    self.format = format
    self.isInteractive = isInteractive
    interruption = isInteractive ? Interruption() : nil
  }

  /// Takes lines until there are none.
  ///
  /// - Returns: For lines of a file or pipe, the status of the first that failed.
  func run(_ input: any LineInput) async throws -> ExitStatus {
    var first = ExitStatus.success
    var number = 0
    while goesOn {
      guard case let line = try input.next(), line != .end else { break }
      number += 1
      guard case .text(let text) = line else { continue }
      guard let start = text.first(where: { !$0.isWhitespace }), start != "#" else { continue }
      input.remember(text)
      guard let failure = await perform(text) else { continue }
      // The message stands where the user looks: below the line just typed.
      Tool.print(isInteractive ? failure.message : "cipherdata: line \(number): \(failure.message)", to: STDERR_FILENO)
      if first == .success { first = failure.status }
    }
    return isInteractive ? .success : first
  }

  /// Performs a line.
  ///
  /// - Returns: How it failed; nil when it did not.
  func perform(_ line: String) async -> Ending? {
    do {
      let command = try ShellGrammar.parseAsRoot(try ShellWords.split(line))
      if let action = command as? any ShellAction {
        try await action.perform(in: self)
      } else {
        var command = command
        try command.run()
      }
      return nil
    } catch let error where Tool.isOfParser(error) {
      if ShellGrammar.exitCode(for: error) != .success { return Ending(.usage, ShellGrammar.message(for: error)) }
      Tool.print(ShellGrammar.help(error), to: STDOUT_FILENO)
      return nil
    } catch {
      return Ending(error)
    }
  }

  /// Runs work with a context of its own. At the keyboard Ctrl-C calls it off.
  func perform<Result: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> Result) async throws -> Result {
    guard let interruption else { return try await container.performBackgroundTask(body) }
    return try await interruption.cancelling(Task { [container] in try await container.performBackgroundTask(body) })
  }
}
