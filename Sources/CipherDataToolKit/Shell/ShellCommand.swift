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
