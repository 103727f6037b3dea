import ArgumentParser
import ObjectContext

/// Sets properties of many objects.
struct UpdateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Set properties of all objects that match a condition, and print their number.",
    discussion: """
      --set takes new values, constant or computed of each object as it was before, such as: summary = nil, name = uppercase(name), \
      installedSize = installedSize * 2. A to-one relationship takes nil or an object's URI, as the column @id of fetch shows it. \
      Either all objects are changed or none. The model's validation rules apply.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity to update, including its subentities.")
  var entity: String

  @Option(parsing: .unconditional, help: ArgumentHelp("The comma-separated assignments.", valueName: "values"))
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
    commandName: "delete", abstract: "Delete all objects that match a condition, and print their number.",
    discussion: """
      The model's delete rules apply: objects that a cascade rule reaches are deleted and counted too, and a deny rule stops the whole \
      deletion. --dry-run counts only the objects that match the condition.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity to delete from, including its subentities.")
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
