import ArgumentParser
import ObjectContext

/// Sets properties of many objects.
struct UpdateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Set properties of all objects that meet a condition, and print their number.",
    discussion: """
      --set takes new values, constant or computed of each object as it was before, such as: summary = nil, name = uppercase(name), \
      installedSize = installedSize * 2. A to-one relationship takes nil or an object's URI, as the column @id of fetch shows it. All objects are \
      changed or none; the model's rules hold.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity whose objects are changed, those of entities below it included.")
  var entity: String

  @Option(parsing: .unconditional, help: ArgumentHelp("The new values, parted by commas.", valueName: "values"))
  var set: String

  @OptionGroup
  var options: BatchOptions

  @OptionGroup
  var author: AuthorOptions

  func run() async throws {
    let early = try options.earlyChange(of: entity, set: set)
    let (options, entity, set, author) = (options, entity, set, author.author)
    try await store.open(isReadOnly: options.dryRun).run { context in
      context.transactionAuthor = author
      try (early ?? options.change(of: entity, set: set)).run(in: context, to: OutputSink())
    }
  }
}

/// Deletes many objects.
struct DeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete all objects that meet a condition, and print how many were deleted.",
    discussion: """
      The model's delete rules hold: objects to which a rule cascades are deleted and counted too, and a rule that denies stops everything. \
      --dry-run counts the objects that meet the condition only.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity whose objects are deleted, those of entities below it included.")
  var entity: String

  @OptionGroup
  var options: BatchOptions

  @OptionGroup
  var author: AuthorOptions

  func run() async throws {
    let early = try options.earlyChange(of: entity, set: nil)
    let (options, entity, author) = (options, entity, author.author)
    try await store.open(isReadOnly: options.dryRun).run { context in
      context.transactionAuthor = author
      try (early ?? options.change(of: entity, set: nil)).run(in: context, to: OutputSink())
    }
  }
}
