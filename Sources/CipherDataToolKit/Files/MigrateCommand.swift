import ArgumentParser
import CipherData
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore

/// Migrates a store to a newer version of its model.
struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Migrate a store to a newer version of its model.",
    discussion: """
      The store contains its model; the migration is inferred from both models. It takes effect completely or not at all. --dry-run \
      prints the steps with the number of affected rows, and changes nothing.

        cipherdata migrate library.store --model Library.xcdatamodeld --dry-run
        cipherdata migrate library.store --model Library.xcdatamodeld --stages --dry-run
        cipherdata migrate library.store --model Library.xcdatamodeld --backup before.store
        cipherdata migrate library.store --model Library.xcdatamodeld --defer
        cipherdata migrate library.store --finish
      """)

  @OptionGroup var store: StoreOptions

  @Option(help: ArgumentHelp("The newer model: an .xcdatamodeld or .xcdatamodel.", valueName: "model"), completion: .file())
  var model: String?

  @Option(help: ArgumentHelp("A version of the bundle; by default, the current one.", valueName: "name"))
  var version: String?

  @OptionGroup var strict: StrictOption

  @Flag(help: "Migrate through the bundle's versions one by one, in the order of their names, instead of directly to the newer model.")
  var stages = false

  @Option(
    help: ArgumentHelp(
      "Copy the store to this file first. It must not exist, except as the copy of a killed migration.", valueName: "file"))
  var backup: String?

  @Flag(help: "Print the plan without changing anything.")
  var dryRun = false

  @Flag(name: .customLong("sql"), help: "With --dry-run: also print the SQL statements.")
  var showsStatements = false

  @Flag(name: .customLong("defer"), help: "Defer costly cleanup until --finish.")
  var defersCleanUp = false

  @Flag(help: "Perform the cleanup that an earlier migration deferred.")
  var finish = false

  @OptionGroup var author: AuthorOptions

  func validate() throws {
    guard finish == (model == nil) else {
      throw ValidationError(finish ? "--finish cannot be combined with --model." : "Specify --model or --finish.")
    }
    if author.author != nil, dryRun || finish {
      throw ValidationError("--author cannot be combined with --dry-run or --finish, which record no history.")
    }
    if finish, dryRun || defersCleanUp || backup != nil || version != nil || stages {
      throw ValidationError("--finish cannot be combined with other options.")
    }
    if showsStatements, !dryRun { throw ValidationError("--sql requires --dry-run.") }
    if stages, let model, URL(fileURLWithPath: model).pathExtension != "xcdatamodeld" {
      throw ValidationError("--stages needs an .xcdatamodeld, which has several versions.")
    }
    if dryRun, backup != nil { throw ValidationError("--backup cannot be combined with --dry-run.") }
  }

  func run() async throws {
    let sink = OutputSink()
    if let model {
      // Report errors in the model before requesting a passphrase.
      let newer = try CompiledModel(try ModelCommand.model(model, version: version, strict: strict.strict))
      // An existing file may be the copy of an interrupted migration; the keys are needed to find out.
      if let backup { try PathCheck.checkFolder(of: backup) }
      let file = try await store.unlock()
      try ModelFindings.reportRenamings(
        of: newer.model, at: try ModelCommand.url(model, version: version), from: try await file.readModel(), strict: strict.strict)
      if dryRun {
        let plan = try await file.migrationPlan(to: newer, with: try description(of: file, model))
        try sink.write(Self.text(of: plan, withStatements: showsStatements))
        try sink.flush()
        if !plan.isPossible { throw ToolError(.badData, "The store cannot be migrated to this model.") }
        return
      }
      try await migrate(file, to: newer, try description(of: file, model), sink)
    } else {
      try await finishDeferred(try await store.unlock(), sink)
    }
    try sink.flush()
  }

  /// Returns the description with which the store is opened or would be opened.
  private func description(of file: SQLCipherStoreFile, _ model: String) throws -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: file.url, key: file.key)
    description.createsStore = false
    description.defersLightweightMigration = defersCleanUp
    description.migrationAuthor = author.author
    if stages { description.stagedMigrationManager = StagedMigrationManager(try VersionedModel(contentsOf: .path(model))) }
    return description
  }

  private func migrate(
    _ file: SQLCipherStoreFile, to model: CompiledModel, _ description: PersistentStoreDescription, _ sink: OutputSink
  ) async throws {
    let comparison = try await file.comparison(with: model)
    // The plan of a direct migration does not describe a staged one.
    let isStaged = stages && !comparison.fits
    let differences = isStaged ? try await file.migrationPlan(to: model, with: description).changes : comparison.changes
    let changes = differences.map { TableWriter.printable($0.description) }
    guard !comparison.fits else { return try await renew(file, model, changes, description, sink) }
    let progress = SharedProgress("Migrating")
    var description = description
    description.migrationBackupURL = backup.map { .path($0) }
    description.namesMigrationBackupExactly = true
    description.migrationProgress = { step in progress.show(step.fractionCompleted) }
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    let opened: PersistentStore
    do {
      opened = try await coordinator.addPersistentStore(with: description)
    } catch {
      progress.finish()
      throw error
    }
    progress.finish()
    let hasDeferred = !opened.metadata.deferredMigrationTasks.isEmpty
    try coordinator.remove(opened)
    for change in changes { try sink.line(change) }
    try sink.line("Migrated.")
    if hasDeferred { Tool.note("Cleanup was deferred; run it with: cipherdata migrate \(store.store) --finish") }
  }

  /// Updates the stored model when the versions differ only in indexes, derivations, rules or user info, which requires no migration.
  private func renew(
    _ file: SQLCipherStoreFile, _ model: CompiledModel, _ changes: [String], _ description: PersistentStoreDescription, _ sink: OutputSink
  ) async throws {
    if changes.isEmpty { return try sink.line("Nothing to do: the store matches the model.") }
    if let backup { try await file.backUp(to: .path(backup)) }
    var description = description
    description.renewsModel = true
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    try coordinator.remove(try await coordinator.addPersistentStore(with: description))
    for change in changes { try sink.line(change) }
    try sink.line("The store matches the model. It adopted the changes.")
  }

  /// Returns a description of the model's changes and of the migration plan, with its SQL statements on request.
  static func text(of plan: MigrationPlan, withStatements: Bool) -> String {
    let shown = withStatements ? plan : plan.withoutStatements
    let changes = plan.changes.filter { change in !plan.obstacles.contains(change) }.map(\.description)
    let lines = changes + shown.description.split(separator: "\n").map(String.init)
    return lines.map { TableWriter.printable($0) + "\n" }.joined()
  }

  private func finishDeferred(_ file: SQLCipherStoreFile, _ sink: OutputSink) async throws {
    var description = PersistentStoreDescription(url: file.url, key: file.key)
    description.createsStore = false
    var count = 0
    try await file.withStoredModel { model in
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
      let opened = try await coordinator.addPersistentStore(with: description)
      while try coordinator.finishDeferredLightweightMigrationTask() { count += 1 }
      try coordinator.remove(opened)
    }
    try sink.line(count == 0 ? "Nothing was deferred." : count == 1 ? "One task done." : "\(count) tasks done.")
  }
}
