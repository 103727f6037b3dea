import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// A command of the shell.
protocol ShellAction: ParsableCommand {
  /// Performs the command.
  func perform(in session: ShellSession) async throws
}

/// A command on an entity.
protocol EntityAction: ShellAction {
  var about: ShellGrammar.EntityArgument { get }
}

/// The commands of the shell: those of the tool that apply to the session's store.
struct ShellGrammar: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shell", abstract: "Commands. `help fetch` describes one in detail.",
    subcommands: [
      Entities.self, Describe.self, Fetch.self, Count.self, Explain.self, Update.self, Delete.self, Undo.self, Redo.self, Begin.self,
      Save.self, Discard.self,
      Format.self, Quit.self,
    ],
    helpNames: [.long])

  static let commandNames = configuration.subcommands.map(name) + ["help"]

  /// Returns the names of a command's options.
  static func optionNames(of command: String) -> [String] {
    guard let type = configuration.subcommands.first(where: { name(of: $0) == command }) else { return [] }
    // The argument parser provides options only as help text.
    return helpMessage(for: type, columns: 200).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      return line.hasPrefix("  --") && words[0] != "--help" ? String(words[0]) : nil
    }
  }

  /// Returns whether the first argument of a command is an entity.
  static func takesEntity(_ command: String) -> Bool {
    configuration.subcommands.first { name(of: $0) == command } is any EntityAction.Type
  }

  private static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? String(describing: command).lowercased()
  }

  /// Returns the text for a help request.
  static func help(_ request: any Error) -> String {
    // The argument parser takes `shell` for the name of the program.
    fullMessage(for: request).replacing("USAGE: shell ", with: "USAGE: ").replacing("'shell help", with: "'help")
  }

  /// The entity of a command.
  struct EntityArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The entity, including its subentities.", valueName: "entity"))
    var name: String?

    @Option(name: .customLong("entity"), help: "The entity, as the commands of the tool take it.")
    var option: String?

    var entity: String { name ?? option ?? "" }

    func validate() throws {
      if (name == nil) == (option == nil) { throw ValidationError("Name one entity, after the command or with --entity.") }
    }
  }

  /// `entities`.
  struct Entities: ShellAction {
    static let configuration = CommandConfiguration(abstract: "List the entities with their number of objects.")
    @Option(help: "The output format.") var format: OutputFormat?

    func perform(in session: ShellSession) async throws {
      let format = format ?? session.format
      try await session.runQuery { try ModelTables($0).writeEntities(format: format, to: OutputSink()) }
    }
  }

  /// `describe`.
  struct Describe: EntityAction {
    static let configuration = CommandConfiguration(abstract: "List the properties of an entity.")
    @OptionGroup var about: EntityArgument
    @Option(help: "The output format.") var format: OutputFormat?

    func perform(in session: ShellSession) async throws {
      let format = format ?? session.format
      let name = about.entity
      try await session.runQuery { try ModelTables($0).writeProperties(ofEntity: name, format: format, to: OutputSink()) }
    }
  }

  /// `fetch`.
  struct Fetch: EntityAction {
    static let configuration = CommandConfiguration(
      abstract: FetchCommand.configuration.abstract, discussion: FetchCommand.configuration.discussion)
    @OptionGroup var about: EntityArgument
    @OptionGroup var options: FetchOptions
    @Option(help: "The output format.") var format: OutputFormat?

    func perform(in session: ShellSession) async throws {
      let format = format ?? session.format
      let query = try query()
      try await session.runQuery { try query.write(from: $0, format: format, to: OutputSink()) }
    }

    /// Returns the parsed query.
    func query() throws -> FetchQuery { try options.query(about: about.entity) }
  }

  /// `count`.
  struct Count: EntityAction {
    static let configuration = CommandConfiguration(abstract: "Print the number of results of `fetch`.")
    @OptionGroup var about: EntityArgument
    @OptionGroup var options: FetchOptions

    func perform(in session: ShellSession) async throws {
      let query = try options.query(about: about.entity)
      try await session.runQuery { try query.writeCount(from: $0, to: OutputSink()) }
    }
  }

  /// `explain`.
  struct Explain: EntityAction {
    static let configuration = CommandConfiguration(
      abstract: "Print how `fetch` would be executed: statements, plan, indexes, and slow steps.")
    @OptionGroup var about: EntityArgument
    @OptionGroup var options: FetchOptions

    func perform(in session: ShellSession) async throws {
      let query = try options.query(about: about.entity)
      try await session.runQuery { try query.writeExplanation(from: $0, to: OutputSink()) }
    }
  }

  /// `format`.
  struct Format: ShellAction {
    static let configuration = CommandConfiguration(abstract: "Set the output format of the following lines, or print it.")
    @Argument(help: "The form.") var format: OutputFormat?

    func perform(in session: ShellSession) async throws {
      if let format { session.format = format } else { Tool.print(session.format.rawValue, to: STDOUT_FILENO) }
    }
  }

  /// `quit`.
  struct Quit: ShellAction {
    static let configuration = CommandConfiguration(abstract: "Leave the shell, as Ctrl-D does.", aliases: ["exit"])

    func perform(in session: ShellSession) async throws { session.leave() }
  }
}
