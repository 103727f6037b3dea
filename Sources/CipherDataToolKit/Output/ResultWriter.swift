/// The output formats of results.
package enum OutputFormat: String, Sendable, CaseIterable {
  /// An aligned table for people.
  case table
  /// One JSON array of objects.
  case json
  /// One JSON object per line.
  case jsonl
  /// RFC 4180: a header line, comma-separated fields, lines that end with CR LF.
  case csv
}

/// A writer for rows.
package protocol ResultWriter: AnyObject {
  /// Writes the next row: a value for each column.
  func write(_ row: [JSONValue]) throws
  /// Writes the remaining output. The owner of the sink flushes it.
  func finish() throws
}

extension OutputFormat {
  /// Whether the format writes values as cells and not as JSON.
  var hasCells: Bool { self == .table || self == .csv }

  /// Returns a writer for the format.
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
