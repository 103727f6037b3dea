package import Foundation
import StoreFiles
import StoreKeys
import Synchronization

/// The limits for the size of the log while held snapshots prevent it from restarting.
package struct LogLimits: Sendable {
  /// The size in bytes from which the observer is notified, and the log file is truncated once no snapshot is held.
  package var warningSize = 64 << 20
  /// The size in bytes from which each commit ends the oldest snapshot; nil for no limit.
  package var maximumSize: Int? = 512 << 20
  /// Called with the size of the log in bytes and the number of held snapshots, once per continuous period of held snapshots.
  package var onWarning: @Sendable (_ size: Int, _ snapshots: Int) -> Void = { _, _ in }
  /// Called with the size of the log in bytes when a snapshot is ended because of it.
  package var onEnding: @Sendable (_ size: Int) -> Void = { _ in }

  package init() {}
}

/// The held snapshots of a pool, and the limits on its log.
///
/// While there are any, SQLite starts no automatic checkpoints (see ``Connection/setLogObserver(_:)``). A checkpoint is tried whenever the
/// log has doubled.
///
/// `@unchecked Sendable`: all state is accessed under `condition`. Only the caller that took a connection uses it.
final class HeldSnapshots: @unchecked Sendable {
  private struct Entry {
    weak var snapshot: HeldSnapshot?
  }

  private let limits: LogLimits
  private let logPath: String
  private let condition = NSCondition()
  // Guarded by `condition`.
  /// The snapshots in the order in which they began.
  private var entries: [Entry] = []
  /// The connection of an ended snapshot, for the next one.
  private var spare: Connection?
  /// A connection that reports whether others have committed. It is never in a transaction.
  private var probe: Connection?
  private var probeCount = 0
  /// Whether the pool has exclusive access or is closed.
  private var isShut = false
  /// The number of pages in the log at the last attempt of a checkpoint; 0 before the first.
  private var lastCheckpointPages = 0
  private var hasWarned = false
  /// The size of the log file at the last check, or after a commit of the pool's writer. Growth beyond it results from commits of other
  /// processes.
  private var knownSize = 0

  /// The number of connections of snapshots. Changed under `condition`, and read without it by the writer.
  private let openCount = Atomic<Int>(0)
  private let nextCheck = Atomic<UInt64>(0)
  /// Called when the last snapshot ends.
  private let observers = Mutex<[@Sendable () -> Void]>([])

  init(_ limits: LogLimits, path: String) {
    self.limits = limits
    logPath = path + "-wal"
  }

  deinit {
    spare?.close()
    probe?.close()
  }

  @inline(__always) var hasHeldSnapshots: Bool { openCount.load(ordering: .relaxed) > 0 }

  /// Registers a function that is called when the last snapshot ends, except when it ends for exclusive access.
  func onLastSnapshotEnd(_ body: @escaping @Sendable () -> Void) { observers.withLock { $0.append(body) } }

  // MARK: Beginning

  /// Returns the version of other connections' commits, from a connection kept for this purpose. Calls must be serialized.
  func version(open: () throws -> Connection) throws -> HeldSnapshot.State.Version {
    let (known, number) = locked { () -> (Connection?, Int) in
      defer { probe = nil }
      if probe == nil { probeCount += 1 }
      return (probe, probeCount)
    }
    let connection = try known ?? open()
    do {
      let version = try connection.dataVersion()
      keep(probe: connection)
      return HeldSnapshot.State.Version(connection: number, number: version)
    } catch {
      connection.close()
      throw error
    }
  }

  private func keep(probe connection: Connection) {
    let isKept = locked { () -> Bool in
      guard !isShut, probe == nil else { return false }
      probe = connection
      return true
    }
    if !isKept { connection.close() }
  }

  /// Returns the last snapshot if it has the given state and can be read.
  func last(of state: HeldSnapshot.State) -> HeldSnapshot? {
    let last = locked { entries.last?.snapshot }
    guard let last, last.state.isSame(as: state), !last.isOver else { return nil }
    return last
  }

  /// Returns a connection for a new snapshot.
  func takeConnection(open: () throws -> Connection) throws -> Connection {
    let known = locked { () -> Connection? in
      defer { spare = nil }
      return spare
    }
    return try known ?? open()
  }

  /// Adds a snapshot for a connection whose transaction has begun.
  func add(_ connection: Connection, companion: AnyObject?, state: HeldSnapshot.State) -> HeldSnapshot {
    let snapshot = HeldSnapshot(connection, companion: companion, state: state, of: self)
    let size = StoreFile.size(logPath) ?? 0
    let liveSnapshots = locked { () -> [HeldSnapshot] in
      // Earlier sizes do not matter: without held snapshots, the file is overwritten from its start.
      if openCount.add(1, ordering: .sequentiallyConsistent).newValue == 1 { knownSize = size }
      let liveSnapshots = entries.compactMap(\.snapshot) + [snapshot]
      entries = liveSnapshots.map { Entry(snapshot: $0) }
      return liveSnapshots
    }
    // Not released under the lock, which the deinitializer of a snapshot takes.
    withExtendedLifetime(liveSnapshots) {}
    return snapshot
  }

  // MARK: Ending

  /// Takes over the connection of an ended snapshot.
  func reclaim(_ connection: Connection) {
    if connection.isDamaged { connection.close() } else { connection.abandonTransaction() }
    let mayKeep = !connection.isClosed && connection.isInAutocommit
    if mayKeep { connection.releaseMemory() }
    let isKept = locked { () -> Bool in
      guard mayKeep, !isShut, spare == nil else { return false }
      spare = connection
      return true
    }
    if !isKept { connection.close() }
    let isLast = locked { () -> Bool in
      let rest = openCount.subtract(1, ordering: .sequentiallyConsistent).newValue
      if rest == 0 { (lastCheckpointPages, hasWarned) = (0, false) }
      condition.broadcast()
      return rest == 0 && !isShut
    }
    guard isLast else { return }
    for body in observers.withLock({ $0 }) { body() }
  }

  /// Ends all snapshots and closes all connections. No snapshot can begin until ``reopen()``. Waits for running reads.
  func shut() {
    locked { isShut = true }
    for snapshot in liveSnapshots() { snapshot.expire(waits: true) }
    let connections = locked { () -> [Connection] in
      // The connections of released snapshots are being returned.
      while openCount.load(ordering: .sequentiallyConsistent) > 0 { condition.wait() }
      entries = []
      defer { (spare, probe) = (nil, nil) }
      return [spare, probe].compactMap { $0 }
    }
    for connection in connections { connection.close() }
  }

  func reopen() { locked { isShut = false } }

  private func liveSnapshots() -> [HeldSnapshot] { locked { entries.compactMap(\.snapshot) } }

  // MARK: The log

  /// Installs or removes the log observer of a writer, so that it reports the size of the log only while snapshots are held.
  @inline(__always) func prepare(_ writer: Connection) {
    if hasHeldSnapshots != writer.hasLogObserver { setObserver(of: writer) }
  }

  @inline(never) private func setObserver(of writer: Connection) {
    writer.setLogObserver(writer.hasLogObserver ? nil : { [unowned self] in recordCommit($0, pages: $1) })
  }

  /// Handles a commit of the writer, after which the log has the given number of pages.
  private func recordCommit(_ writer: Connection, pages: Int) {
    let size = pages * (writer.format.pageSize + 24)
    let (isDue, shouldWarn) = locked { () -> (Bool, Bool) in
      let isHeld = openCount.load(ordering: .relaxed) > 0
      // The log was restarted.
      if pages < lastCheckpointPages { lastCheckpointPages = 0 }
      let last = isHeld ? max(lastCheckpointPages, writer.options.checkpointPages / 2) : writer.options.checkpointPages / 2
      let isDue = writer.options.checkpointPages > 0 && pages >= 2 * last
      if isDue { lastCheckpointPages = pages }
      knownSize = max(knownSize, size + Self.logHeaderSize)
      return (isDue, claimWarning(of: size))
    }
    if isDue { writer.checkpoint(.passive) }
    // Immediately, before another snapshot begins: a reader whose state is entirely in the database file does not prevent the log from
    // restarting.
    if enforceLimits(size, shouldWarn), !hasHeldSnapshots { writer.checkpoint(.passive) }
  }

  private static let logHeaderSize = 32
  /// The minimum time between checks of the log that reads cause, in nanoseconds.
  private static let pause: UInt64 = 50_000_000

  /// Calls ``checkLogSize()`` unless that happened recently. For frequent reads.
  @inline(__always) func checkLogSizeIfDue() {
    if CoarseClock.now() >= nextCheck.load(ordering: .relaxed) { checkLogSize() }
  }

  /// Checks whether other processes have made the log too long. The pool's writer reports only its own commits.
  ///
  /// The file is never shorter than the log, but may be longer because of earlier contents. If it has grown, it is as long as the log.
  func checkLogSize() {
    nextCheck.store(CoarseClock.now() &+ Self.pause, ordering: .relaxed)
    guard hasHeldSnapshots, let size = StoreFile.size(logPath) else { return }
    let shouldWarn = locked { () -> Bool? in
      if size <= knownSize { return nil }
      knownSize = size
      return claimWarning(of: size)
    }
    if let shouldWarn { _ = enforceLimits(size, shouldWarn) }
  }

  /// Returns, under the lock, whether to notify the observer of the log's size, which happens once.
  private func claimWarning(of size: Int) -> Bool {
    guard hasHeldSnapshots, size >= limits.warningSize, !hasWarned else { return false }
    hasWarned = true
    return true
  }

  /// - Returns: Whether a snapshot was ended.
  private func enforceLimits(_ size: Int, _ shouldWarn: Bool) -> Bool {
    if shouldWarn { limits.onWarning(size, openCount.load(ordering: .relaxed)) }
    guard let maximumSize = limits.maximumSize, size >= maximumSize, let oldest = liveSnapshots().first(where: { !$0.isOver }) else {
      return false
    }
    limits.onEnding(size)
    oldest.expire(waits: false)
    return true
  }

  /// Returns whether the log file is too long for a store without held snapshots.
  func isTooLong(_ log: Int) -> Bool { log >= min(limits.warningSize, limits.maximumSize ?? .max) }

  private func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
    condition.lock()
    defer { condition.unlock() }
    return try body()
  }
}

/// A connection whose read transaction stays open, so that all reads see the state at its beginning.
///
/// It ends when it is released, or when the pool ends it: to limit the log's size, or for exclusive access to the file. An error in a read
/// does not end it, unless a page failed its check or SQLite rolled back the transaction.
///
/// `@unchecked Sendable`: the connection is used only under `lock`, by one reader at a time.
package final class HeldSnapshot: @unchecked Sendable {
  /// The committed state at the beginning of a snapshot, as far as it can be determined.
  struct State {
    /// A data version and the connection that reported it. Versions of different connections cannot be compared.
    struct Version: Equatable {
      let connection: Int
      let number: Int64
    }

    /// The number of commits of the pool's writer.
    let commits: UInt64
    /// The version that the writer reports, if it was idle.
    let writer: Version?
    /// The version that the probe connection reports, if the writer was in use.
    let probe: Version?

    /// Returns whether nothing was committed between two states; false if that is unknown.
    func isSame(as other: State) -> Bool {
      if commits != other.commits { return false }
      if let writer, let known = other.writer { return writer == known }
      return probe != nil && probe == other.probe
    }
  }

  /// The reason why a snapshot can no longer be read.
  package enum EndReason: Error, Sendable {
    /// It was ended by the pool.
    case expired
    /// The connection failed; the error says why.
    case lost(any Error)
  }

  /// The time at which it began.
  package let startTime = Date()
  let state: State
  private let owner: HeldSnapshots
  private let lock = NSLock()
  // Guarded by `lock`.
  private var connection: Connection?
  private var companion: AnyObject?
  private var endReason: EndReason?
  /// Set to request the end of the snapshot. A running read ends it when it finishes.
  private let isExpirationRequested = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)

  init(_ connection: Connection, companion: AnyObject?, state: State, of owner: HeldSnapshots) {
    self.connection = connection
    self.companion = companion
    self.state = state
    self.owner = owner
  }

  deinit { end(.expired) }

  /// Whether the snapshot can no longer be read.
  package var isOver: Bool { hasEnded.load(ordering: .acquiring) || isExpirationRequested.load(ordering: .acquiring) }

  /// Runs `body` in the snapshot. Calls are serialized.
  ///
  /// - Parameter checks: Whether to check the sentinel at the end. If false, the body must check it if necessary.
  /// - Throws: ``EndReason`` if the snapshot has ended, or the error of the body.
  package func read<Result>(checks: Bool = true, _ body: (Connection) throws -> Result) throws -> Result {
    owner.checkLogSizeIfDue()
    lock.lock()
    defer {
      lock.unlock()
      // A request to end the snapshot in the meantime did not wait.
      if isExpirationRequested.load(ordering: .sequentiallyConsistent) { endIfIdle() }
    }
    if isExpirationRequested.load(ordering: .sequentiallyConsistent) { end(.expired) }
    guard let connection else { throw endReason ?? EndReason.expired }
    do {
      let result = try body(connection)
      if checks { try connection.checkSentinel() }
      return result
    } catch {
      if connection.isDamaged || connection.isInAutocommit { end(.lost(error)) }
      throw error
    }
  }

  /// Ends the snapshot, immediately or as soon as the running read finishes.
  ///
  /// - Parameter waits: Whether to wait for the running read.
  func expire(waits: Bool) {
    isExpirationRequested.store(true, ordering: .sequentiallyConsistent)
    guard waits else { return endIfIdle() }
    lock.lock()
    end(.expired)
    lock.unlock()
  }

  private func endIfIdle() {
    guard lock.try() else { return }
    end(.expired)
    lock.unlock()
  }

  /// Ends the snapshot, under the lock or as the only owner.
  private func end(_ endReason: EndReason) {
    guard let connection else { return }
    self.connection = nil
    self.endReason = endReason
    hasEnded.store(true, ordering: .releasing)
    // Objects kept for the snapshot are no longer needed.
    companion = nil
    owner.reclaim(connection)
  }
}
