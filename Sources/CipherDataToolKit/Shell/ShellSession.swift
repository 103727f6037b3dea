import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// Reads commands line by line, with the store open.
struct ShellCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shell", abstract: "Query a store interactively, with completion and history.",
    discussion: """
      The commands are those of the tool without the store, such as: fetch Package --where section.name == "games" --limit 5. What follows an \
      option is its value up to the next option, so that predicates need no second quoting. Tab completes commands, entities, properties and \
      options; Ctrl-C cancels a line or a running command; Ctrl-D leaves.

      Changes by update and delete are saved immediately; undo reverts them. After begin, changes are collected in a draft until save \
      or discard. The prompt shows their number.

      Lines may also come from a file or a pipe: echo 'count Package' | cipherdata shell archive.store. The shell continues after an \
      error, and exits with the status of the first one.
      """)

  @OptionGroup
  var store: StoreOptions

  @Flag(help: "Open the store read-only.")
  var readOnly = false

  @OptionGroup
  var author: AuthorOptions

  @Option(help: "The output format, which the command `format` changes.")
  var format = OutputFormat.table

  @Option(
    help: ArgumentHelp(
      "Save the lines typed to a file, NOT ENCRYPTED, for later sessions. By default, they are kept only in memory.", valueName: "file"))
  var history: String?

  func run() async throws {
    let container = try await store.open(isReadOnly: readOnly)
    defer { try? container.close() }
    let model = container.persistentStoreCoordinator.compiledModel
    let input: any LineInput
    let isInteractive = Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDOUT_FILENO)
    if isInteractive {
      let name = TableWriter.printable(container.name)
      Tool.note("\(name) is open\(readOnly ? " for reading" : ""). Type help for the commands, Ctrl-D to leave.")
      let completion = ShellCompletion(model)
      input = try LineEditor(history: history.map { try ShellHistory(path: $0) }, completer: completion.completions)
    } else {
      input = PlainLineInput(ByteSource(descriptor: STDIN_FILENO, name: "standard input"))
    }
    let session = ShellSession(container, author: author.author, format: format, isInteractive: isInteractive)
    let status = try await session.run(input)
    if status != .success { throw ExitCode(status.rawValue) }
  }
}

/// A shell session on an open store.
final class ShellSession {
  let container: PersistentContainer
  /// The default output format.
  var format: OutputFormat
  /// Whether input comes from a user at a terminal.
  let isInteractive: Bool
  /// The author of changes for the store's history.
  private let author: String?
  private let interruption: Interruption?
  /// Owns the contexts, which persist from line to line.
  private let contextActor: ContextActor
  /// The state after the last line.
  private var state = ShellDrafts.State()
  /// Whether the session continues.
  private var isRunning = true
  /// Whether the user has been warned about unsaved changes when leaving.
  private var wasWarned = false

  init(_ container: PersistentContainer, author: String?, format: OutputFormat, isInteractive: Bool) {
    self.container = container
    self.author = author
    self.format = format
    self.isInteractive = isInteractive
    interruption = isInteractive ? Interruption() : nil
    contextActor = ContextActor(container: container)
  }

  /// Performs lines until the input ends.
  ///
  /// - Returns: For a file or pipe, the status of the first line that failed.
  func run(_ input: any LineInput) async throws -> ExitStatus {
    var first = ExitStatus.success
    var number = 0
    let author = author
    await contextActor.perform { $0.transactionAuthor = author }
    while isRunning {
      let line = try input.next(prompt: prompt)
      if line == .end {
        leave()
        // A pipe has no more lines.
        if isInteractive { continue } else { break }
      }
      number += 1
      guard case .text(let text) = line else { continue }
      guard let start = text.first(where: { !$0.isWhitespace }), start != "#" else { continue }
      input.remember(text)
      guard let failure = await perform(text) else { continue }
      // On a terminal, the message appears directly below the line just typed.
      Tool.print(isInteractive ? failure.message : "cipherdata: line \(number): \(failure.message)", to: STDERR_FILENO)
      if first == .success { first = failure.status }
    }
    try await end()
    return isInteractive ? .success : first
  }

  /// The store's name and the state of unsaved changes.
  private var prompt: String {
    let name = TableWriter.printable(container.name)
    var notes: [String] = []
    if state.draftCount > 0 { notes.append(state.draftCount == 1 ? "draft" : "draft \(state.draftCount)") }
    if state.unsavedCount > 0 { notes.append("\(state.unsavedCount) unsaved") }
    return notes.isEmpty ? "\(name)> " : "\(name) (\(notes.joined(separator: ", ")))> "
  }

  /// Ends the session after this line. On a terminal, the user must confirm once if there are unsaved changes.
  func leave() {
    if isInteractive, state.unsavedCount > 0, !wasWarned {
      wasWarned = true
      Tool.note("\(state.unsavedCount) objects have unsaved changes: save them, or leave once more to discard them.")
      return
    }
    isRunning = false
  }

  private func end() async throws {
    if !isInteractive, state.unsavedCount > 0 {
      Tool.note("The unsaved changes of \(state.unsavedCount) objects are discarded.")
    }
    await contextActor.perform { ShellDrafts.over($0).end() }
  }

  /// Performs a line.
  ///
  /// - Returns: The error; `nil` on success.
  func perform(_ line: String) async -> ExitReport? {
    do {
      let words = try ShellTokenizer.split(line)
      if let objection = CommandNames.objection(to: words, of: ShellGrammar.self) { throw ToolError(.usage, objection) }
      let command = try ShellGrammar.parseAsRoot(words)
      if let action = command as? any ShellAction {
        try await action.perform(in: self)
      } else {
        var command = command
        try command.run()
      }
      return nil
    } catch let error where Tool.isOfParser(error) {
      if ShellGrammar.exitCode(for: error) != .success { return ExitReport(.usage, ShellGrammar.message(for: error)) }
      Tool.print(ShellGrammar.help(error), to: STDOUT_FILENO)
      return nil
    } catch {
      return ExitReport(error)
    }
  }

  /// Runs a query in a new context, which includes unsaved changes. On a terminal, Ctrl-C cancels it.
  func runQuery<Result: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> Result) async throws -> Result {
    try await perform { try body($0.makeReader()) }
  }

  /// Performs an operation on unsaved changes or in the store. On a terminal, Ctrl-C cancels it.
  ///
  /// - Returns: The closure's result.
  func change<Result: Sendable>(_ body: @escaping @Sendable (ShellDrafts) throws -> Result) async throws -> Result {
    wasWarned = false
    do {
      let result = try await perform(body)
      state = await contextActor.perform { ShellDrafts.over($0).state }
      return result
    } catch {
      state = await contextActor.perform { ShellDrafts.over($0).state }
      throw error
    }
  }

  private func perform<Result: Sendable>(_ body: @escaping @Sendable (ShellDrafts) throws -> Result) async throws -> Result {
    let contextActor = contextActor
    let work = Task { try await contextActor.perform { try body(ShellDrafts.over($0)) } }
    guard let interruption else { return try await work.value }
    return try await interruption.cancelling(work)
  }
}
