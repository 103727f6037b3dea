package import Foundation
package import ObjectContext
package import ObjectModel
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
    let changeSource = context.changeSource
    context.changeSource = .import
    defer { context.changeSource = changeSource }
    return try context.performTransaction {
      let importer = try GraphImporter(into: context, batchSize: batchSize)
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

/// An object of the input with its nested objects, in terms of a compiled model.
package struct ImportObject: Sendable {
  /// The effect on an object that exists in the store.
  package enum Role: Sendable {
    /// The values that differ are updated.
    case record
    /// The object is not changed: the input only refers to it.
    case reference
  }

  package let entity: CompiledEntity
  /// The line number in the input.
  package let line: Int
  /// The effect on an existing object.
  package var role = Role.record
  /// Attribute values by slot. Other attributes keep their values.
  package var values: [(slot: Int, value: Slot)] = []
  /// To-one relationships; `nil` clears a relationship.
  package var toOne: [(relationship: CompiledRelationship, destination: ImportObject?)] = []
  /// To-many relationships with all their members.
  package var toMany: [(relationship: CompiledRelationship, members: [ImportObject])] = []
  /// An identifier by which other input objects refer to this one.
  package var identifier: String?
  /// The stable ID of the object (``ManagedObject/stableID``), by which it is found if the store has stable IDs.
  package var stableID: UUID?
  /// The identifier of another input object that this one refers to.
  package var reference: String?

  /// Creates an object without values.
  package init(entity: CompiledEntity, line: Int) {
    self.entity = entity
    self.line = line
  }

  /// Whether the object has no values: it can only refer to an object.
  var isBare: Bool { values.isEmpty && toOne.isEmpty && toMany.isEmpty && identifier == nil && reference == nil }

  /// Returns the value of a slot, if given.
  package func value(_ slot: Int) -> Slot? {
    values.first { $0.slot == slot }?.value
  }

  /// Returns the destination of a to-one relationship by its slot, if given.
  package func destination(_ slot: Int) -> ImportObject? {
    toOne.first { $0.relationship.index == slot }?.destination
  }

  /// Returns an error about the object.
  package func error(_ message: String, key: String? = nil) -> InputError {
    InputError(line: line, entity: entity.name, key: key, message)
  }
}
