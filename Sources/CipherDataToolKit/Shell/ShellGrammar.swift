import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
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

// MARK: - Commands that change objects

extension ShellGrammar {
  /// `update`.
  struct Update: EntityAction {
    static let configuration = CommandConfiguration(
      abstract: UpdateCommand.configuration.abstract,
      discussion: "Outside a draft, the change is saved immediately. Prints the number of changed objects.")
    @OptionGroup var about: EntityArgument
    @Option(parsing: .unconditional, help: ArgumentHelp("The comma-separated assignments.", valueName: "values")) var set: String
    @OptionGroup var options: BatchOptions

    func perform(in session: ShellSession) async throws {
      let change = try options.change(of: about.entity, set: set)
      try await session.print { try $0.perform(change, named: "update \(change.entityName)") }
    }
  }

  /// `delete`.
  struct Delete: EntityAction {
    static let configuration = CommandConfiguration(
      abstract: DeleteCommand.configuration.abstract,
      discussion: "Outside a draft, the deletion is saved immediately. Prints the number of deleted objects, including cascades.")
    @OptionGroup var about: EntityArgument
    @OptionGroup var options: BatchOptions

    func perform(in session: ShellSession) async throws {
      let change = try options.change(of: about.entity, set: nil)
      try await session.print { try $0.perform(change, named: "delete \(change.entityName)") }
    }
  }

  /// `undo`.
  struct Undo: ShellAction {
    static let configuration = CommandConfiguration(
      abstract: "Undo the last change, and print it.",
      discussion: "Outside a draft, the result is saved immediately, as a new change to the stored state.")

    func perform(in session: ShellSession) async throws { try await session.print { try $0.undo() } }
  }

  /// `redo`.
  struct Redo: ShellAction {
    static let configuration = CommandConfiguration(abstract: "Redo the change that was undone last.")

    func perform(in session: ShellSession) async throws { try await session.print { try $0.redo() } }
  }

  /// `begin`.
  struct Begin: ShellAction {
    static let configuration = CommandConfiguration(
      abstract: "Begin a draft, which collects changes until save or discard.",
      discussion:
        "With --nested, a draft can be nested in another one; save merges it into its parent. Columns of --select are computed from saved values."
    )

    @Flag(help: "Begin a nested draft inside the open one.") var nested = false

    func perform(in session: ShellSession) async throws {
      let nested = nested
      try await session.change { try $0.begin(isNested: nested) }
    }
  }

  /// `save`.
  struct Save: ShellAction {
    static let configuration = CommandConfiguration(
      abstract: "Save the draft, and print the number of changed objects.")

    func perform(in session: ShellSession) async throws { try await session.print { try $0.save() } }
  }

  /// `discard`.
  struct Discard: ShellAction {
    static let configuration = CommandConfiguration(
      abstract: "Discard the draft, and print the number of changed objects.")

    func perform(in session: ShellSession) async throws { try await session.print { $0.discard() } }
  }
}

extension ShellSession {
  /// Performs an operation on unsaved changes, and prints its result.
  fileprivate func print<Result: Sendable & CustomStringConvertible>(_ body: @escaping @Sendable (ShellDrafts) throws -> Result)
    async throws
  {
    let (result, dropped) = try await change { (try body($0), $0.takeUndoObstacle()) }
    let sink = OutputSink()
    try sink.line(result.description)
    try sink.flush()
    if let dropped { Tool.note(dropped) }
  }
}

/// Writes tables of a store's entities and their properties.
struct ModelTables {
  private let context: ManagedObjectContext
  private let model: CompiledModel

  init(_ context: ManagedObjectContext) {
    self.context = context
    model = context.persistentStoreCoordinator.compiledModel
  }

  /// Writes a table of the entities. The number of objects includes subentities.
  func writeEntities(format: OutputFormat, to sink: OutputSink) throws {
    let writer = try format.writer(columns: ["entity", "parent", "objects"], to: sink)
    for entity in model.entities {
      let count = try context.count(for: FetchRequest<ManagedObject>(entityName: entity.name))
      try writer.write([.string(entity.name), entity.parent.map { .string(model.entities[$0].name) } ?? .null, .integer(count)])
    }
    try writer.finish()
    try sink.flush()
  }

  /// Writes a table of an entity's properties, including inherited ones.
  func writeProperties(ofEntity name: String, format: OutputFormat, to sink: OutputSink) throws {
    let entity = try model.requireEntity(named: name)
    let writer = try format.writer(columns: ["property", "type", "notes"], to: sink)
    let unique = entity.uniquenessConstraints.map { $0.map { entity.slots[$0].name } }
    func write(_ property: String, _ type: String, _ notes: [String?]) throws {
      let constraint = unique.first { $0.contains(property) }.map {
        $0.count == 1 ? "unique" : "unique with the others of \($0.joined(separator: ", "))"
      }
      try writer.write([.string(property), .string(type), .string((notes + [constraint]).compactMap { $0 }.joined(separator: "; "))])
    }
    for slot in entity.slots {
      if let relationship = slot.relationship {
        try write(slot.name, "to-one \(model.entities[relationship.destinationEntity].name)", notes(of: relationship))
      } else {
        try write(
          slot.name, slot.attributeType?.rawValue ?? "", [slot.isOptional ? "optional" : nil, slot.isTransient ? "transient" : nil])
      }
    }
    for relationship in entity.toManyRelationships {
      let kind = relationship.isOrdered ? "ordered to-many" : "to-many"
      try write(relationship.name, "\(kind) \(model.entities[relationship.destinationEntity].name)", notes(of: relationship))
    }
    for property in entity.fetchedProperties { try write(property.name, "fetched", []) }
    try writer.finish()
    try sink.flush()
  }

  private func notes(of relationship: CompiledRelationship) -> [String?] {
    let description = relationship.relationshipDescription
    return [
      relationship.isOptional ? "optional" : nil, description.inverseName.map { "inverse \($0)" },
      relationship.deleteRule == .nullify ? nil : "delete rule \(relationship.deleteRule.rawValue)",
    ]
  }
}
