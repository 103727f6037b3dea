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

/// Writes rows as an aligned table.
///
/// The first rows are buffered to determine the column widths. The others are written immediately, so that memory does not grow with the
/// result. A later cell that is wider than its column shifts the rest of its line to the right.
final class TableWriter: ResultWriter {
  private let columns: [String]
  private let sink: OutputSink
  private let sample: Int
  private var waiting: [[JSONValue]] = []
  private var widths: [Int] = []
  private var isRight: [Bool] = []

  /// Creates a writer.
  ///
  /// - Parameter sample: The number of rows that determine the column widths.
  init(columns: [String], to sink: OutputSink, sample: Int = 500) {
    self.columns = columns
    self.sink = sink
    self.sample = sample
  }

  func write(_ row: [JSONValue]) throws {
    if widths.isEmpty {
      waiting.append(row)
      if waiting.count >= sample { try begin() }
    } else {
      try writeLine(row.map(Self.cell))
    }
  }

  func finish() throws {
    if widths.isEmpty { try begin() }
  }

  private func begin() throws {
    let cells = waiting.map { $0.map(Self.cell) }
    let titles = columns.map(Self.printable)
    widths = titles.indices.map { column in
      cells.reduce(DisplayWidth.of(titles[column])) { max($0, DisplayWidth.of($1[column])) }
    }
    isRight = columns.indices.map { column in
      let values = waiting.map { $0[column] }.filter { !$0.isNull }
      return !values.isEmpty && values.allSatisfy(\.isNumber)
    }
    waiting = []
    try writeLine(titles)
    try sink.line(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  "))
    for line in cells { try writeLine(line) }
  }

  private func writeLine(_ cells: [String]) throws {
    var line = ""
    for (column, cell) in cells.enumerated() {
      let space = String(repeating: " ", count: max(widths[column] - DisplayWidth.of(cell), 0))
      if column > 0 { line += "  " }
      line += isRight[column] ? space + cell : cell + space
    }
    while line.last == " " { line.removeLast() }
    try sink.line(line)
  }

  private static func cell(_ value: JSONValue) -> String {
    value.isNull ? "–" : printable(value.plainText)
  }

  /// Returns text on one line and without control characters, by which data could control the terminal.
  static func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "⏎"
      case "\t": result += " "
      case _ where isControl(scalar): result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Returns whether a scalar is a control character or changes the writing direction.
  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

/// Writes rows as comma-separated values (RFC 4180). A missing value is an empty field; an empty string is a quoted one.
final class CSVWriter: ResultWriter {
  private let sink: OutputSink

  init(columns: [String], to sink: OutputSink) throws {
    self.sink = sink
    try sink.write(columns.map(Self.field).joined(separator: ",") + "\r\n")
  }

  func write(_ row: [JSONValue]) throws {
    try sink.write(row.map { $0.isNull ? "" : Self.field($0.plainText) }.joined(separator: ",") + "\r\n")
  }

  func finish() throws {}

  /// Returns a field, quoted if necessary.
  static func field(_ text: String) -> String {
    let needsQuotes = text.isEmpty || text.utf8.contains { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
    guard needsQuotes else { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { quoted.unicodeScalars.append(scalar) }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }
}
