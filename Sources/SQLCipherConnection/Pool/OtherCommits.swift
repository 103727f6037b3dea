// OtherCommits: whether anybody but a pool's writer has committed, for who wants to know.

import Synchronization

/// What a pool keeps of who wants to hear of the commits of others.
final class OtherCommits: Sendable {
  /// A function by itself would be wrapped once more with each `withLock`, since a lock keeps it in another form than a call needs: it would grow by two
  /// closures with every commit that is told, and be called through all of them.
  private struct Listener { let tell: @Sendable () -> Void }
  private let listener = Mutex<Listener?>(nil)
  private let asked = Atomic<Bool>(false)

  /// Whether somebody has asked, and nobody has looked since.
  var isAsked: Bool { asked.load(ordering: .sequentiallyConsistent) }

  func begin(_ tell: @escaping @Sendable () -> Void) { listener.withLock { $0 = Listener(tell: tell) } }

  /// Notes that somebody wants to know.
  func ask() { asked.store(true, ordering: .sequentiallyConsistent) }

  /// Takes the note back; false where there was none.
  func stopAsking() -> Bool { asked.exchange(false, ordering: .sequentiallyConsistent) }

  /// Looks, with the writer outside of a transaction. Where it cannot tell, others may have committed.
  func look(_ writer: Connection) -> Bool {
    _ = stopAsking()
    return (try? writer.othersHaveCommitted()) ?? true
  }

  /// Tells whoever listens.
  func tell() { listener.withLock { $0 }?.tell() }
}

extension ConnectionPool {
  /// Begins to tell of commits that are not of this pool's writer, when somebody asks with ``lookForOthers()``.
  ///
  /// - Parameter tell: Called when some have come since this was called or it was told last: by whoever asks, or gives the writer back. Whoever begins
  ///   to read then sees them. It takes a note and returns.
  package func watchOthers(_ tell: @escaping @Sendable () -> Void) throws {
    try withWriter { connection in
      _ = try connection.othersHaveCommitted()
      others.begin(tell)
    }
  }

  /// Finds out whether others have committed. The writer knows them from its own: where it is in use, whoever gives it back finds out; as long as it
  /// writes nobody else can.
  package func lookForOthers() {
    if let writer = takeFreeWriter(noting: { others.ask() }) { giveBackWriter(writer) }
  }
}
