import SQLCipherConnection

/// Something of a store's file that holds nothing of its own, so that it can be dropped and made again.
struct SchemaAuxiliary: Sendable {
  /// What SQLite has of this sort. The raw value is `sqlite_master`'s type and the word after CREATE and DROP.
  enum Kind: String, Sendable {
    case index
    case trigger
    case view
    /// A virtual table.
    case table
  }

  let kind: Kind
  /// Its name in the file, not quoted.
  let name: String
  /// The statement that makes it.
  let sql: String
  /// The statements that fill it from the rows that are there when it is made.
  var fill: [String] = []
  /// The name of what it was filled from: when that is made anew, so is this.
  var source: String?

  /// The statement that drops one.
  ///
  /// - Parameters:
  ///   - kind: What it is.
  ///   - name: Its name in the file, not quoted.
  ///   - schema: The attached database that it is in; nil for the store's own.
  static func dropping(_ kind: Kind, _ name: String, in schema: String? = nil) throws -> String {
    "DROP \(kind.rawValue.uppercased()) \(schema.map { "\($0)." } ?? "")\(try Identifier.quoted(name))"
  }
}
