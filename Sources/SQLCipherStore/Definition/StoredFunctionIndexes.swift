import Foundation
import SQLCipherConnection

/// The indexes of a file that call functions of this library.
///
/// The function's name contains the version of the folding, such as `cd_fold_1_16_0`. An index of another version is never used for a
/// condition, and the store cannot write rows while it exists, since its function is not registered. Opening the store for writing replaces
/// it.
enum StoredFunctionIndexes {
  private static let prefix = SQLFunctions.fold + "_"

  /// Returns the names of indexes with folded texts and expressions, and the names of their functions.
  static func inFile(_ connection: Connection) throws -> [(index: String, function: String)] {
    var result: [(index: String, function: String)] = []
    for found in try connection.objects(.functionIndexes) {
      for prefix in [prefix, SQLFunctions.indexedPrefix] {
        var rest = Substring(found.sql)
        while let start = rest.range(of: prefix) {
          rest = rest[start.upperBound...]
          let version = rest.prefix { ("0"..."9").contains($0) || $0 == "_" }
          if rest.dropFirst(version.count).first == "(" { result.append((found.name, prefix + version)) }
        }
      }
    }
    return result
  }

  /// Registers all functions on a connection that copies or checks a file, including those of its indexes of any version.
  static func register(on connection: Connection) throws {
    try SQLFunctions.register(on: connection)
    for function in Set(try inFile(connection).map(\.function)) {
      if function.hasPrefix(prefix) {
        try SQLFunctions.registerFold(function, on: connection)
      } else {
        try SQLFunctions.registerIndexed(function, on: connection)
      }
    }
    for function in Set(try StoredFullTextIndexes.indexes(connection).map(\.function)) {
      try SQLFunctions.registerWords(function, on: connection)
    }
  }

  /// Returns the statements that remove indexes and triggers with functions of this library from a copy for other programs, which could not
  /// write rows with them.
  ///
  /// They also clear the layout basis, so that the store recreates the indexes and triggers once the copy is encrypted and opened.
  static func removal(from connection: Connection, schema: String) throws -> [String] {
    let indexes = Set(try inFile(connection).map(\.index))
    let statements =
      try indexes.sorted().map { try SchemaAuxiliary.dropping(.index, $0, in: schema) }
      + StoredFullTextIndexes.removal(from: connection, schema: schema) + DerivationTriggers.removal(from: connection, schema: schema)
    guard !statements.isEmpty else { return [] }
    return statements + [BookkeepingTables.clearingLayoutBasis(in: schema)]
  }
}
