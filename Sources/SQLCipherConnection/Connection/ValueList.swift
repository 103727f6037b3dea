import CSQLCipher
package import StoreKeys

/// A packed list of values that binds to one placeholder, whatever its length. `SELECT v FROM name(?)` returns a row for each value.
///
/// Layout: one byte for the kind of each value, then eight bytes for a number. Text and blobs have a byte count in four bytes, then the
/// bytes.
package struct ValueList {
  fileprivate enum Kind: UInt8 {
    case int = 1
    case real, text, blob
  }

  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// - Parameter capacity: The number of numeric values to reserve space for.
  package init(capacity: Int) { bytes.reserveCapacity(capacity * 9) }

  package mutating func append(_ value: Int64) {
    bytes.append(Kind.int.rawValue)
    withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
  }

  package mutating func append(_ value: Double) {
    bytes.append(Kind.real.rawValue)
    withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
  }

  package mutating func append(text: UnsafeRawBufferPointer) { append(.text, text) }

  package mutating func append(blob: UnsafeRawBufferPointer) { append(.blob, blob) }

  private mutating func append(_ kind: Kind, _ value: UnsafeRawBufferPointer) {
    bytes.append(kind.rawValue)
    // SQLite does not accept longer values.
    withUnsafeBytes(of: UInt32(clamping: value.count)) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: value)
  }
}

/// The virtual table module. A table has no state; a cursor has a copy of the list and a position in it.
private enum ValueListTable {
  private struct Cursor {
    // SQLite's part must come first.
    var base = sqlite3_vtab_cursor()
    var list = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    var kind = ValueList.Kind.int
    var value = 0..<0
    var row: Int64 = 0
    var isAtEnd = true

    /// Moves to the value at the byte offset `start`. Returns false if the bytes there are malformed: SQL text can pass any bytes.
    mutating func go(to start: Int) -> Bool {
      isAtEnd = start >= list.count
      if isAtEnd { return true }
      isAtEnd = true
      guard let kind = ValueList.Kind(rawValue: list[start]) else { return false }
      var (first, count) = (start + 1, 8)
      if kind == .text || kind == .blob {
        guard list.count - first >= 4 else { return false }
        count = Int(list.loadUnaligned(fromByteOffset: first, as: UInt32.self))
        first += 4
      }
      guard list.count - first >= count else { return false }
      (self.kind, value, isAtEnd) = (kind, first..<(first + count), false)
      return true
    }

    func give(to context: OpaquePointer) {
      switch kind {
      case .int: sqlite3_result_int64(context, list.loadUnaligned(fromByteOffset: value.lowerBound, as: Int64.self))
      case .real: sqlite3_result_double(context, list.loadUnaligned(fromByteOffset: value.lowerBound, as: Double.self))
      case .text: call(context).setResult(text: UnsafeRawBufferPointer(rebasing: list[value]))
      case .blob: call(context).setResult(blob: UnsafeRawBufferPointer(rebasing: list[value]))
      }
    }

    private func call(_ context: OpaquePointer) -> FunctionCall { FunctionCall(context: context, arguments: nil, count: 0) }
  }

  private static let listColumn: Int32 = 1

  private static func cursor(_ pointer: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<Cursor>? {
    UnsafeMutableRawPointer(pointer)?.assumingMemoryBound(to: Cursor.self)  // allocated by `xOpen`
  }

  // Initialized once, never changed or freed. All connections share it.
  nonisolated(unsafe) static let module: UnsafeMutablePointer<sqlite3_module> = {
    let module = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
    module.initialize(to: sqlite3_module())
    // Without `xCreate` the table is eponymous-only: `CREATE VIRTUAL TABLE` cannot create another one.
    module.pointee.xConnect = { database, _, _, _, table, _ in
      let code = sqlite3_declare_vtab(database, "CREATE TABLE list(v, list HIDDEN)")
      guard code == SQLITE_OK else { return code }
      table?.pointee = .allocate(capacity: 1)
      table?.pointee?.initialize(to: sqlite3_vtab())
      return SQLITE_OK
    }
    module.pointee.xDisconnect = { table in
      table?.deallocate()
      return SQLITE_OK
    }
    module.pointee.xBestIndex = { _, info in
      guard let info else { return SQLITE_MISUSE }
      // Without its list the table is empty. The high cost keeps the planner from scanning it before the list is available.
      (info.pointee.estimatedCost, info.pointee.estimatedRows) = (1e18, 1_000_000)
      for index in 0..<Int(info.pointee.nConstraint) {
        let constraint = info.pointee.aConstraint[index]
        guard constraint.iColumn == listColumn, Int32(constraint.op) == SQLITE_INDEX_CONSTRAINT_EQ, constraint.usable != 0 else { continue }
        info.pointee.aConstraintUsage[index].argvIndex = 1
        info.pointee.aConstraintUsage[index].omit = 1
        (info.pointee.estimatedCost, info.pointee.estimatedRows) = (1_000, 1_000)
        break
      }
      return SQLITE_OK
    }
    module.pointee.xOpen = { _, cursor in
      let made = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
      made.initialize(to: Cursor())
      // SQLite keeps the pointer, and passes it to the functions below.
      cursor?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
      return SQLITE_OK
    }
    module.pointee.xClose = { pointer in
      cursor(pointer)?.pointee.list.deallocate()
      cursor(pointer)?.deallocate()
      return SQLITE_OK
    }
    module.pointee.xFilter = { pointer, _, _, count, arguments in
      guard let cursor = cursor(pointer) else { return SQLITE_MISUSE }
      cursor.pointee.list.deallocate()
      cursor.pointee.list = UnsafeMutableRawBufferPointer(start: nil, count: 0)
      cursor.pointee.row = 1
      if count > 0, let value = arguments?[0], let bytes = sqlite3_value_blob(value) {
        // SQLite owns the value, which is valid only during this call.
        let list = UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(value)))
        cursor.pointee.list = .allocate(byteCount: list.count, alignment: 8)
        cursor.pointee.list.copyMemory(from: list)
      }
      return cursor.pointee.go(to: 0) ? SQLITE_OK : SQLITE_ERROR
    }
    module.pointee.xNext = { pointer in
      guard let cursor = cursor(pointer) else { return SQLITE_MISUSE }
      cursor.pointee.row += 1
      return cursor.pointee.go(to: cursor.pointee.value.upperBound) ? SQLITE_OK : SQLITE_ERROR
    }
    module.pointee.xEof = { cursor($0)?.pointee.isAtEnd ?? true ? 1 : 0 }
    module.pointee.xColumn = { pointer, context, column in
      guard let context, let cursor = cursor(pointer) else { return SQLITE_MISUSE }
      if column == listColumn || cursor.pointee.isAtEnd { sqlite3_result_null(context) } else { cursor.pointee.give(to: context) }
      return SQLITE_OK
    }
    module.pointee.xRowid = { pointer, row in
      row?.pointee = cursor(pointer)?.pointee.row ?? 0
      return SQLITE_OK
    }
    return module
  }()
}

extension Connection {
  /// Registers a table-valued function over a ``ValueList``, its argument. Its column is `v`. Registering a name again has no effect.
  package func registerValueLists(name: String) throws(StoreAccessError) {
    try database.checkOpen(.registerFunction)
    // SQLite before 3.21 does not accept registering a module twice.
    guard valueLists.insert(name).inserted else { return }
    let code = sqlite3_create_module_v2(pointer, name, ValueListTable.module, nil, nil)
    guard code == SQLITE_OK else { throw database.failure(code, operation: .registerFunction, subject: .name(name)) }
  }
}
