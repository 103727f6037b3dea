import Foundation

/// An entry of a file: a line with a JSON object. Empty lines are skipped.
///
///     {"notebook": "Garden", "title": "Sow beans", "text": "In two rows.", "written": "2026-05-01T08:00:00Z"}
struct ImportedEntry: Decodable, Hashable, Sendable {
  let notebook: String
  let title: String
  let text: String?
  let written: Date
}

/// The error in a line of a file.
struct BrokenLine: Error, CustomStringConvertible {
  let number: Int
  let reason: String

  var description: String { "line \(number) \(reason)" }
}

extension ImportedEntry {
  /// Reads and checks a whole file before anything is imported.
  ///
  /// - Throws: ``BrokenLine`` for the first invalid line; Foundation's errors if the file cannot be read.
  static func entries(of file: URL) throws -> [ImportedEntry] {
    let decoder = JSONDecoder()
    // As `.iso8601`, with an error that contains the invalid value.
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      do { return try Date(try container.decode(String.self), strategy: .iso8601) } catch {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "no time")
      }
    }
    let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return try lines.enumerated().compactMap { index, line in
      if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }) { return nil }
      do {
        let entry = try decoder.decode(ImportedEntry.self, from: line)
        if entry.notebook.isEmpty || entry.title.isEmpty { throw BrokenLine(number: index + 1, reason: "has an empty notebook or title") }
        return entry
      } catch let error as DecodingError { throw BrokenLine(number: index + 1, reason: reason(of: error)) }
    }
  }

  /// Returns the message of a decoding error, for the author of the file.
  private static func reason(of error: DecodingError) -> String {
    switch error {
    case .keyNotFound(let key, _): "has no \(key.stringValue)"
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      context.codingPath.last.map { "has an invalid \($0.stringValue)" } ?? "is not a JSON object"
    @unknown default: "is not an entry"
    }
  }
}
