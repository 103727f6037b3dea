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
