// InputImport: a whole input into a store: all of it or nothing.
package import ObjectContext
import ObjectModel
import ObjectStore

/// The forms of input.
package enum InputFormat: String, Sendable, CaseIterable {
  /// A JSON object a line.
  case jsonl
  /// dpkg's status file, or the archive's package index.
  case deb822
}

/// Imports an input in one transaction.
package struct InputImport: Sendable {
  /// What an import did.
  package struct Outcome: Sendable, Hashable {
    /// What became of the records.
    package var summary = GraphImporter.Summary()
    /// The bad lines that were skipped, the first hundred of them.
    package var skipped: [InputError] = []
    /// How many bad lines were skipped.
    package var skippedCount = 0
  }

  private let format: InputFormat
  private let entity: String?
  private let skipsBadLines: Bool

  /// Describes an import.
  ///
  /// - Parameters:
  ///   - format: The form of the input.
  ///   - entity: The entity of JSON objects that do not name one.
  ///   - skipsBadLines: Whether bad lines are left out, instead of ending the import with nothing kept.
  package init(format: InputFormat, entity: String?, skipsBadLines: Bool) {
    self.format = format
    self.entity = entity
    self.skipsBadLines = skipsBadLines
  }

  /// Imports a source into the store of a context that nobody else uses.
  ///
  /// - Parameters:
  ///   - progress: Told now and then how many records were read.
  /// - Throws: ``InputError`` for a bad line, and what saving throws; nothing is kept then.
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
              line: lines.lineNumber, "JSON Lines is expected, one object a line, and this is an array. “jq -c '.[]'” converts an array.")
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
  /// What to do about an object that does not end in its line.
  private static func advice(on error: JSONParser.SyntaxError, in bytes: UnsafeRawBufferPointer) -> String {
    guard bytes.dropFirst(error.offset).allSatisfy(ASCII.isSpace) else { return "" }
    return " JSON Lines is expected: each object is whole in one line. “jq -c .” converts objects of several lines."
  }
}

/// The bad lines of one import.
private final class SkippedLines {
  private(set) var errors: [InputError] = []
  private(set) var count = 0

  func add(_ error: InputError) {
    count += 1
    if errors.count < 100 { errors.append(error) }
  }
}
