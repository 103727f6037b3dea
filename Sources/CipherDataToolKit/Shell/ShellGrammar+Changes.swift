import ArgumentParser
import ObjectContext

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
