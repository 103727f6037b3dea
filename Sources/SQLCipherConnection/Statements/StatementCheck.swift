import CSQLCipher
package import StoreKeys
import Synchronization

/// Checks that statements use certain tables only.
///
/// The check prepares a statement against a database in memory that contains nothing but these tables, under an authorizer that allows
/// reading and writing rows. Connections of stores need no authorizer: setting one invalidates all statements that a connection has
/// prepared. Safe to use from any thread.
package final class StatementCheck: Sendable {
  /// The database, and the texts that passed.
  private struct Scratch {
    // Used with the lock held only.
    nonisolated(unsafe) let database: OpaquePointer?
    var passed: Set<String> = []
  }
  private let scratch: Mutex<Scratch>
  private static let verbs: Set<String> = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"]

  /// Creates a check.
  ///
  /// - Parameter definitions: The statements that create the tables and their indexes.
  package init(_ definitions: [String]) throws(StoreAccessError) {
    var database: OpaquePointer?
    func failure(_ code: Int32, _ sql: String?) -> StoreAccessError {
      let error = StoreAccessError.sqlite(code, handle: database, path: nil, operation: .prepare, sql: sql, source: .prepare)
      sqlite3_close(database)
      return error
    }
    let opened = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
    guard opened == SQLITE_OK else { throw failure(opened, nil) }
    for sql in definitions {
      let code = sqlite3_exec(database, sql, nil, nil, nil)
      guard code == SQLITE_OK else { throw failure(code, sql) }
    }
    sqlite3_set_authorizer(
      database,
      { _, action, name, function, _, _ in
        switch action {
        case SQLITE_SELECT, SQLITE_RECURSIVE: SQLITE_OK
        case SQLITE_FUNCTION: function.map { String(cString: $0).lowercased() == "load_extension" } ?? true ? SQLITE_DENY : SQLITE_OK
        case SQLITE_READ, SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
          name.map { String(cString: $0).lowercased().hasPrefix("sqlite_") } ?? false ? SQLITE_DENY : SQLITE_OK
        default: SQLITE_DENY
        }
      }, nil)
    scratch = Mutex(Scratch(database: database))
  }

  deinit { scratch.withLock { _ = sqlite3_close($0.database) } }

  /// Throws if a statement is not a single one that reads or writes rows of the tables.
  package func check(_ sql: String) throws(StoreAccessError) {
    try scratch.withLock { scratch throws(StoreAccessError) in
      if scratch.passed.contains(sql) { return }
      // VACUUM and EXPLAIN need no authorization.
      guard Self.verbs.contains(sql.prefix { $0.isLetter }.uppercased()) else {
        throw StoreAccessError(.misuse(.noStatement), path: nil, operation: .prepare, sql: sql)
      }
      var prepared: OpaquePointer?
      let (code, rest) = sql.withCString { text in
        var tail: UnsafePointer<CChar>?
        let code = sqlite3_prepare_v2(scratch.database, text, -1, &prepared, &tail)
        return (code, tail.map { String(cString: $0) } ?? "")
      }
      defer { sqlite3_finalize(prepared) }
      guard code == SQLITE_OK else {
        throw StoreAccessError.sqlite(code, handle: scratch.database, path: nil, operation: .prepare, sql: sql, source: .prepare)
      }
      guard prepared != nil else { throw StoreAccessError(.misuse(.noStatement), path: nil, operation: .prepare, sql: sql) }
      guard rest.allSatisfy({ $0 == ";" || $0.isWhitespace }) else {
        throw StoreAccessError(.misuse(.severalStatements), path: nil, operation: .prepare, sql: sql)
      }
      scratch.passed.insert(sql)
    }
  }
}
