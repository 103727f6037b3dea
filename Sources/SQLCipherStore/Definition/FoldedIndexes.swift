import Foundation
import SQLCipherConnection

/// The indexes of a file that are made over a function of ours.
///
/// The function's name holds the version of the folding (`cd_fold_1_16_0`): an index that another version made is never used for a condition, and the
/// store writes no row past it, since nobody knows its function. Opening the store for writing replaces it.
enum FoldedIndexes {
  private static let prefix = SQLFunctions.fold + "_"

  /// The names of indexes over folded texts and over expressions, with their functions' names.
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

  /// Makes all functions known to a connection that copies or checks a file, those of its indexes too, whatever their version.
  static func register(on connection: Connection) throws {
    try SQLFunctions.register(on: connection)
    for function in Set(try inFile(connection).map(\.function)) {
      if function.hasPrefix(prefix) {
        try SQLFunctions.registerFold(function, on: connection)
      } else {
        try SQLFunctions.registerIndexed(function, on: connection)
      }
    }
    for function in Set(try FullTextFile.indexes(connection).map(\.function)) { try SQLFunctions.registerWords(function, on: connection) }
  }

  /// The statements that take the indexes, and triggers that call functions of ours, out of a copy for other programs, which could not write a row past
  /// them; with them goes the note that all of them are there, so that the store has them again once it is encrypted and opened.
  static func removal(from connection: Connection, schema: String) throws -> [String] {
    let indexes = Set(try inFile(connection).map(\.index))
    let statements =
      try indexes.sorted().map { try SchemaAuxiliary.dropping(.index, $0, in: schema) }
      + FullTextFile.removal(from: connection, schema: schema) + DerivationTriggers.removal(from: connection, schema: schema)
    guard !statements.isEmpty else { return [] }
    return statements + [BookkeepingTables.forgettingAuxiliaries(in: schema)]
  }
}
