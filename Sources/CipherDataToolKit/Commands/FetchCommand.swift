import ArgumentParser
import ObjectContext
import SQLCipherStore

/// Fetches objects and prints them.
struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Fetch objects and print them.",
    discussion: """
      --where takes Core Data's predicate language over key paths, such as: section.name == "games" AND installedSize > 100000; \
      name BEGINSWITH[cd] "lib"; ANY tags.name == "role::program"; maintainer == nil; priority IN {"required", "important"}; \
      summary SEARCH "text adv* -game" (words, prefixes, excluded words, "\"phrases\"", OR; --sort relevance sorts the best matches first); \
      SUBQUERY(relations, $r, $r.entity == "Dependency" AND ANY $r.alternatives.packageName LIKE "libgtk*").@count == 0.

      --select computes columns, of each object or, with --group-by or a function over many objects, of groups: count, sum, min, max, average \
      and median, such as: --select "maintainer.name, count(name) AS n" --group-by maintainer.name --having "n > 200" --sort "n desc".
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity to fetch, including its subentities.")
  var entity: String

  @OptionGroup
  var options: FetchOptions

  @Flag(help: "Print only the number of results.")
  var count = false

  @Flag(help: "Print how the query would be executed instead of its results: statements, plan, indexes, and slow steps.")
  var explain = false

  @Flag(
    help:
      "Run the query and print, instead of its results, the statements, how often each ran, and the objects that were read one by one."
  )
  var statements = false

  @Option(help: "The output format.")
  var format = OutputFormat.table

  func validate() throws {
    if explain, statements { throw ValidationError("--explain cannot be combined with --statements.") }
  }

  func run() async throws {
    let early = try options.earlyQuery(about: entity)
    let (isCount, isExplained) = (count, explain)
    let (options, entity, format) = (options, entity, format)
    let observer = statements ? SQLObserver() : nil
    try await store.open(isReadOnly: true, observer: observer).run { context in
      observer?.reset()
      let query = try early ?? options.query(about: entity)
      // With `--statements`, only the statements are printed.
      let sink = observer == nil ? OutputSink() : OutputSink.discarding()
      if isExplained {
        try query.writeExplanation(from: context, to: OutputSink())
      } else if isCount {
        try query.writeCount(from: context, to: sink)
      } else {
        try query.write(from: context, format: format, to: sink)
      }
      if let observer { try StatementReport(observer).write(to: OutputSink()) }
    }
  }
}

extension OutputFormat: ExpressibleByArgument {}
