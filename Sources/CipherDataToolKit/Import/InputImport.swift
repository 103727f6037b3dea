package import ObjectContext
import ObjectModel
import ObjectStore

/// The input formats.
package enum InputFormat: String, Sendable, CaseIterable {
  /// One JSON object per line.
  case jsonl
  /// dpkg's status file or a package index of a Debian archive.
  case deb822
}

/// An import of a whole input in one transaction.
package struct InputImport: Sendable {
  /// The result of an import.
  package struct Outcome: Sendable, Hashable {
    /// The numbers of imported records and objects.
    package var summary = GraphImporter.Summary()
    /// The errors of skipped lines, at most the first hundred.
    package var skipped: [InputError] = []
    /// The number of skipped lines.
    package var skippedCount = 0
  }

  private let format: InputFormat
  private let entity: String?
  private let skipsBadLines: Bool

  /// Creates an import.
  ///
  /// - Parameters:
  ///   - format: The input format.
  ///   - entity: The entity of JSON objects that do not name one.
  ///   - skipsBadLines: Whether invalid lines are skipped. Otherwise, an invalid line ends the import and nothing is stored.
  package init(format: InputFormat, entity: String?, skipsBadLines: Bool) {
    self.format = format
    self.entity = entity
    self.skipsBadLines = skipsBadLines
  }

  /// Imports a source into the store of a context, which must not be used elsewhere.
  ///
  /// - Parameters:
  ///   - progress: Called periodically with the number of records read.
  /// - Throws: ``InputError`` for an invalid line, or errors of saving. Nothing is stored then.
  package func run(
    from source: ByteSource, into context: ManagedObjectContext, batchSize: Int = 1000, progress: (Int) -> Void = { _ in }
  ) throws -> Outcome {
    let model = context.persistentStoreCoordinator.compiledModel
    let lines = LineReader(source)
    let skipped = SkippedLines()
    return try context.performTransaction {
      let importer = GraphImporter(into: context, batchSize: batchSize)
      if skipsBadLines { importer.skip = { skipped.add($0) } }
      switch format {
      case .deb822: try readStanzas(lines, model, importer, progress)
      case .jsonl: try readLines(lines, model, importer, progress)
      }
      try importer.flush()
      return Outcome(summary: importer.summary, skipped: skipped.errors, skippedCount: skipped.count)
    }
  }

  private func readStanzas(
    _ lines: LineReader, _ model: CompiledModel, _ importer: GraphImporter, _ progress: (Int) -> Void
  ) throws {
    var mapping = try PackageMapping(model)
    var reader = Deb822Reader(lines)
    while let stanza = try reader.next() {
      do {
        if let record = try PackageRecord(stanza) { try importer.add(mapping.object(record, line: stanza.line)) }
      } catch let error as InputError where skipsBadLines {
        importer.skip?(error)
      }
      progress(importer.summary.records)
    }
  }

  private func readLines(
    _ lines: LineReader, _ model: CompiledModel, _ importer: GraphImporter, _ progress: (Int) -> Void
  ) throws {
    let mapping = JSONMapping(model, defaultEntity: try entity.map { try model.requireEntity(named: $0) })
    while true {
      do {
        var size = 0
        let read = try lines.next { bytes -> ImportObject? in
          size = bytes.count
          guard let first = bytes.first(where: { !ASCII.isSpace($0) }) else { return nil }
          if first == UInt8(ascii: "[") {
            throw InputError(
              line: lines.lineNumber, "Expected JSON Lines, one object per line, but found an array. “jq -c '.[]'” converts an array.")
          }
          do {
            return try mapping.object(try JSONParser.parse(bytes), line: lines.lineNumber)
          } catch let error as JSONParser.SyntaxError {
            throw InputError(line: lines.lineNumber, error.description + Self.advice(on: error, in: bytes))
          }
        }
        guard let read else { return }
        if let object = read { try importer.add(object, size: size) }
      } catch let error as InputError where skipsBadLines {
        importer.skip?(error)
      }
      progress(importer.summary.records)
    }
  }
}

extension InputImport {
  /// Returns advice for a JSON object that does not end on its line.
  private static func advice(on error: JSONParser.SyntaxError, in bytes: UnsafeRawBufferPointer) -> String {
    guard bytes.dropFirst(error.offset).allSatisfy(ASCII.isSpace) else { return "" }
    return " Expected JSON Lines, one object per line. “jq -c .” converts objects that span several lines."
  }
}

/// The skipped lines of an import.
private final class SkippedLines {
  private(set) var errors: [InputError] = []
  private(set) var count = 0

  func add(_ error: InputError) {
    count += 1
    if errors.count < 100 { errors.append(error) }
  }
}
