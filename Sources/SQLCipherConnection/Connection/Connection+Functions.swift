public import CSQLCipher
package import StoreKeys

/// One call of an SQL function: its arguments, read in place, and its result. Valid only during the call.
@usableFromInline package struct FunctionCall {
  @usableFromInline let context: OpaquePointer
  @usableFromInline let arguments: UnsafeMutablePointer<OpaquePointer?>?
  /// The number of arguments.
  @usableFromInline package let count: Int

  @usableFromInline init(context: OpaquePointer, arguments: UnsafeMutablePointer<OpaquePointer?>?, count: Int) {
    self.context = context
    self.arguments = arguments
    self.count = count
  }

  @inlinable package func value(_ index: Int) -> OpaquePointer? { index < count ? arguments?[index] : nil }

  @inlinable package func type(_ index: Int) -> ColumnType { ColumnType(rawValue: sqlite3_value_type(value(index))) ?? .null }
  @inlinable package func isNull(_ index: Int) -> Bool { sqlite3_value_type(value(index)) == SQLITE_NULL }
  @inlinable package func int64(_ index: Int) -> Int64 { sqlite3_value_int64(value(index)) }
  @inlinable package func double(_ index: Int) -> Double { sqlite3_value_double(value(index)) }

  /// The UTF-8 text in place; `baseAddress` is nil for NULL.
  @inlinable package func text(_ index: Int) -> UnsafeRawBufferPointer {
    let value = value(index)
    guard let text = sqlite3_value_text(value) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
  }

  /// The bytes in place; `baseAddress` is nil for NULL and for an empty blob.
  @inlinable package func blob(_ index: Int) -> UnsafeRawBufferPointer {
    let value = value(index)
    guard let bytes = sqlite3_value_blob(value) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(value)))
  }

  @inlinable package func setResult(_ value: Int64) { sqlite3_result_int64(context, value) }
  @inlinable package func setResult(_ value: Bool) { sqlite3_result_int64(context, value ? 1 : 0) }
  @inlinable package func setResult(_ value: Double) { sqlite3_result_double(context, value) }
  @inlinable package func setResultNull() { sqlite3_result_null(context) }

  @inlinable package func setResult(_ value: String) {
    var value = value
    value.withUTF8 { setResult(text: UnsafeRawBufferPointer($0)) }
  }

  /// Sets UTF-8 text as the result. SQLite copies it.
  @inlinable package func setResult(text: UnsafeRawBufferPointer) {
    guard text.count <= Int32.max else { return sqlite3_result_error_toobig(context) }
    guard let base = text.baseAddress else { return sqlite3_result_text(context, "", 0, nil) }
    sqlite3_result_text(context, base.assumingMemoryBound(to: CChar.self), Int32(text.count), transientDestructor)
  }

  /// Sets a blob as the result. SQLite copies it.
  @inlinable package func setResult(blob: UnsafeRawBufferPointer) {
    guard blob.count <= Int32.max else { return sqlite3_result_error_toobig(context) }
    guard let base = blob.baseAddress, !blob.isEmpty else { return sqlite3_result_zeroblob(context, 0) }
    sqlite3_result_blob(context, base, Int32(blob.count), transientDestructor)
  }

  /// Sets one of the arguments as the result.
  @inlinable package func setResult(argument index: Int) {
    if let value = value(index) { sqlite3_result_value(context, value) } else { sqlite3_result_null(context) }
  }

  /// Makes the statement fail with a message, which must not contain stored values.
  package func setError(_ message: String) { sqlite3_result_error(context, message, -1) }
  /// Makes the statement fail with a reason that the error reports as its extended code.
  package func setFailure(_ failure: FunctionFailure, _ message: String) {
    setError(message)
    sqlite3_result_error_code(context, failure.rawValue)
  }
  /// Makes the statement fail because memory is exhausted.
  package func setOutOfMemory() { sqlite3_result_error_nomem(context) }
}

private final class FunctionBox {
  let body: (FunctionCall) -> Void
  init(_ body: @escaping (FunctionCall) -> Void) { self.body = body }
}

private final class CollationBox {
  let compare: CollationComparison
  init(_ compare: @escaping CollationComparison) { self.compare = compare }
}

extension Connection {
  /// Registers a scalar function. It replaces a function with the same name and argument count.
  ///
  /// - Parameters:
  ///   - name: The name in SQL.
  ///   - argumentCount: The number of arguments; -1 accepts any number.
  ///   - deterministic: Whether equal arguments always give the same result.
  ///   - body: Reads the arguments and sets the result.
  package func registerFunction(
    name: String, argumentCount: Int, deterministic: Bool = true, _ body: @escaping (FunctionCall) -> Void
  ) throws(StoreAccessError) {
    try database.checkOpen(.registerFunction)
    let box = Unmanaged.passRetained(FunctionBox(body))  // released by the destructor below
    // SQLITE_INNOCUOUS: without it, an untrusted schema could not use the function in an index.
    let flags =
      SQLITE_UTF8 | (deterministic ? SQLITE_DETERMINISTIC : 0) | (deterministic && LibraryVersion.hasTrustedSchema ? 0x0020_0000 : 0)
    // On failure SQLite calls the destructor.
    let code = sqlite3_create_function_v2(
      pointer, name, Int32(argumentCount), flags, box.toOpaque(),
      { context, count, arguments in
        guard let context, let data = sqlite3_user_data(context) else { return }
        let box = Unmanaged<FunctionBox>.fromOpaque(data)  // SQLite holds it
        box._withUnsafeGuaranteedRef { $0.body(FunctionCall(context: context, arguments: arguments, count: Int(count))) }
      }, nil, nil, { $0.map { Unmanaged<FunctionBox>.fromOpaque($0).release() } })  // the destructor: once, at the end
    guard code == SQLITE_OK else { throw database.failure(code, operation: .registerFunction, subject: .name(name)) }
  }

  /// Registers a collation over UTF-8 text. `compare` returns a negative number, 0 or a positive number.
  package func registerCollation(name: String, _ compare: @escaping CollationComparison) throws(StoreAccessError) {
    try database.checkOpen(.registerCollation)
    try database.createCollation(name: name, compare)
  }

  /// Registers collations when a statement first uses them.
  ///
  /// - Parameter collation: Returns the comparison function for a name, or nil for an unknown name. SQLite then rejects the statement.
  package func registerCollations(onDemand collation: @escaping (String) -> CollationComparison?) throws(StoreAccessError) {
    try database.checkOpen(.registerCollation)
    database.collationOnDemand = collation
    let code = sqlite3_collation_needed(
      pointer, Unmanaged.passUnretained(database).toOpaque(),  // statements, which call it, hold the handle
      { data, _, _, name in
        guard let data, let name else { return }
        Unmanaged<DatabaseHandle>.fromOpaque(data)._withUnsafeGuaranteedRef { database in  // as above
          let name = String(cString: name)
          guard let compare = database.collationOnDemand?(name) else { return }
          // SQLite reports a collation that is still missing after the callback.
          try? database.createCollation(name: name, compare)
        }
      })
    guard code == SQLITE_OK else { throw database.failure(code, operation: .registerCollation) }
  }
}

extension DatabaseHandle {
  fileprivate func createCollation(name: String, _ compare: @escaping CollationComparison) throws(StoreAccessError) {
    let box = Unmanaged.passRetained(CollationBox(compare))  // released by the destructor below
    let code = sqlite3_create_collation_v2(
      pointer, name, SQLITE_UTF8, box.toOpaque(),
      { data, firstCount, first, secondCount, second in
        guard let data else { return 0 }
        return Unmanaged<CollationBox>.fromOpaque(data)._withUnsafeGuaranteedRef {  // SQLite holds it
          $0.compare(
            UnsafeRawBufferPointer(start: first, count: Int(firstCount)), UnsafeRawBufferPointer(start: second, count: Int(secondCount)))
        }
      }, { $0.map { Unmanaged<CollationBox>.fromOpaque($0).release() } })  // the destructor: once, at the end
    guard code == SQLITE_OK else {
      box.release()  // unlike with functions, SQLite does not call the destructor here
      throw failure(code, operation: .registerCollation, subject: .name(name))
    }
  }
}

// MARK: - Aggregate functions

/// The state of an aggregate function for one group of rows.
package protocol AggregateState: AnyObject {
  /// Processes the arguments of one row.
  func step(_ call: FunctionCall)
  /// Sets the result. Also called for a group without rows. The arguments can no longer be read.
  func finish(_ call: FunctionCall)
}

private final class AggregateBox {
  let make: () -> any AggregateState
  init(_ make: @escaping () -> any AggregateState) { self.make = make }

  static func of(_ context: OpaquePointer) -> AggregateBox? {
    sqlite3_user_data(context).map { Unmanaged<AggregateBox>.fromOpaque($0).takeUnretainedValue() }  // SQLite holds it
  }
}

private final class StateBox {
  let state: any AggregateState
  init(_ state: any AggregateState) { self.state = state }
}

extension Connection {
  /// Registers an aggregate function.
  ///
  /// SQLite finalizes every group that it started, including those of interrupted statements.
  package func registerAggregate(
    name: String, argumentCount: Int, _ make: @escaping () -> any AggregateState
  ) throws(StoreAccessError) {
    try database.checkOpen(.registerFunction)
    let box = Unmanaged.passRetained(AggregateBox(make))  // released by the destructor below
    // On failure SQLite calls the destructor.
    let code = sqlite3_create_function_v2(
      pointer, name, Int32(argumentCount), SQLITE_UTF8 | SQLITE_DETERMINISTIC, box.toOpaque(), nil,
      { context, count, arguments in
        guard let context, let memory = sqlite3_aggregate_context(context, Int32(MemoryLayout<UnsafeMutableRawPointer?>.size)) else {
          return
        }
        let group = memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        if group.pointee == nil {
          guard let box = AggregateBox.of(context) else { return }
          group.pointee = Unmanaged.passRetained(StateBox(box.make())).toOpaque()  // taken over by the group's end
        }
        guard let state = group.pointee else { return }
        Unmanaged<StateBox>.fromOpaque(state)._withUnsafeGuaranteedRef {  // put there above
          $0.state.step(FunctionCall(context: context, arguments: arguments, count: Int(count)))
        }
      },
      { context in
        guard let context else { return }
        let call = FunctionCall(context: context, arguments: nil, count: 0)
        // Without an allocated context, the group has no rows.
        let group = sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        guard let state = group?.pointee else {
          AggregateBox.of(context)?.make().finish(call)
          return
        }
        group?.pointee = nil
        Unmanaged<StateBox>.fromOpaque(state).takeRetainedValue().state.finish(call)  // put there by the first row
      }, { $0.map { Unmanaged<AggregateBox>.fromOpaque($0).release() } })  // the destructor: once, at the end
    guard code == SQLITE_OK else { throw database.failure(code, operation: .registerFunction, subject: .name(name)) }
  }
}
