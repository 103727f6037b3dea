// One writer and several readers on one store, for any thread; each connection is used by one caller at a time.

import Dispatch
import Foundation
import StoreFiles
package import StoreKeys

/// Hands out connections to whoever asks, and waits where all are in use. Do not ask for the writer inside its own block, for a reader
/// inside as many nested reads as there are readers, or close the pool from inside a block: nobody would give back what is waited for.
///
/// `@unchecked Sendable`: all state is read and written under `condition`; a connection is outside that state while a caller has it, and
/// only that caller uses it then.
package final class ConnectionPool: @unchecked Sendable {
  /// How long a read snapshot may be used again, and after which an idle one is ended, so that checkpoints are not held up.
  package static let snapshotLifetime: UInt64 = 50_000_000

  private struct Reader {
    let connection: Connection
    /// The pool's commit count when the open snapshot was begun; nil where none is open.
    var snapshot: UInt64?
    var begun: UInt64 = 0
  }

  package let path: String
  package let options: ConnectionOptions
  private let maximumReaders: Int
  let onOpen: @Sendable (Connection) throws -> Void
  private let onSnapshot: @Sendable (Connection) throws -> Void
  private let condition = NSCondition()

  // Guarded by `condition`.
  private var key: DatabaseKey?
  private var writer: Connection?
  private var writerOwner: pthread_t?
  private var isWriterTaken = false
  private var idleReaders: [Reader] = []
  private var readerCount = 0
  private var isExclusive = false
  private var waiters = 0
  private var commits: UInt64 = 0
  /// True while some connection of the pool is open.
  private var hasConnection = false
  /// The file of the first connection: what was read from it says nothing of another.
  private var identity: FileIdentity?
  private var timer: (any DispatchSourceTimer)?

  /// Opens the writer, so that a store which cannot be opened says so here; readers are opened when they are needed.
  ///
  /// - Parameters:
  ///   - onOpen: Sets up each new connection, for example with functions and collations.
  ///   - onSnapshot: Called inside each new read transaction before anybody reads in it; it may refuse it.
  package init(
    path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions(), maximumReaders: Int = 4,
    onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in },
    onSnapshot: @escaping @Sendable (Connection) throws -> Void = { _ in }
  ) throws {
    self.path = path
    self.options = options
    self.maximumReaders = max(1, maximumReaders)
    self.onOpen = onOpen
    self.onSnapshot = onSnapshot
    self.key = key
    try Descriptors.check(path: path)
    writer = try makeConnection(key)
  }

  deinit {
    timer?.cancel()
  }

  /// The number of commits of this pool's writer.
  package var commitCount: UInt64 { locked { commits } }

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
    var (reader, count) = try takeReader(reusingSnapshot: reusingSnapshot)
    do {
      let now = Self.now()
      if let snapshot = reader.snapshot, !reusingSnapshot || snapshot != count || now - reader.begun > Self.snapshotLifetime {
        reader.snapshot = nil
        try reader.connection.endRead()
      }
      if reader.snapshot == nil {
        try reader.connection.beginRead()
        reader.snapshot = count
        reader.begun = now
        try onSnapshot(reader.connection)
      }
      let result = try body(reader.connection)
      if !reusingSnapshot {
        try reader.connection.checkSentinel()
        reader.snapshot = nil
        try reader.connection.endRead()
      }
      giveBack(reader)
      return result
    } catch {
      reader.connection.abandonTransaction()
      reader.snapshot = nil
      giveBack(reader)
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
    while isWriterTaken || readerCount > idleReaders.count || isExclusive { wait() }
    closeConnections()
    timer?.cancel()
    timer = nil
    wakeWaiters()
    condition.unlock()
  }

  // MARK: - Writer

  /// Waits for the one writer; the caller gives it back with ``giveBackWriter(_:)``. It opens no transaction itself.
  package func takeWriter() throws -> Connection {
    let me = pthread_self()
    condition.lock()
    if let writerOwner, isWriterTaken, pthread_equal(writerOwner, me) != 0 {
      condition.unlock()
      throw StoreAccessError(.misuse(.writerInItself), path: path, operation: .write)
    }
    while (isWriterTaken || isExclusive) && key != nil { wait() }
    guard let key else {
      condition.unlock()
      throw closed(.write)
    }
    isWriterTaken = true
    writerOwner = me
    let known = writer
    condition.unlock()
    if let known { return known }
    // Outside the lock: it may have to wait for another process.
    do {
      let connection = try makeConnection(key)
      locked { writer = connection }
      return connection
    } catch {
      locked {
        isWriterTaken = false
        writerOwner = nil
        wakeWaiters()
      }
      throw error
    }
  }

  /// Lets the next one have the writer. What is open on it is rolled back.
  package func giveBackWriter(_ connection: Connection) {
    connection.abandonTransaction()
    locked {
      commits += 1  // also for a caller that committed by hand
      if connection.isDamaged {
        connection.close()
        writer = nil
      }
      isWriterTaken = false
      writerOwner = nil
      wakeWaiters()
    }
  }

  // MARK: - Readers

  /// A reader, and the number of commits at this moment.
  private func takeReader(reusingSnapshot: Bool) throws -> (reader: Reader, commits: UInt64) {
    condition.lock()
    while let key {
      if !isExclusive, let reader = takeIdleReader(reusingSnapshot: reusingSnapshot) {
        let count = commits
        condition.unlock()
        return (reader, count)
      }
      if !isExclusive, readerCount < maximumReaders {
        readerCount += 1
        let count = commits
        condition.unlock()
        do {
          return (Reader(connection: try makeConnection(key)), count)
        } catch {
          locked {
            readerCount -= 1
            wakeWaiters()
          }
          throw error
        }
      }
      wait()
    }
    condition.unlock()
    throw closed(.read)
  }

  /// Under the lock: for a reuse one whose snapshot is current, else preferably one without a snapshot.
  private func takeIdleReader(reusingSnapshot: Bool) -> Reader? {
    if reusingSnapshot, let index = idleReaders.lastIndex(where: { $0.snapshot == commits }) { return idleReaders.remove(at: index) }
    if let index = idleReaders.lastIndex(where: { $0.snapshot == nil }) { return idleReaders.remove(at: index) }
    return idleReaders.popLast()
  }

  private func giveBack(_ reader: Reader) {
    locked {
      if reader.connection.isDamaged {
        reader.connection.close()
        readerCount -= 1
      } else {
        var reader = reader
        if reader.snapshot != nil, !startTimer() {
          // Nothing would end it.
          reader.connection.abandonTransaction()
          reader.snapshot = nil
        }
        idleReaders.append(reader)
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
    timer.setEventHandler { [weak self] in self?.endIdleSnapshots() }
    self.timer = timer
    timer.resume()
    return true
  }

  /// Ends the open snapshots that are too old to be used again; stops the timer when none is left.
  private func endIdleSnapshots() {
    locked {
      let now = Self.now()
      for index in idleReaders.indices where idleReaders[index].snapshot != nil {
        guard now - idleReaders[index].begun > Self.snapshotLifetime else { continue }
        idleReaders[index].connection.abandonTransaction()
        idleReaders[index].snapshot = nil
      }
      // One that is in use may come back with a snapshot, and starts the timer anew.
      if !idleReaders.contains(where: { $0.snapshot != nil }) {
        timer?.cancel()
        timer = nil
      }
    }
  }

  // MARK: - All

  private func beginExclusive() throws -> DatabaseKey {
    condition.lock()
    defer { condition.unlock() }
    while isExclusive { wait() }
    guard let key else { throw closed(.exclusiveAccess) }
    isExclusive = true
    while isWriterTaken || readerCount > idleReaders.count { wait() }
    closeConnections()
    return key
  }

  private func endExclusive() {
    locked {
      isExclusive = false
      commits += 1
      wakeWaiters()
    }
  }

  /// Under the lock, with no connection in use.
  private func closeConnections() {
    for reader in idleReaders { reader.connection.close() }
    idleReaders = []
    readerCount = 0
    // The writer last: the last connection copies the log into the file.
    writer?.close()
    writer = nil
    hasConnection = false
  }

  private func makeConnection(_ key: DatabaseKey) throws -> Connection {
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
    connection.didCommit = { [weak self] in self?.locked { self?.commits += 1 } }
    try onOpen(connection)
    return connection
  }

  /// Waits, under the lock, for somebody to give something back.
  private func wait() {
    waiters += 1
    condition.wait()
    waiters -= 1
  }

  /// Under the lock. Waking costs a call into the system's library even where nobody waits.
  private func wakeWaiters() {
    if waiters > 0 { condition.broadcast() }
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    condition.lock()
    defer { condition.unlock() }
    return body()
  }

  private func closed(_ operation: StoreAccessError.Operation) -> StoreAccessError {
    StoreAccessError(.closed, path: path, operation: operation)
  }

  private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }
}
