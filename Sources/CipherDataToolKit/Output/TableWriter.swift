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
