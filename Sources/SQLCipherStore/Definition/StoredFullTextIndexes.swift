import Foundation
import SQLCipherConnection

/// The full-text indexes that a file contains, for copies, checks and other programs.
///
/// The name of the function that extracts words contains the version of its rules, such as `cd_words_1_1_16_0`, as with folded indexes
/// (``StoredFunctionIndexes``).
enum StoredFullTextIndexes {
  /// Returns the FTS4 tables with their views and the functions of these.
  static func indexes(_ connection: Connection) throws -> [(table: String, view: String, function: String)] {
    var views: [(name: String, function: String)] = []
    for view in try connection.objects(.wordViews) {
      guard let start = view.sql.range(of: SQLFunctions.wordsPrefix) else { continue }
      let version = view.sql[start.upperBound...].prefix { ("0"..."9").contains($0) || $0 == "_" }
      views.append((view.name, SQLFunctions.wordsPrefix + version))
    }
    guard !views.isEmpty else { return [] }
    return try connection.objects(.fullTextTables).compactMap { table in
      let view = try views.first { table.sql.contains("content=\(try Identifier.quoted($0.name))") }
      return view.map { (table.name, $0.name, $0.function) }
    }
  }

  /// Returns the statements that remove the indexes from a copy, with the triggers that update them.
  static func removal(from connection: Connection, schema: String) throws -> [String] {
    try indexes(connection).flatMap { index in
      let table = try Identifier.quoted(index.table)
      let triggers = try connection.objects(.triggers).filter { FullTextIndex.isKept(table, by: $0.sql) }
      let dropped: [(SchemaAuxiliary.Kind, String)] = triggers.map { (.trigger, $0.name) } + [(.table, index.table), (.view, index.view)]
      return try dropped.map { try SchemaAuxiliary.dropping($0.0, $0.1, in: schema) }
    }
  }
}
