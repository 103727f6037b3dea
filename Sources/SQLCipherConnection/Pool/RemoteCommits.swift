import Synchronization

/// Detects commits of other connections than the pool's writer, and notifies the observer.
final class RemoteCommits: Sendable {
  /// The structure avoids reabstraction: a bare function in a `Mutex` would gain two closures with every `withLock`, and be called through
  /// all of them.
  private struct Observer { let notify: @Sendable () -> Void }
  private let observer = Mutex<Observer?>(nil)
  private let checkRequested = Atomic<Bool>(false)

  /// Whether a check was requested and has not been made since.
  var isCheckRequested: Bool { checkRequested.load(ordering: .sequentiallyConsistent) }

  func begin(_ notify: @escaping @Sendable () -> Void) { observer.withLock { $0 = Observer(notify: notify) } }

  func requestCheck() { checkRequested.store(true, ordering: .sequentiallyConsistent) }

  /// Withdraws the request. Returns false if there was none.
  func clearRequest() -> Bool { checkRequested.exchange(false, ordering: .sequentiallyConsistent) }

  /// Checks for commits of others with the writer, outside a transaction. If the check fails, returns true.
  func check(_ writer: Connection) -> Bool {
    _ = clearRequest()
    return (try? writer.hasRemoteCommits()) ?? true
  }

  func notify() { observer.withLock { $0 }?.notify() }
}

extension ConnectionPool {
  /// Starts observing commits of connections other than this pool's writer. ``checkForRemoteCommits()`` triggers a check.
  ///
  /// - Parameter notify: Called if there were such commits since this call or the last notification, by the caller that requests the check
  ///   or returns the writer. Reads that begin afterward see the commits. It must return quickly.
  package func observeRemoteCommits(_ notify: @escaping @Sendable () -> Void) throws {
    try withWriter { connection in
      _ = try connection.hasRemoteCommits()
      remoteCommits.begin(notify)
    }
  }

  /// Checks whether other connections have committed. Only the writer can distinguish their commits from its own. If it is in use, the
  /// check is made when it is returned; until then no other connection can commit.
  package func checkForRemoteCommits() {
    if let writer = takeIdleWriter(registering: { remoteCommits.requestCheck() }) { returnWriter(writer) }
  }
}
