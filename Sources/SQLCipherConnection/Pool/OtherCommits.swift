import Synchronization

/// Detects commits of other connections than the pool's writer, and notifies the observer.
final class OtherCommits: Sendable {
  /// The structure avoids reabstraction: a bare function in a `Mutex` would gain two closures with every `withLock`, and be called through
  /// all of them.
  private struct Listener { let tell: @Sendable () -> Void }
  private let listener = Mutex<Listener?>(nil)
  private let asked = Atomic<Bool>(false)

  /// Whether a check was requested and has not been made since.
  var isAsked: Bool { asked.load(ordering: .sequentiallyConsistent) }

  func begin(_ tell: @escaping @Sendable () -> Void) { listener.withLock { $0 = Listener(tell: tell) } }

  func ask() { asked.store(true, ordering: .sequentiallyConsistent) }

  /// Withdraws the request. Returns false if there was none.
  func stopAsking() -> Bool { asked.exchange(false, ordering: .sequentiallyConsistent) }

  /// Checks for commits of others with the writer, outside a transaction. If the check fails, returns true.
  func look(_ writer: Connection) -> Bool {
    _ = stopAsking()
    return (try? writer.othersHaveCommitted()) ?? true
  }

  func tell() { listener.withLock { $0 }?.tell() }
}

extension ConnectionPool {
  /// Starts observing commits of connections other than this pool's writer. ``lookForOthers()`` triggers a check.
  ///
  /// - Parameter tell: Called if there were such commits since this call or the last notification, by the caller that requests the check or
  ///   returns the writer. Reads that begin afterward see the commits. It must return quickly.
  package func watchOthers(_ tell: @escaping @Sendable () -> Void) throws {
    try withWriter { connection in
      _ = try connection.othersHaveCommitted()
      others.begin(tell)
    }
  }

  /// Checks whether other connections have committed. Only the writer can distinguish their commits from its own. If it is in use, the
  /// check is made when it is returned; until then no other connection can commit.
  package func lookForOthers() {
    if let writer = takeFreeWriter(noting: { others.ask() }) { giveBackWriter(writer) }
  }
}
