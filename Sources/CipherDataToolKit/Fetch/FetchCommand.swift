import ArgumentParser
package import ObjectContext
import ObjectModel
package import ObjectQuery
import ObjectStore
package import SQLCipherStore

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

/// The options of `fetch` in the tool and its shell.
struct FetchOptions: ParsableArguments {
  @Option(name: .customLong("where"), parsing: .unconditional, help: ArgumentHelp("The condition.", valueName: "predicate"))
  var condition: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Comma-separated computed columns: section.name, count(name) AS n, length(name).", valueName: "values"))
  var select: String?

  @Option(help: ArgumentHelp("Group objects with the same values of these expressions into one result.", valueName: "values"))
  var groupBy: String?

  @Option(parsing: .unconditional, help: ArgumentHelp("The condition on groups; selected columns can be used.", valueName: "predicate"))
  var having: String?

  @Flag(help: "Remove duplicate rows.")
  var distinct = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The sort order: comma-separated key paths, computed values or selected names, each followed by asc or desc, or preceded by - for desc; relevance ranks by the SEARCH of --where.",
      valueName: "keys"))
  var sort: String?

  @Option(help: "The maximum number of results.")
  var limit: Int?

  @Option(help: "The number of results to skip.")
  var offset: Int?

  @Option(
    help: ArgumentHelp(
      "Comma-separated columns of each object: key paths, also through to-many relationships, which can end in @count, @entity or @id.",
      valueName: "paths"))
  var properties: String?

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
    if let offset, offset < 0 { throw ValidationError("--offset must be 0 or more.") }
    if properties != nil, select != nil || groupBy != nil || having != nil || distinct {
      throw ValidationError("--properties reads columns of single objects: use --select with --group-by, --having and --distinct.")
    }
    if distinct, select == nil { throw ValidationError("--distinct needs --select.") }
    if having != nil, select == nil, groupBy == nil { throw ValidationError("--having needs --select or --group-by.") }
  }

  /// Returns the query for an entity if it can be parsed before the store is open.
  func earlyQuery(about entity: String) throws -> FetchQuery? {
    try OptionText.early([condition, select, groupBy, having, sort]) { try query(about: entity) }
  }

  /// Returns the query for an entity.
  func query(about entity: String) throws -> FetchQuery {
    var specification = FetchSpecification(entityName: entity)
    specification.predicate = try condition.map { try OptionText.predicate($0, option: "--where") }
    specification.propertiesToFetch = try select.map { try OptionText.properties($0, option: "--select") } ?? []
    specification.propertiesToGroupBy = try groupBy.map { try OptionText.properties($0, option: "--group-by") } ?? []
    specification.havingPredicate = try having.map { try OptionText.predicate($0, option: "--having") }
    specification.returnsDistinctResults = distinct
    let relevance = specification.predicate?.searchRelevance
    specification.sortDescriptors = try sort.map { try OptionText.sortDescriptors($0, relevance: relevance) } ?? []
    specification.fetchLimit = limit ?? 0
    specification.fetchOffset = offset ?? 0
    specification.resultType = select == nil && groupBy == nil ? .objectIDs : .dictionaries
    return FetchQuery(specification: specification, paths: properties?.split(separator: ",").map { $0.filter { $0 != " " } })
  }
}

/// A query that can run in any context.
package struct FetchQuery: Sendable {
  /// The request: for IDs, whose objects are then read in batches, or for dictionaries.
  package var specification: FetchSpecification
  /// The columns of objects; `nil` for all attributes.
  package var paths: [String]?

  /// Creates a query for objects.
  package init(specification: FetchSpecification, paths: [String]? = nil) {
    self.specification = specification
    self.paths = paths
  }

  /// Writes the results.
  package func write(from context: ManagedObjectContext, format: OutputFormat, to sink: OutputSink) throws {
    let fetcher = ResultFetcher(context)
    let entity = try fetcher.entity(named: specification.entityName)
    if specification.resultType == .dictionaries { return try fetcher.writeComputed(specification, format: format, to: sink) }
    try fetcher.write(specification, paths: paths ?? fetcher.defaultPaths(of: entity), format: format, to: sink)
  }

  /// Writes the number of results.
  package func writeCount(from context: ManagedObjectContext, to sink: OutputSink) throws {
    try sink.line(String(try context.count(for: try request(in: context))))
    try sink.flush()
  }

  /// Writes the explanation of how the store executes the query.
  package func writeExplanation(from context: ManagedObjectContext, to sink: OutputSink) throws {
    try sink.line(String(describing: try context.explain(try request(in: context))))
    try sink.flush()
  }

  private func request(in context: ManagedObjectContext) throws -> FetchRequest<ManagedObjectID> {
    _ = try ResultFetcher(context).entity(named: specification.entityName)
    var request = FetchRequest<ManagedObjectID>(entityName: specification.entityName)
    request.specification = specification
    return request
  }
}

/// A report on the SQL statements of a query: how often each ran, and which objects were read individually.
package struct StatementReport {
  private let statements: [String]
  private let faultReads: [FaultReads]

  /// Creates a report from the events that an observer recorded.
  package init(_ observer: SQLObserver) {
    statements = observer.statements
    faultReads = observer.faultReads
  }

  /// Writes the statements in the order of their first run, then the reads of single objects after the fetch, then advice on prefetching.
  package func write(to sink: OutputSink) throws {
    var times: [String: Int] = [:]
    var order: [String] = []
    for text in statements {
      let text = Self.shortened(text)
      if times.updateValue(times[text, default: 0] + 1, forKey: text) == nil { order.append(text) }
    }
    let table = TableWriter(columns: ["times", "statement"], to: sink)
    for text in order { try table.write([.number(String(times[text] ?? 0)), .string(text)]) }
    try table.finish()
    if !faultReads.isEmpty {
      try sink.line("")
      let table = TableWriter(columns: ["read after the fetch", "requests", "objects", "one by one"], to: sink)
      for reads in faultReads {
        try table.write([
          .string(reads.title), .number(String(reads.requests)), .number(String(reads.objects)), .number(String(reads.singleReads)),
        ])
      }
      try table.finish()
    }
    for reads in faultReads where reads.singleReads >= Self.manyReads {
      try sink.line("")
      try sink.line("\(reads.title) were read one by one \(reads.singleReads) times: \(reads.advice)")
    }
    try sink.flush()
  }

  /// Returns a statement on one line, with long placeholder lists replaced by their count.
  private static func shortened(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      .replacing(/\?(?:, \?){4,}/) { list in "? × \(list.output.count { $0 == "?" })" }
  }

  /// The number of single-object reads from which the report advises prefetching.
  private static let manyReads = 20
}

extension FaultReads {
  fileprivate var title: String {
    switch subject {
    case .rows(let entity): "rows of \(entity)"
    case .members(let entity, let relationship): "members of \(entity).\(relationship)"
    }
  }

  fileprivate var advice: String {
    switch subject {
    case .rows(let entity): "fetch the objects of \(entity) together, or prefetch the relationship that leads to them."
    case .members(_, let relationship): "fetch the objects together, or prefetch “\(relationship)” for all of them."
    }
  }
}
