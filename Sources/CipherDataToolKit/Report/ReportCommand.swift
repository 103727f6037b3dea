import ArgumentParser
import CipherData
import Foundation
package import ObjectContext
package import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore

/// Writes an HTML page about a store.
struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Write an HTML page about a store: a diagram of the model, objects, sizes, the log, indexes, keys, and synchronization.",
    discussion: """
      The page loads no external resources, and contains no values of objects unless --samples is given. An index is reported as unused \
      if neither a fetch template of the model nor a given condition uses it.

        cipherdata report library.store -o report.html --where 'Book: title BEGINSWITH "a"' --where 'Author: name == "b"'
      """)

  @OptionGroup var store: StoreOptions
  @Option(name: .shortAndLong, help: ArgumentHelp("The page; - for standard output.", valueName: "file"), completion: .file()) var output:
    String
  @Option(
    name: .customLong("where"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("An entity, a colon, and a condition that the application uses. Can be repeated.", valueName: "query"))
  var queries: [String] = []
  @Option(help: ArgumentHelp("The number of sample objects of each entity, with values NOT ENCRYPTED.", valueName: "number")) var samples =
    0

  func validate() throws {
    if samples < 0 || samples > 1_000 { throw ValidationError("--samples takes a number up to 1000.") }
  }

  func run() async throws {
    let queries = try queries.map { try IndexUse.Query($0) }
    let file = try await store.unlock()
    let model = try await file.readModel()
    var information = try await file.information()
    let abstract = Set(model.entities.filter(\.isAbstract).map(\.name))
    information.entityCounts.removeAll { abstract.contains($0.entityName) }
    let usage = try await file.usage()
    let samples = samples
    let synced = try await SyncedContainer(file, isReadOnly: true)
    let (unused, unknown, tables, summary) = try await synced.run {
      let (unused, unknown, tables) = try await synced.container.performBackgroundTask { context in
        let use = try IndexUse(model, queries: queries, in: context)
        let tables = try samples == 0 ? [] : Self.samples(samples, model, context)
        return (use.examinedCount == 0 ? nil : use.unused(model), use.unknownTemplates, tables)
      }
      return (unused, unknown, tables, try synced.isSynchronized() ? try SyncSummary(synced) : nil)
    }
    var report = StoreReport(
      title: file.url.lastPathComponent, information: information, model: model, usage: usage, largeValues: file.largeValueSizes(),
      unusedIndexes: unused, unknownTemplates: unknown, samples: tables)
    report.synchronization = summary
    try write(report.html())
    if samples > 0 { Tool.note("\(output) contains values of objects, NOT encrypted.") }
  }

  private func write(_ page: String) throws {
    if output == "-" {
      let sink = OutputSink()
      try sink.write(page)
      return try sink.flush()
    }
    do {
      try page.write(toFile: output, atomically: true, encoding: .utf8)
      // Entity names are confidential, too.
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: output)
    } catch {
      throw ToolError(.cannotCreate, "\(output) cannot be written: \(error.localizedDescription)")
    }
  }

  private static func samples(
    _ count: Int, _ model: ManagedObjectModel, _ context: ManagedObjectContext
  ) throws -> [(entityName: String, columns: [String], rows: [[String]])] {
    try model.entities.filter { !$0.isAbstract }.compactMap { entity in
      var options = FetchSpecification(entityName: entity.name)
      options.fetchLimit = count
      options.resultType = .objectIDs
      options.includesSubentities = false
      let sink = OutputSink(descriptor: nil, limit: .max)
      let fetcher = ResultFetcher(context)
      let paths = fetcher.defaultPaths(of: try fetcher.entity(named: entity.name))
      try fetcher.write(options, paths: paths, format: .jsonl, to: sink)
      let rows = try sink.text.split(separator: "\n").map { line in
        let value = try JSONParser.parse(String(line))
        return paths.map { String((value[$0]?.plainText ?? "").prefix(200)) }
      }
      return rows.isEmpty ? nil : (entity.name, paths, rows)
    }
  }
}

/// The declared indexes that no query uses, among the model's fetch templates and additional predicates.
package struct IndexUse {
  /// An index of an entity.
  package struct Index: Hashable, Sendable {
    package var entityName: String
    package var name: String
  }

  /// A predicate on an entity, such as `Book: title BEGINSWITH "a"`.
  package struct Query: Sendable {
    var entityName: String
    var predicate: FetchPredicate

    /// Parses a predicate.
    ///
    /// - Throws: ``ToolError`` if the text is invalid.
    package init(_ text: String) throws {
      guard let colon = text.firstIndex(of: ":") else {
        throw ToolError(.usage, "--where takes the entity, a colon and the condition, such as: Book: title BEGINSWITH \"a\"")
      }
      entityName = text[..<colon].trimmingCharacters(in: .whitespaces)
      predicate = try OptionText.predicate(String(text[text.index(after: colon)...]), option: "--where")
    }
  }

  /// The indexes that at least one query uses.
  package private(set) var used: Set<Index> = []
  /// The number of queries that were examined.
  package private(set) var examinedCount = 0
  /// The names of the templates that could not be examined.
  package private(set) var unknownTemplates: [String] = []

  /// Determines the indexes that the queries use.
  package init(_ model: ManagedObjectModel, queries: [Query], in context: ManagedObjectContext) throws {
    for query in queries {
      _ = try context.persistentStoreCoordinator.compiledModel.requireEntity(named: query.entityName)
      var request = FetchRequest<ManagedObjectID>(entityName: query.entityName)
      request.predicate = query.predicate
      note(try context.explain(request))
    }
    for template in model.fetchRequestTemplates {
      guard let explanation = Self.explanation(of: template, in: context) else {
        unknownTemplates.append(template.name)
        continue
      }
      note(explanation)
    }
  }

  private mutating func note(_ explanation: FetchExplanation) {
    examinedCount += 1
    for index in explanation.indexes { used.insert(Index(entityName: index.entityName, name: index.name)) }
  }

  /// Returns the declared indexes that no query uses.
  package func unused(_ model: ManagedObjectModel) -> [Index] {
    model.entities.flatMap { entity in entity.indexes.map { Index(entityName: entity.name, name: $0.name) } }.filter { !used.contains($0) }
  }

  /// The explanation of a template does not depend on the values of its variables: any values of the right types can be used.
  private static func explanation(of template: FetchRequestTemplate, in context: ManagedObjectContext) -> FetchExplanation? {
    let values: [any FetchConstantConvertible] = ["a", 1, 1.5, true, Date(timeIntervalSinceReferenceDate: 0), ["a"], [1], UUID(), Data()]
    let names = (try? template.predicateFormat.map { try FetchPredicate(format: $0) })??.variables ?? []
    for value in names.isEmpty ? ["a"] : values {
      let variables = Dictionary(uniqueKeysWithValues: names.map { ($0, value as (any FetchConstantConvertible)?) })
      guard let predicate = try? template.predicateFormat.map({ try FetchPredicate(format: $0).withSubstitutionVariables(variables) })
      else {
        continue
      }
      var request = FetchRequest<ManagedObjectID>(entityName: template.entityName)
      request.predicate = predicate
      if let explanation = try? context.explain(request) { return explanation }
    }
    return nil
  }
}
