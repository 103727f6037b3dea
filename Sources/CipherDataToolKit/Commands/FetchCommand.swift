// FetchCommand: `cipherdata fetch`.
import ArgumentParser
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// Finds objects and prints them.
struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Find objects and print them.",
    discussion: """
      --where takes Core Data's predicate language over key paths, such as: section.name == "games" AND installedSize > 100000; \
      name BEGINSWITH[cd] "lib"; ANY tags.name == "role::program"; maintainer == nil; priority IN {"required", "important"}.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity whose objects are wanted, those of entities below it included.")
  var entity: String

  @Option(name: .customLong("where"), parsing: .unconditional, help: ArgumentHelp("The condition.", valueName: "predicate"))
  var condition: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("The order: key paths parted by commas, - before one for descending.", valueName: "keys"))
  var sort: String?

  @Option(help: "The greatest number of results.")
  var limit: Int?

  @Option(help: "How many results are left out first.")
  var offset: Int?

  @Option(help: ArgumentHelp("The columns: key paths parted by commas; @count, @entity and @id may end one.", valueName: "paths"))
  var properties: String?

  @Flag(help: "Print the number of results only.")
  var count = false

  @Option(help: "The form of the output.")
  var format = OutputFormat.table

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
    if let offset, offset < 0 { throw ValidationError("--offset must be 0 or more.") }
  }

  func run() async throws {
    var specification = FetchSpecification(entityName: entity)
    specification.predicate = try condition.map { try FetchPredicate(format: $0) }
    specification.sortDescriptors = try sort.map(ResultFetcher.sortDescriptors) ?? []
    specification.fetchLimit = limit ?? 0
    specification.fetchOffset = offset ?? 0
    let request = specification
    let isCount = count
    let format = format
    let paths = properties?.split(separator: ",").map { $0.filter { $0 != " " } }
    try await store.open(isReadOnly: true).run { context in
      let fetcher = ResultFetcher(context)
      let sink = OutputSink()
      let entity = try fetcher.entity(named: request.entityName)
      if isCount {
        var counted = FetchRequest<ManagedObject>(entityName: request.entityName)
        counted.specification = request
        try sink.line(String(try context.count(for: counted)))
        try sink.flush()
      } else {
        try fetcher.write(request, paths: paths ?? fetcher.defaultPaths(of: entity), format: format, to: sink)
      }
    }
  }
}

extension OutputFormat: ExpressibleByArgument {}
