import ArgumentParser
import CipherData
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import SQLCipherStore

/// Writes an HTML page about a store.
struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Write an HTML page about a store: a diagram of the model, objects, sizes, the log, indexes, and keys.",
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
    let (unused, unknown, tables) = try await PersistentContainer.open(file, isReadOnly: true).run { context in
      let use = try IndexUse(model, queries: queries, in: context)
      let tables = try samples == 0 ? [] : Self.samples(samples, model, context)
      return (use.examinedCount == 0 ? nil : use.unused(model), use.unknownTemplates, tables)
    }
    let report = StoreReport(
      title: file.url.lastPathComponent, information: information, model: model, usage: usage, largeValues: file.largeValueSizes(),
      unusedIndexes: unused, unknownTemplates: unknown, samples: tables)
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
