import CSQLCipher
package import StoreKeys

/// The prepared statements of a connection: by plan number, and a cache of the last used by text.
@usableFromInline package final class StatementTable {
  private static let textCapacity = 64

  // A connection is used by one thread, and no call here re-enters, so exclusivity is not checked at run time.
  /// The statements by plan number.
  @exclusivity(unchecked) @usableFromInline var table: ContiguousArray<Statement?> = []
  private var texts: [String: (statement: Statement, lastUse: UInt64)] = [:]
  private var clock: UInt64 = 0
  private let database: DatabaseHandle

  init(database: DatabaseHandle) {
    self.database = database
  }

  @inlinable package func numbered(_ number: Int) -> Statement? {
    number < table.count ? table[number] : nil
  }

  /// Returns a message if the plan number belongs to a different text.
  @usableFromInline package func misuse(of number: Int, for sql: String) -> String? {
    guard let known = numbered(number), known.sql != sql else { return nil }
    return "the statement number \(number) stands for\n\(known.sql)\nand is used for\n\(sql)"
  }

  @usableFromInline package func prepareNumbered(_ number: Int, _ sql: String) throws(StoreAccessError) -> Statement {
    let statement = try prepare(sql)
    if number >= table.count {
      table.append(contentsOf: repeatElement(nil, count: number + 1 - table.count + number / 2))
    }
    table[number] = statement
    return statement
  }

  func statement(text: String) throws(StoreAccessError) -> Statement {
    clock += 1
    if let known = texts[text] {
      // The cached statement is in use.
      if known.statement.isBusy { return try prepare(text) }
      texts[text]?.lastUse = clock
      known.statement.clearBindings()
      return known.statement
    }
    let statement = try prepare(text)
    if texts.count >= Self.textCapacity, let oldest = texts.min(by: { $0.value.lastUse < $1.value.lastUse }) {
      texts[oldest.key] = nil
    }
    texts[text] = (statement, clock)
    return statement
  }

  func discardAll() {
    table.removeAll()
    texts.removeAll()
  }

  /// Prepares one statement. Rejects text without a statement, or with more than one.
  func prepare(_ sql: String) throws(StoreAccessError) -> Statement {
    try database.checkOpen(.prepare)
    var prepared: OpaquePointer?
    var text = sql
    var hasMore = false
    let code = text.withUTF8 { utf8 -> Int32 in
      var tail: UnsafePointer<CChar>?
      return utf8.withMemoryRebound(to: CChar.self) { characters in
        let code = sqlite3_prepare_v2(database.pointer, characters.baseAddress, Int32(clamping: characters.count), &prepared, &tail)
        if let tail, let base = characters.baseAddress {
          hasMore = characters[(tail - base)...].contains { $0 != 0x20 && $0 != 0x0a && $0 != 0x3b && $0 != 0 }
        }
        return code
      }
    }
    guard code == SQLITE_OK else { throw database.failure(code, operation: .prepare, sql: sql, source: .prepare) }
    guard let pointer = prepared else {
      throw StoreAccessError(.misuse(.noStatement), path: database.path, operation: .prepare, sql: sql)
    }
    let statement = Statement(pointer: pointer, database: database)
    if hasMore {
      throw StoreAccessError(.misuse(.severalStatements), path: database.path, operation: .prepare, sql: sql)
    }
    return statement
  }
}
