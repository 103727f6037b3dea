// HeldSnapshots: the snapshots that hold still in a pool, and what follows from them for the log.

import Foundation
import StoreFiles
import StoreKeys
import Synchronization

/// How long the log may become while snapshots keep it from beginning anew.
package struct LogLimits: Sendable {
  /// From so many bytes on somebody is told, and the log's file is cut when nobody holds a snapshot any more.
  package var told = 64 << 20
  /// From so many bytes on the oldest snapshot is ended with each commit; nil for no end.
  package var greatest: Int? = 512 << 20
  /// Called with the log's bytes and how many snapshots are held, once in a time without a pause.
  package var tell: @Sendable (_ size: Int, _ snapshots: Int) -> Void = { _, _ in }
  /// Called with the log's bytes when a snapshot is ended for them.
  package var tellOfEnding: @Sendable (_ size: Int) -> Void = { _ in }

  package init() {}
}

/// The snapshots that are held in a pool.
///
/// While there are any, SQLite begins no checkpoints by itself (see ``Connection/setLogObserver(_:)``): one is tried whenever the log has doubled.
///
/// `@unchecked Sendable`: all state is read and written under `condition`, the connections outside of it by who has taken them out.
final class HeldSnapshots: @unchecked Sendable {
  private struct Entry {
    weak var snapshot: HeldSnapshot?
  }

  private let limits: LogLimits
  private let logPath: String
  private let condition = NSCondition()
  // Guarded by `condition`.
  /// In the order in which they were begun.
  private var entries: [Entry] = []
  /// A connection of a snapshot that is over, for the next one.
  private var spare: Connection?
  /// Says whether others have committed; never in a transaction.
  private var probe: Connection?
  /// How many of these there were.
  private var probeCount = 0
  /// True while nobody may have the file open.
  private var isShut = false
  /// The pages in the log when a checkpoint was last tried; 0 before.
  private var triedAt = 0
  private var hasTold = false
  /// How long the log's file was when it was last looked at, or became by an own commit: what is longer was written by others.
  private var knownSize = 0

  /// The connections of snapshots; changed under `condition`, and asked without it by who writes.
  private let openCount = Atomic<Int>(0)
  /// When the log is to be looked at again.
  private let nextLook = Atomic<UInt64>(0)
  /// Called when the last snapshot is over.
  private let listeners = Mutex<[@Sendable () -> Void]>([])

  /// - Parameter path: The database's.
  init(_ limits: LogLimits, path: String) {
    self.limits = limits
    logPath = path + "-wal"
  }

  deinit {
    spare?.close()
    probe?.close()
  }

  /// Whether any snapshot is held.
  @inline(__always) var isAnyHeld: Bool { openCount.load(ordering: .relaxed) > 0 }

  /// Says who is called when the last snapshot is over, unless nobody may have the file open then.
  func whenLastEnds(_ body: @escaping @Sendable () -> Void) { listeners.withLock { $0.append(body) } }

  // MARK: Beginning

  /// What all others have committed, by a connection that is kept for it. One at a time asks.
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

  /// The last snapshot, if it is one of a state and can be read.
  func last(of state: HeldSnapshot.State) -> HeldSnapshot? {
    let last = locked { entries.last?.snapshot }
    guard let last, last.state.isSame(as: state), !last.isOver else { return nil }
    return last
  }

  /// A connection for a new snapshot.
  func takeConnection(open: () throws -> Connection) throws -> Connection {
    let known = locked { () -> Connection? in
      defer { spare = nil }
      return spare
    }
    return try known ?? open()
  }

  /// A snapshot whose transaction was begun.
  func add(_ connection: Connection, companion: AnyObject?, state: HeldSnapshot.State) -> HeldSnapshot {
    let snapshot = HeldSnapshot(connection, companion: companion, state: state, of: self)
    let size = StoreFile.size(logPath) ?? 0
    let living = locked { () -> [HeldSnapshot] in
      // What it was before is nothing to anybody: as long as nobody holds a snapshot the file is written from its beginning again.
      if openCount.add(1, ordering: .sequentiallyConsistent).newValue == 1 { knownSize = size }
      let living = entries.compactMap(\.snapshot) + [snapshot]
      entries = living.map { Entry(snapshot: $0) }
      return living
    }
    // Not let go of under the lock, which the end of the last holder takes.
    withExtendedLifetime(living) {}
    return snapshot
  }

  // MARK: Ending

  /// Takes the connection of a snapshot that is over.
  func takeBack(_ connection: Connection) {
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
      if rest == 0 { (triedAt, hasTold) = (0, false) }
      condition.broadcast()
      return rest == 0 && !isShut
    }
    guard isLast else { return }
    for body in listeners.withLock({ $0 }) { body() }
  }

  /// Ends all snapshots, and closes all connections: nobody begins one until ``reopen()``. Waits for who reads.
  func shut() {
    locked { isShut = true }
    for snapshot in living() { snapshot.expire(waits: true) }
    let connections = locked { () -> [Connection] in
      // Those whose last holder has let go are being given back.
      while openCount.load(ordering: .sequentiallyConsistent) > 0 { condition.wait() }
      entries = []
      defer { (spare, probe) = (nil, nil) }
      return [spare, probe].compactMap { $0 }
    }
    for connection in connections { connection.close() }
  }

  /// Snapshots may be begun again.
  func reopen() { locked { isShut = false } }

  private func living() -> [HeldSnapshot] { locked { entries.compactMap(\.snapshot) } }

  // MARK: The log

  /// Sees to it that whoever writes on a connection tells how long the log is while snapshots are held, and else nobody.
  @inline(__always) func prepare(_ writer: Connection) {
    if isAnyHeld != writer.hasLogObserver { setObserver(of: writer) }
  }

  @inline(never) private func setObserver(of writer: Connection) {
    writer.setLogObserver(writer.hasLogObserver ? nil : { [unowned self] in noteCommit($0, pages: $1) })
  }

  /// The writer has committed, and the log has so many pages.
  private func noteCommit(_ writer: Connection, pages: Int) {
    let size = pages * (writer.format.pageSize + 24)
    let (isDue, isToBeTold) = locked { () -> (Bool, Bool) in
      let isHeld = openCount.load(ordering: .relaxed) > 0
      // It was begun anew.
      if pages < triedAt { triedAt = 0 }
      let last = isHeld ? max(triedAt, writer.options.checkpointPages / 2) : writer.options.checkpointPages / 2
      let isDue = writer.options.checkpointPages > 0 && pages >= 2 * last
      if isDue { triedAt = pages }
      knownSize = max(knownSize, size + Self.logHeaderSize)
      return (isDue, takeTelling(of: size))
    }
    if isDue { writer.checkpoint(.passive) }
    // At once, before somebody begins another one: who reads a state that is all in the file does not keep the log from beginning anew.
    if keepLimits(size, isToBeTold), !isAnyHeld { writer.checkpoint(.passive) }
  }

  /// The bytes of a log before its first page.
  private static let logHeaderSize = 32
  /// How long nobody looks at the log because of a read, after somebody has.
  private static let pause: UInt64 = 50_000_000

  /// Looks at the log as ``lookAtLog()`` does, unless somebody has just done so. For who reads, which may be often.
  @inline(__always) func lookAtLogSometimes() {
    if CoarseClock.now() >= nextLook.load(ordering: .relaxed) { lookAtLog() }
  }

  /// Looks whether others have made the log too long: an own writer tells of its own commits only.
  ///
  /// The file is never shorter than the log, and may be longer from before: where it has grown it is as long.
  func lookAtLog() {
    nextLook.store(CoarseClock.now() &+ Self.pause, ordering: .relaxed)
    guard isAnyHeld, let size = StoreFile.size(logPath) else { return }
    let isToBeTold = locked { () -> Bool? in
      if size <= knownSize { return nil }
      knownSize = size
      return takeTelling(of: size)
    }
    if let isToBeTold { _ = keepLimits(size, isToBeTold) }
  }

  /// Under the lock: whether somebody is to be told how long the log is, once.
  private func takeTelling(of size: Int) -> Bool {
    guard isAnyHeld, size >= limits.told, !hasTold else { return false }
    hasTold = true
    return true
  }

  /// - Returns: Whether a snapshot was ended.
  private func keepLimits(_ size: Int, _ isToBeTold: Bool) -> Bool {
    if isToBeTold { limits.tell(size, openCount.load(ordering: .relaxed)) }
    guard let greatest = limits.greatest, size >= greatest, let oldest = living().first(where: { !$0.isOver }) else { return false }
    limits.tellOfEnding(size)
    oldest.expire(waits: false)
    return true
  }

  /// Whether the file of the log is longer than it should be without snapshots.
  func isTooLong(_ log: Int) -> Bool { log >= min(limits.told, limits.greatest ?? .max) }

  private func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
    condition.lock()
    defer { condition.unlock() }
    return try body()
  }
}
