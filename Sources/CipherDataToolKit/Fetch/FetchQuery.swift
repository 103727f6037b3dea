import ArgumentParser
package import ObjectContext
import ObjectModel
package import ObjectQuery
import ObjectStore

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
