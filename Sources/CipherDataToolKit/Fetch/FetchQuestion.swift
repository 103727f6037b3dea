// FetchQuestion: what `fetch` asks, from its options to the written result.
import ArgumentParser
package import ObjectContext
package import ObjectQuery
import ObjectStore

/// The options of `fetch`, in the tool and in its shell.
struct FetchOptions: ParsableArguments {
  @Option(name: .customLong("where"), parsing: .unconditional, help: ArgumentHelp("The condition.", valueName: "predicate"))
  var condition: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The order: key paths parted by commas, each with asc or desc behind it, or - before it for desc.", valueName: "keys"))
  var sort: String?

  @Option(help: "The greatest number of results.")
  var limit: Int?

  @Option(help: "How many results are left out first.")
  var offset: Int?

  @Option(help: ArgumentHelp("The columns: key paths parted by commas; @count, @entity and @id may end one.", valueName: "paths"))
  var properties: String?

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
    if let offset, offset < 0 { throw ValidationError("--offset must be 0 or more.") }
  }

  /// The question about an entity.
  func question(about entity: String) throws -> FetchQuestion {
    var specification = FetchSpecification(entityName: entity)
    specification.predicate = try condition.map { try FetchPredicate(format: $0) }
    specification.sortDescriptors = try sort.map(ResultFetcher.sortDescriptors) ?? []
    specification.fetchLimit = limit ?? 0
    specification.fetchOffset = offset ?? 0
    return FetchQuestion(specification: specification, paths: properties?.split(separator: ",").map { $0.filter { $0 != " " } })
  }
}

/// A question, ready to be asked of a context.
package struct FetchQuestion: Sendable {
  /// What is asked.
  package var specification: FetchSpecification
  /// The columns of objects; nil for all attributes.
  package var paths: [String]?

  /// Writes the results.
  package func write(from context: ManagedObjectContext, format: OutputFormat, to sink: OutputSink) throws {
    let fetcher = ResultFetcher(context)
    let entity = try fetcher.entity(named: specification.entityName)
    try fetcher.write(specification, paths: paths ?? fetcher.defaultPaths(of: entity), format: format, to: sink)
  }

  /// Writes the number of results.
  package func writeCount(from context: ManagedObjectContext, to sink: OutputSink) throws {
    _ = try ResultFetcher(context).entity(named: specification.entityName)
    var request = FetchRequest<ManagedObject>(entityName: specification.entityName)
    request.specification = specification
    try sink.line(String(try context.count(for: request)))
    try sink.flush()
  }
}
