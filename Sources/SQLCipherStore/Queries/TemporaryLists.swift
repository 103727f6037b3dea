// TemporaryLists: the tables of lists of constants that are too long for placeholders.

/// Lists that are too long for placeholders, as tables in the connection's memory.
enum TemporaryLists {
  static func name(_ number: Int) -> String { "temp.cipherdata_list_\(number)" }
  static func creation(_ number: Int) -> String { "CREATE TABLE IF NOT EXISTS \(name(number)) (v PRIMARY KEY) WITHOUT ROWID" }
  static func insertion(_ number: Int) -> String { "INSERT OR IGNORE INTO \(name(number)) VALUES (?)" }
  static func emptying(_ number: Int) -> String { "DELETE FROM \(name(number))" }
}
