import CSQLCipher

extension Connection {
  /// The number of virtual machine steps between two cancellation checks, which take some hundred microseconds.
  private static var stepsBetweenChecks: Int32 { 2_000 }

  /// Runs `body`. Its statements fail with `.cancelled` once `isCancelled` returns true.
  package func cancelling<Result>(when isCancelled: () -> Bool, _ body: () throws -> Result) rethrows -> Result {
    guard !isClosed else { return try body() }
    return try withoutActuallyEscaping(isCancelled) { isCancelled in
      let box = Unmanaged.passRetained(CancellationBox(isCancelled))  // released when the handler is removed
      sqlite3_progress_handler(
        pointer, Self.stepsBetweenChecks,
        // SQLite calls this only while the handler is installed.
        { data in data.map { Unmanaged<CancellationBox>.fromOpaque($0)._withUnsafeGuaranteedRef { $0.check() } } ?? false ? 1 : 0 },
        box.toOpaque())
      defer {
        sqlite3_progress_handler(pointer, 0, nil, nil)
        box.release()
      }
      return try body()
    }
  }
}

private final class CancellationBox {
  let check: () -> Bool
  init(_ check: @escaping () -> Bool) { self.check = check }
}
