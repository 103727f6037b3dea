// ResultWriter: rows on their way out as a table, CSV, JSON or JSON lines.

/// The forms in which results are written.
package enum OutputFormat: String, Sendable, CaseIterable {
  /// An aligned table for people.
  case table
  /// One JSON array of objects.
  case json
  /// A JSON object a line.
  case jsonl
  /// RFC 4180: a header line, fields parted by commas, lines ended by CR LF.
  case csv
}

/// Writes rows, one after the other.
package protocol ResultWriter: AnyObject {
  /// Writes the next row: a value for each column.
  func write(_ row: [JSONValue]) throws
  /// Writes what is left. The sink is flushed by its owner.
  func finish() throws
}

extension OutputFormat {
  /// Whether a value is a cell of its own, and not part of JSON.
  var hasCells: Bool { self == .table || self == .csv }

  /// A writer of the format.
  package func writer(columns: [String], to sink: OutputSink) throws -> any ResultWriter {
    switch self {
    case .table: TableWriter(columns: columns, to: sink)
    case .json: JSONRowWriter(columns: columns, to: sink, isArray: true)
    case .jsonl: JSONRowWriter(columns: columns, to: sink, isArray: false)
    case .csv: try CSVWriter(columns: columns, to: sink)
    }
  }
}

/// Writes rows as JSON objects.
final class JSONRowWriter: ResultWriter {
  private let columns: [String]
  private let sink: OutputSink
  private let isArray: Bool
  private var isFirst = true

  init(columns: [String], to sink: OutputSink, isArray: Bool) {
    self.columns = columns
    self.sink = sink
    self.isArray = isArray
  }

  func write(_ row: [JSONValue]) throws {
    if isArray { try sink.write(isFirst ? "[\n  " : ",\n  ") }
    isFirst = false
    try sink.write(JSONValue.object(Array(zip(columns, row))).serialized())
    if !isArray { try sink.write("\n") }
  }

  func finish() throws {
    if isArray { try sink.write(isFirst ? "[]\n" : "\n]\n") }
  }
}
