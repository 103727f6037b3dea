// One writer and several readers on one store, for any thread; each connection is used by one caller at a time.

import Dispatch
import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

/// Hands out connections to whoever asks, and waits where all are in use. Do not ask for the writer inside its own block, for a reader
/// inside as many nested reads as there are readers, or close the pool from inside a block: nobody would give back what is waited for.
///
/// `@unchecked Sendable`: all state is read and written under `condition`; a connection is outside that state while a caller has it, and
/// only that caller uses it then. A reader is had by who has taken it (``PooledReader``), with the lock or without.
package final class ConnectionPool: @unchecked Sendable {
  /// How long a read snapshot may be used again, and after which an idle one is ended, so that checkpoints are not held up.
  package static let snapshotLifetime: UInt64 = 50_000_000

  package let path: String
  package let options: ConnectionOptions
  private let maximumReaders: Int
  let onOpen: @Sendable (Connection) throws -> Void
  let onSnapshot: @Sendable (Connection) throws -> Void
  let condition = NSCondition()
  /// The snapshots that hold still, with connections of their own.
  let held: HeldSnapshots
  /// Held by who begins one.
  let holding = NSLock()

  // Guarded by `condition`.
  var key: DatabaseKey?
  var writer: Connection?
  /// How many writers there were.
  var writerCount = 0
  var writerOwner: pthread_t?
  var isWriterTaken = false
  /// All open readers; whoever takes one has it.
  var readers: [PooledReader] = []
  /// Readers that are being opened.
  private var openingReaders = 0
  /// Snapshots that are to hold still and are being begun.
  private var beginningCount = 0
  var isExclusive = false
  /// True while some connection of the pool is open.
  private var hasConnection = false
  /// The file of the first connection: what was read from it says nothing of another.
  private var identity: FileIdentity?
  var timer: (any DispatchSourceTimer)?

  /// Changed under `condition`, and asked without it by who gives a reader back.
  private let waiters = Atomic<Int>(0)
  let commits = CommitCounter()
  /// Who wants to hear of what others commit.
  let others = OtherCommits()

  /// Opens the writer, so that a store which cannot be opened says so here; readers are opened when they are needed.
  ///
  /// - Parameters:
  ///   - onOpen: Sets up each new connection, for example with functions and collations.
  ///   - onSnapshot: Called inside each new read transaction before anybody reads in it; it may refuse it.
  ///   - log: How long the log may become for snapshots that are held.
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
    held = HeldSnapshots(log, path: path)
    try Descriptors.check(path: path)
    writer = try makeConnection(key)
    writerCount = 1
    held.whenLastEnds { [weak self] in self?.shortenLogSoon() }
  }

  deinit {
    timer?.cancel()
  }

  /// The number of commits of this pool's writer.
  package var commitCount: UInt64 { commits.value }

  /// Runs `body` with the one writer, waiting for its turn. It opens no transaction itself.
  package func withWriter<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    let connection = try takeWriter()
    defer { giveBackWriter(connection) }
    return try body(connection)
  }

  /// Runs `body` with a reader inside a read transaction.
  ///
  /// - Parameters:
  ///   - reusingSnapshot: True takes a transaction that is still open, where this pool's writer has committed nothing since it began and it
  ///     is younger than `snapshotLifetime`, and leaves it open for the next caller; the caller checks the sentinel itself. False begins a
  ///     new one, checks the sentinel at its end, and ends it.
  package func withReader<Result>(reusingSnapshot: Bool = false, _ body: (Connection) throws -> Result) throws -> Result {
    // Counted before the snapshot is taken: a commit in between makes it look older than it is, never newer.
    let (reader, count) = try takeReader(reusingSnapshot: reusingSnapshot)
    do {
      try begin(reader, count, reusingSnapshot: reusingSnapshot)
      let result = try body(reader.connection)
      if !reusingSnapshot {
        try reader.connection.checkSentinel()
        reader.snapshot = nil
        try reader.connection.endRead()
      }
      giveBack(reader)
      return result
    } catch {
      giveBackAfterError(reader)
      throw error
    }
  }

  /// Closes every connection, waits until none is in use, runs `body` while nobody else can have one, and lets go again.
  ///
  /// - Returns: What `body` returns; with a new key, all connections opened from then on use it.
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

  /// Waits for whoever has a connection, closes all, and forgets the key. Later calls throw `.closed`.
  package func close() {
    condition.lock()
    key = nil
    wait { !isExclusive && beginningCount == 0 }
    condition.unlock()
    // They would be waited for as long as anybody likes to hold them.
    held.shut()
    condition.lock()
    wait { closeConnections() }
    timer?.cancel()
    timer = nil
    wakeWaiters()
    condition.unlock()
  }

  // MARK: - Readers

  /// A reader in a snapshot that may be reused, for who reads little and often: the one that he had last, without a lock, where nobody has it now.
  ///
  /// To have had a reader is no claim on it: who waits for one, for exclusive access or for the end gets it as any other. The caller gives it back
  /// at once, with ``putBack(_:)`` or ``giveBackAfterError(_:)``, and checks the sentinel himself.
  ///
  /// - Parameters:
  ///   - last: The reader that the caller had last.
  ///   - isRenewed: Whether the snapshot has to be a new one.
  package func takeSnapshot(_ last: PooledReader?, isRenewed: Bool = false) throws -> PooledReader {
    let (reader, count): (PooledReader, UInt64)
    // Who waits goes before who comes back.
    if waiters.load(ordering: .relaxed) == 0, let last, last.take() {
      (reader, count) = (last, commitCount)
    } else {
      (reader, count) = try takeReader(reusingSnapshot: true)
    }
    if !isRenewed, reader.isCurrent(count) { return reader }
    do {
      try begin(reader, count, reusingSnapshot: !isRenewed)
    } catch {
      giveBackAfterError(reader)
      throw error
    }
    return reader
  }

  /// A reader, and the number of commits at this moment.
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
        wakeWaiters()
      }
      throw error
    }
  }

  /// Brings a reader that was taken into a snapshot.
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

  /// Under the lock: for a reuse one whose snapshot is current, else preferably one without a snapshot.
  private func takeIdleReader(reusingSnapshot: Bool) -> PooledReader? {
    let count = commitCount
    var best: PooledReader?
    for reader in readers.reversed() where reader.take() {
      let isWanted = reusingSnapshot ? reader.snapshot == count : reader.snapshot == nil
      if isWanted || best == nil || reader.snapshot == nil && best?.snapshot != nil {
        best?.release()
        best = reader
      } else {
        reader.release()
      }
      if isWanted { break }
    }
    return best
  }

  /// Gives a reader back in its snapshot, without a lock where that is known to be ended in time.
  @inline(__always) package func putBack(_ reader: PooledReader) {
    guard reader.isTimed, !reader.connection.isDamaged else { return giveBack(reader) }
    reader.release()
    // Either this sees who waits, or he sees the reader: he counts himself before he looks, and the reader is back before this looks.
    if waiters.load(ordering: .sequentiallyConsistent) > 0 { wake() }
  }

  @inline(never) private func wake() { locked { wakeWaiters() } }

  /// Gives a reader back, and ends its snapshot.
  package func giveBackAfterError(_ reader: PooledReader) {
    reader.endSnapshot()
    giveBack(reader)
  }

  private func giveBack(_ reader: PooledReader) {
    locked {
      if reader.connection.isDamaged {
        reader.close()
        readers.removeAll { $0 === reader }
      } else {
        // Nothing would end it.
        if reader.snapshot != nil, !startTimer() { reader.endSnapshot() }
        reader.isTimed = reader.snapshot != nil
        reader.release()
      }
      wakeWaiters()
    }
  }

  /// Under the lock. False where no timer can be had.
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

  /// Ends the open snapshots that are too old to be used again; stops the timer when none is left.
  private func endOldSnapshots() {
    locked {
      if endIdleSnapshots(where: { $0.isOld }) { return }
      timer?.cancel()
      timer = nil
    }
  }

  /// Under the lock: ends the open snapshots that nobody uses just now, and that are of a kind; all by default.
  ///
  /// - Returns: Whether some reader may still have one.
  @discardableResult
  func endIdleSnapshots(where isToEnd: (PooledReader) -> Bool = { _ in true }) -> Bool {
    var hasSnapshot = false
    for reader in readers {
      // One that is in use may come back with a snapshot.
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

  // MARK: - All

  private func beginExclusive() throws -> DatabaseKey {
    condition.lock()
    defer { condition.unlock() }
    wait { !isExclusive }
    guard let key else { throw closed(.exclusiveAccess) }
    isExclusive = true
    wait { beginningCount == 0 }
    condition.unlock()
    held.shut()
    condition.lock()
    wait { closeConnections() }
    return key
  }

  private func endExclusive() {
    held.reopen()
    locked {
      isExclusive = false
      commits.add()
      wakeWaiters()
    }
    // No connection is left that would know.
    if others.stopAsking() { others.tell() }
  }

  /// Under the lock: closes the readers that nobody uses, and once all are closed and the writer is there that one. False where some is in use.
  private func closeConnections() -> Bool {
    readers.removeAll { reader in
      guard reader.take() else { return false }
      reader.close()
      return true
    }
    guard readers.isEmpty, openingReaders == 0, !isWriterTaken else { return false }
    // The writer last: the last connection copies the log into the file.
    writer?.close()
    writer = nil
    hasConnection = false
    return true
  }

  /// Runs `body`, which begins a snapshot that is to hold still, while nobody gets exclusive access.
  func beginningSnapshot<Result>(_ body: (DatabaseKey) throws -> Result) throws -> Result {
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
        wakeWaiters()
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
    if options.isReadOnly { connection.takesBack = { [weak self] () throws(StoreAccessError) in try self?.takeBack() } }
    try onOpen(connection)
    return connection
  }

  /// Takes back what another process was killed in: a connection that only reads cannot.
  private func takeBack() throws(StoreAccessError) {
    guard let key = locked({ key }) else { throw closed(.read) }
    try Connection.takeBack(path, key: key, options: options)
  }

  /// Waits, under the lock, until a condition holds that changes where somebody gives something back.
  func wait(until holds: () -> Bool) {
    if holds() { return }
    // Counted before it is asked again, see `putBack`.
    waiters.add(1, ordering: .sequentiallyConsistent)
    while !holds() { condition.wait() }
    waiters.subtract(1, ordering: .relaxed)
  }

  /// Under the lock. Waking costs a call into the system's library even where nobody waits.
  func wakeWaiters() {
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
