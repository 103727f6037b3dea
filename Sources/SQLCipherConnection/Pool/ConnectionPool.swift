import Dispatch
import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

/// A thread-safe pool of one writer and several readers of a store. Callers wait if all connections are in use.
///
/// Do not request the writer inside its own block, a reader inside as many nested reads as there are readers, or close the pool inside a
/// block: these calls would deadlock.
///
/// `@unchecked Sendable`: all state is accessed under `condition`. A connection that a caller has taken is not part of that state; only
/// that caller uses it. A reader belongs to the caller that has taken it (``PooledReader``), with the lock or without.
package final class ConnectionPool: @unchecked Sendable {
  /// The age in nanoseconds up to which a read snapshot is reused. Older idle snapshots are ended, so that they do not block checkpoints.
  package static let snapshotLifetime: UInt64 = 50_000_000

  package let path: String
  package let options: ConnectionOptions
  private let maximumReaders: Int
  let onOpen: @Sendable (Connection) throws -> Void
  let onSnapshot: @Sendable (Connection) throws -> Void
  let condition = NSCondition()
  /// The held snapshots, which have connections of their own.
  let heldSnapshots: HeldSnapshots
  /// Serializes the creation of held snapshots.
  let holdLock = NSLock()

  // Guarded by `condition`.
  var key: DatabaseKey?
  var writer: Connection?
  /// The number of writers opened so far.
  var writerCount = 0
  var writerOwner: pthread_t?
  var isWriterTaken = false
  /// All open readers, including those in use.
  var readers: [PooledReader] = []
  private var openingReaders = 0
  private var beginningCount = 0
  var isExclusive = false
  private var hasConnection = false
  /// The file of the first connection. Data read from it does not apply to another file.
  private var identity: FileIdentity?
  var timer: (any DispatchSourceTimer)?

  /// The number of waiting callers. Changed under `condition`, and read without it when a reader is returned.
  private let waiters = Atomic<Int>(0)
  let commits = CommitCounter()
  /// Detects commits of other connections for observers.
  let remoteCommits = RemoteCommits()

  /// Opens the writer, so that errors of opening the store are thrown here. Readers are opened on demand.
  ///
  /// - Parameters:
  ///   - onOpen: Sets up each new connection, for example with functions and collations.
  ///   - onSnapshot: Called in each new read transaction before any other read. An error that it throws rejects the transaction.
  ///   - log: The limits for the size of the log while snapshots are held.
  package init(
    path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions(), maximumReaders: Int = 4, log: LogLimits = LogLimits(),
    onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in },
    onSnapshot: @escaping @Sendable (Connection) throws -> Void = { _ in }
  ) throws {
    self.path = path
    self.options = options
    self.maximumReaders = max(1, maximumReaders)
    self.onOpen = onOpen
    self.onSnapshot = onSnapshot
    self.key = key
    heldSnapshots = HeldSnapshots(log, path: path)
    try Descriptors.check(path: path)
    writer = try makeConnection(key)
    writerCount = 1
    heldSnapshots.onLastSnapshotEnd { [weak self] in self?.scheduleLogTruncation() }
  }

  deinit {
    timer?.cancel()
  }

  /// The number of commits of this pool's writer.
  package var commitCount: UInt64 { commits.value }

  /// Waits for the writer, and runs `body` with it. No transaction is begun.
  package func withWriter<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    let connection = try takeWriter()
    defer { returnWriter(connection) }
    return try body(connection)
  }

  /// Runs `body` with a reader in a read transaction.
  ///
  /// - Parameters:
  ///   - reusingSnapshot: If true, reuses a transaction that is still open, is younger than `snapshotLifetime`, and after whose start this
  ///     pool's writer has not committed. It stays open for the next caller, and the caller must check the sentinel. If false, begins a
  ///     transaction, checks the sentinel at its end, and ends it.
  package func withReader<Result>(reusingSnapshot: Bool = false, _ body: (Connection) throws -> Result) throws -> Result {
    // The count is read before the snapshot is taken: a commit in between makes the snapshot look older than it is, never newer.
    let (reader, count) = try takeReader(reusingSnapshot: reusingSnapshot)
    do {
      try begin(reader, count, reusingSnapshot: reusingSnapshot)
      let result = try body(reader.connection)
      if !reusingSnapshot {
        try reader.connection.checkSentinel()
        reader.snapshot = nil
        try reader.connection.endRead()
      }
      recycle(reader)
      return result
    } catch {
      returnReaderAfterError(reader)
      throw error
    }
  }

  /// Waits until no connection is in use, closes all, and runs `body` with exclusive access.
  ///
  /// - Returns: The result of `body`. If it returns a key, connections opened from then on use that key.
  package func withExclusiveAccess<Result>(_ body: (DatabaseKey) throws -> (result: Result, key: DatabaseKey?)) throws -> Result {
    let key = try beginExclusive()
    defer { endExclusive() }
    let outcome = try body(key)
    if let newKey = outcome.key {
      locked {
        self.key = newKey
        identity = nil
      }
    }
    return outcome.result
  }

  /// Waits until no connection is in use, closes all, and discards the key. Later calls throw `.closed`.
  package func close() {
    condition.lock()
    key = nil
    wait { !isExclusive && beginningCount == 0 }
    condition.unlock()
    // Waiting for held snapshots could take indefinitely.
    heldSnapshots.shut()
    condition.lock()
    wait { closeConnections() }
    timer?.cancel()
    timer = nil
    notifyWaiters()
    condition.unlock()
  }

  // MARK: - Readers

  /// Takes a reader in a reusable snapshot, for callers that read little and often. If the caller's last reader is idle, takes it without
  /// locking.
  ///
  /// A caller has no claim on its last reader: other readers, exclusive access and closing can take it. The caller must return the reader
  /// promptly with ``returnReader(_:)`` or ``returnReaderAfterError(_:)``, and check the sentinel.
  ///
  /// - Parameters:
  ///   - last: The reader that the caller used last.
  ///   - isRenewed: Whether to begin a new snapshot.
  package func takeSnapshot(_ last: PooledReader?, isRenewed: Bool = false) throws -> PooledReader {
    let (reader, count): (PooledReader, UInt64)
    // Waiting callers take precedence.
    if waiters.load(ordering: .relaxed) == 0, let last, last.take() {
      (reader, count) = (last, commitCount)
    } else {
      (reader, count) = try takeReader(reusingSnapshot: true)
    }
    if !isRenewed, reader.isCurrent(count) { return reader }
    do {
      try begin(reader, count, reusingSnapshot: !isRenewed)
    } catch {
      returnReaderAfterError(reader)
      throw error
    }
    return reader
  }

  /// Takes a reader, and returns it with the current number of commits.
  private func takeReader(reusingSnapshot: Bool) throws -> (reader: PooledReader, commits: UInt64) {
    condition.lock()
    var found: PooledReader?
    wait {
      if key == nil { return true }
      if isExclusive { return false }
      found = takeIdleReader(reusingSnapshot: reusingSnapshot)
      return found != nil || readers.count + openingReaders < maximumReaders
    }
    let count = commitCount
    guard let key else {
      condition.unlock()
      throw closed(.read)
    }
    if found == nil { openingReaders += 1 }
    condition.unlock()
    if let found { return (found, count) }
    do {
      let reader = PooledReader(try makeConnection(key))
      locked {
        openingReaders -= 1
        readers.append(reader)
      }
      return (reader, count)
    } catch {
      locked {
        openingReaders -= 1
        notifyWaiters()
      }
      throw error
    }
  }

  /// Begins or reuses the snapshot of a taken reader.
  private func begin(_ reader: PooledReader, _ count: UInt64, reusingSnapshot: Bool) throws {
    if reader.snapshot != nil, !reusingSnapshot || !reader.isCurrent(count) {
      reader.snapshot = nil
      try reader.connection.endRead()
    }
    if reader.snapshot == nil {
      try reader.connection.beginRead()
      reader.begin(count)
      try onSnapshot(reader.connection)
    }
  }

  /// Takes an idle reader, under the lock: to reuse a snapshot, preferably one whose snapshot is current, otherwise preferably one without
  /// a snapshot.
  private func takeIdleReader(reusingSnapshot: Bool) -> PooledReader? {
    let count = commitCount
    var best: PooledReader?
    for reader in readers.reversed() where reader.take() {
      let matches = reusingSnapshot ? reader.snapshot == count : reader.snapshot == nil
      if matches || best == nil || reader.snapshot == nil && best?.snapshot != nil {
        best?.release()
        best = reader
      } else {
        reader.release()
      }
      if matches { break }
    }
    return best
  }

  /// Returns a reader with its snapshot to the pool, without locking if the timer is certain to end the snapshot.
  @inline(__always) package func returnReader(_ reader: PooledReader) {
    guard reader.isTimed, !reader.connection.isDamaged else { return recycle(reader) }
    reader.release()
    // Either this load sees the waiter, or the waiter sees the reader: a waiter counts itself before it looks, and the reader is released
    // before this load.
    if waiters.load(ordering: .sequentiallyConsistent) > 0 { notifyAll() }
  }

  @inline(never) private func notifyAll() { locked { notifyWaiters() } }

  /// Ends the snapshot of a reader, and returns the reader to the pool.
  package func returnReaderAfterError(_ reader: PooledReader) {
    reader.endSnapshot()
    recycle(reader)
  }

  private func recycle(_ reader: PooledReader) {
    locked {
      if reader.connection.isDamaged {
        reader.close()
        readers.removeAll { $0 === reader }
      } else {
        // Without a timer, the snapshot would stay open.
        if reader.snapshot != nil, !startTimer() { reader.endSnapshot() }
        reader.isTimed = reader.snapshot != nil
        reader.release()
      }
      notifyWaiters()
    }
  }

  /// Starts the timer, under the lock. Returns false if no timer is available.
  private func startTimer() -> Bool {
    guard timer == nil else { return true }
    guard Descriptors.mayMakeTimer() else { return false }
    let timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
    timer.schedule(deadline: .now() + .milliseconds(50), repeating: .milliseconds(50), leeway: .milliseconds(10))
    timer.setEventHandler { [weak self] in self?.endOldSnapshots() }
    self.timer = timer
    timer.resume()
    return true
  }

  /// Ends snapshots that are too old to reuse, and stops the timer once none is open.
  private func endOldSnapshots() {
    locked {
      if endIdleSnapshots(where: { $0.isOld }) { return }
      timer?.cancel()
      timer = nil
    }
  }

  /// Ends the open snapshots of idle readers that satisfy a predicate, under the lock; all by default.
  ///
  /// - Returns: Whether any reader may still have a snapshot.
  @discardableResult
  func endIdleSnapshots(where isToEnd: (PooledReader) -> Bool = { _ in true }) -> Bool {
    var hasSnapshot = false
    for reader in readers {
      // A reader in use may be returned with a snapshot.
      guard reader.take() else {
        hasSnapshot = true
        continue
      }
      if reader.snapshot != nil, isToEnd(reader) { reader.endSnapshot() }
      hasSnapshot = hasSnapshot || reader.snapshot != nil
      reader.release()
    }
    return hasSnapshot
  }

  // MARK: - Exclusive access

  private func beginExclusive() throws -> DatabaseKey {
    condition.lock()
    defer { condition.unlock() }
    wait { !isExclusive }
    guard let key else { throw closed(.exclusiveAccess) }
    isExclusive = true
    wait { beginningCount == 0 }
    condition.unlock()
    heldSnapshots.shut()
    condition.lock()
    wait { closeConnections() }
    return key
  }

  private func endExclusive() {
    heldSnapshots.reopen()
    locked {
      isExclusive = false
      commits.add()
      notifyWaiters()
    }
    // No connection is left that could detect other commits.
    if remoteCommits.clearRequest() { remoteCommits.notify() }
  }

  /// Closes idle readers, under the lock, and the writer once all readers are closed. Returns false if any connection is in use.
  private func closeConnections() -> Bool {
    readers.removeAll { reader in
      guard reader.take() else { return false }
      reader.close()
      return true
    }
    guard readers.isEmpty, openingReaders == 0, !isWriterTaken else { return false }
    // The writer last: closing the last connection copies the log into the file.
    writer?.close()
    writer = nil
    hasConnection = false
    return true
  }

  /// Runs `body`, which begins a held snapshot, while preventing exclusive access.
  func withNewSnapshot<Result>(_ body: (DatabaseKey) throws -> Result) throws -> Result {
    condition.lock()
    wait { !isExclusive || key == nil }
    guard let key else {
      condition.unlock()
      throw closed(.read)
    }
    beginningCount += 1
    condition.unlock()
    defer {
      locked {
        beginningCount -= 1
        notifyWaiters()
      }
    }
    return try body(key)
  }

  func makeConnection(_ key: DatabaseKey) throws -> Connection {
    var options = options
    options.trustsLog = locked { hasConnection }
    let connection = try Connection(opening: path, key: key, options: options)
    let isSame = locked {
      identity = identity ?? connection.place?.identity
      guard identity == connection.place?.identity else { return false }
      hasConnection = true
      return true
    }
    guard isSame else {
      connection.close()
      throw StoreAccessError(.exchanged, path: path, operation: .open)
    }
    connection.commits = commits
    if options.isReadOnly { connection.recoverJournal = { [weak self] () throws(StoreAccessError) in try self?.recoverJournal() } }
    try onOpen(connection)
    return connection
  }

  /// Rolls back the interrupted transaction of another process, which a read-only connection cannot do.
  private func recoverJournal() throws(StoreAccessError) {
    guard let key = locked({ key }) else { throw closed(.read) }
    try Connection.recoverJournal(path, key: key, options: options)
  }

  /// Waits, under the lock, until a condition holds. Only returning a connection may change the condition.
  func wait(until isSatisfied: () -> Bool) {
    if isSatisfied() { return }
    // Counted before the condition is evaluated again; see `returnReader`.
    waiters.add(1, ordering: .sequentiallyConsistent)
    while !isSatisfied() { condition.wait() }
    waiters.subtract(1, ordering: .relaxed)
  }

  /// Notifies waiters, under the lock. The check avoids a system library call if no caller waits.
  func notifyWaiters() {
    if waiters.load(ordering: .relaxed) > 0 { condition.broadcast() }
  }

  func locked<Result>(_ body: () -> Result) -> Result {
    condition.lock()
    defer { condition.unlock() }
    return body()
  }

  func closed(_ operation: StoreAccessError.Operation) -> StoreAccessError {
    StoreAccessError(.closed, path: path, operation: operation)
  }
}
