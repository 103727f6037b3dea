import CSQLCipher
package import StoreKeys

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
