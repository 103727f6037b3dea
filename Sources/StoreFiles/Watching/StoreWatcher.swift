import Foundation
package import StoreKeys
import Synchronization

/// The thread and the inotify descriptor that all watched stores of the process share. The thread exists while a store is watched, and
/// sleeps while there are no writes.
///
/// The notice file is touched after a commit, so its event is reported at once. A write to the log precedes the commit, so it is reported
/// later, after several delays. Events of both files are ignored until the next report. Therefore, neither the pages of a large transaction
/// nor many small transactions, especially those of this process, each resume the thread.
final class StoreWatcher: Sendable {
  static let shared = StoreWatcher()

  /// The delays in milliseconds after a write to the log at which the store is checked again.
  private static let delays: [UInt64] = [5, 20, 80, 320]
  /// The delays without a notice file, when no event follows a commit whose sync takes long.
  private static let delaysWithoutNotice = delays + [1_280, 5_120]

  fileprivate struct Store {
    let databasePath: String
    /// The names of the store's files in the folder.
    let names: Set<String>
    let onChange: @Sendable () -> Void
    var notice: Int32?
    var log: Int32?
    var folder: Int32?
    /// The start of the current series of checks, the index of the next delay, and the index at which the series ends.
    var checkSeries: (since: UInt64, step: Int, end: Int)?

    var noticePath: String { NoticeFile.path(for: databasePath) }
    var logPath: String { databasePath + "-wal" }

    /// The time of the next check.
    var due: UInt64? { checkSeries.map { $0.since + StoreWatcher.delaysWithoutNotice[$0.step] * 1_000_000 } }

    /// Begins a full series of checks, after a possible write to the log.
    mutating func beginChecks(from now: UInt64) {
      checkSeries = (now, 0, (notice == nil ? StoreWatcher.delaysWithoutNotice : StoreWatcher.delays).count)
    }

    /// Schedules one more check after the notice file was touched, for commits that follow soon.
    mutating func scheduleCheck(from now: UInt64) {
      // A series that has passed its first delay starts again.
      if checkSeries.map({ $0.step > 0 }) ?? true { checkSeries = (now, 0, checkSeries?.end ?? 1) }
    }

    /// Moves to the next delay, when a check is due.
    mutating func advance() {
      guard let now = checkSeries else { return }
      checkSeries = now.step + 1 < now.end ? (now.since, now.step + 1, now.end) : nil
    }
  }

  fileprivate struct State {
    var events: FileEvents?
    var stores: [UInt64: Store] = [:]
    var lastNumber: UInt64 = 0
    /// The stores that use each watch. Stores in one folder share its watch; several coordinators of one store share all.
    var users: [Int32: Set<UInt64>] = [:]
  }
  private let state = Mutex(State())
  let resumeCount = Atomic<Int>(0)

  // MARK: Stores

  func add(databasePath: String, onChange: @escaping @Sendable () -> Void) throws(StoreAccessError) -> UInt64 {
    try state.withLock { state throws(StoreAccessError) in
      if let events = state.events {
        let number = try state.add(databasePath, onChange, events)
        // Resume the thread, so that it waits no longer than until the first check.
        events.interruptWait(by: databasePath)
        return number
      }
      let events = try FileEvents(path: databasePath)
      let number = try state.add(databasePath, onChange, events)
      state.events = events
      start(events)
      return number
    }
  }

  func remove(_ number: UInt64) {
    // The end of the last watch is an event that resumes the thread, which then exits.
    state.withLock { state in if let events = state.events { state.remove(number, events) } }
  }

  // MARK: The thread

  private func start(_ events: FileEvents) {
    let thread = Thread { [self] in
      // The first store needs its first check at once.
      var timeout: Int32 = 0
      while let next = turn(events, timeout) { timeout = next }
    }
    thread.name = "CipherData.Watch"
    thread.stackSize = 256 << 10
    thread.start()
  }

  /// Waits once, and notifies the affected stores.
  ///
  /// - Returns: The next timeout for `poll`, or `nil` at the end.
  private func turn(_ events: FileEvents, _ timeout: Int32) -> Int32? {
    var waiting = pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&waiting, 1, timeout)
    resumeCount.add(1, ordering: .relaxed)
    let (callbacks, next): ([@Sendable () -> Void], Int32?) = state.withLock { state in
      let now = DispatchTime.now().uptimeNanoseconds
      var affected: Set<UInt64> = []
      events.forEach { state.take($0, at: now, events, &affected) }
      state.checkDueStores(at: now, events, &affected)
      let callbacks = affected.compactMap { state.stores[$0]?.onChange }
      guard !state.stores.isEmpty else {
        state.events = nil
        return (callbacks, nil)
      }
      return (callbacks, state.timeout(at: now))
    }
    for onChange in callbacks { onChange() }
    return next
  }
}

extension StoreWatcher.State {
  fileprivate mutating func add(
    _ databasePath: String, _ onChange: @escaping @Sendable () -> Void, _ events: FileEvents
  ) throws(StoreAccessError) -> UInt64 {
    let name = StoreFile.name(of: databasePath)
    let names = Set([name, NoticeFile.path(for: name)] + StoreFile.companionSuffixes.map { name + $0 })
    lastNumber += 1
    let number = lastNumber
    stores[number] = StoreWatcher.Store(databasePath: databasePath, names: names, onChange: onChange)
    do throws(StoreAccessError) {
      // Watch the folder first, so that files created from here on are noticed.
      set(\.folder, try events.watch(StoreFile.folder(of: databasePath), for: .entries), of: number, events)
      try follow(number, events)
    } catch {
      remove(number, events)
      throw error
    }
    guard stores[number]?.notice != nil || stores[number]?.log != nil else {
      remove(number, events)
      throw StoreAccessError(.notWatchable(.nothingToWatch), path: databasePath, operation: .watch)
    }
    // A commit may be in progress with its pages already in the log, by a process that has not found the notice file yet.
    stores[number]?.beginChecks(from: DispatchTime.now().uptimeNanoseconds)
    return number
  }

  /// Updates the watches of a store's files, which may have been replaced. Missing files are looked up again when the folder changes.
  fileprivate mutating func follow(_ number: UInt64, _ events: FileEvents) throws(StoreAccessError) {
    guard let store = stores[number] else { return }
    var failure: StoreAccessError?
    for (place, path, interest) in [
      (\StoreWatcher.Store.notice, store.noticePath, FileEvents.Interest.touches), (\.log, store.logPath, .writing),
    ] {
      do throws(StoreAccessError) {
        set(place, try file(path, for: interest, events), of: number, events)
      } catch {
        // The other file may still be watchable.
        failure = error
      }
    }
    if let failure { throw failure }
  }

  /// Returns a file's watch, or `nil` if the file does not exist or is not readable.
  private func file(_ path: String, for interest: FileEvents.Interest, _ events: FileEvents) throws(StoreAccessError) -> Int32? {
    do throws(StoreAccessError) {
      return try events.watch(path, for: interest)
    } catch  where error.kind == .noSuchFile || error.kind == .permissionDenied {
      return nil
    }
  }

  fileprivate mutating func set(
    _ place: WritableKeyPath<StoreWatcher.Store, Int32?>, _ watch: Int32?, of number: UInt64, _ events: FileEvents
  ) {
    let old = stores[number]?[keyPath: place]
    guard old != watch else { return }
    stores[number]?[keyPath: place] = watch
    if let watch { users[watch, default: []].insert(number) }
    if let old { release(old, of: number, events) }
  }

  private mutating func release(_ watch: Int32, of number: UInt64, _ events: FileEvents) {
    users[watch]?.remove(number)
    guard users[watch]?.isEmpty ?? false else { return }
    users[watch] = nil
    events.unwatch(watch)
  }

  fileprivate mutating func remove(_ number: UInt64, _ events: FileEvents) {
    guard let store = stores.removeValue(forKey: number) else { return }
    for watch in [store.notice, store.log, store.folder] { if let watch { release(watch, of: number, events) } }
  }

  /// Processes an event.
  ///
  /// - Parameter affected: Receives the stores to check now.
  fileprivate mutating func take(_ event: FileEvents.Event, at now: UInt64, _ events: FileEvents, _ affected: inout Set<UInt64>) {
    guard event.kind != .overflow else {
      // Events of unknown stores were lost, so check all.
      for number in stores.keys { renew(number, at: now, events, &affected) }
      return
    }
    for number in users[event.watch] ?? [] {
      guard let store = stores[number] else { continue }
      switch event.kind {
      case .touched:
        guard store.notice == event.watch else { continue }
        stores[number]?.scheduleCheck(from: now)
        // The next check covers later touches.
        _ = try? events.watch(store.noticePath, for: .nothing)
        affected.insert(number)
      case .written:
        guard store.log == event.watch else { continue }
        stores[number]?.beginChecks(from: now)
        _ = try? events.watch(store.logPath, for: .nothing)
      case .entry: if store.names.contains(event.name) { renew(number, at: now, events, &affected) }
      case .ended:
        for place in [\StoreWatcher.Store.notice, \.log, \.folder] where store[keyPath: place] == event.watch {
          stores[number]?[keyPath: place] = nil
        }
        renew(number, at: now, events, &affected)
      case .overflow: break
      }
    }
    if event.kind == .ended { users[event.watch] = nil }
  }

  /// Finds the files of a store again after they may have changed, and begins a full series of checks.
  private mutating func renew(_ number: UInt64, at now: UInt64, _ events: FileEvents, _ affected: inout Set<UInt64>) {
    guard let store = stores[number] else { return }
    // The notice file may have been deleted. Without the database, there is nothing to report.
    if !StoreFile.exists(store.noticePath), StoreFile.exists(store.databasePath) { try? NoticeFile.make(for: store.databasePath) }
    // There is no caller to report errors to. The next event tries again.
    try? follow(number, events)
    stores[number]?.beginChecks(from: now)
    affected.insert(number)
  }

  /// Watches the files of the stores that are due for a check again.
  fileprivate mutating func checkDueStores(at now: UInt64, _ events: FileEvents, _ affected: inout Set<UInt64>) {
    for (number, store) in stores where store.due.map({ $0 <= now }) ?? false {
      stores[number]?.advance()
      // Watch before the check, so that later writes cause an event.
      try? follow(number, events)
      affected.insert(number)
    }
  }

  /// Returns the timeout for `poll`, in milliseconds.
  fileprivate func timeout(at now: UInt64) -> Int32 {
    guard let due = stores.values.compactMap(\.due).min() else { return -1 }
    return due <= now ? 0 : Int32(clamping: (due - now + 999_999) / 1_000_000)
  }
}

/// A watch of one store's files. It ends with ``end()`` or when it is released.
package final class StoreWatch: Sendable {
  private let number: Mutex<UInt64?>

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - databasePath: The path of the database as SQLite resolves it. Its log is next to that path.
  ///   - onChange: Called after each possible commit, including those of this process. It runs on the thread that serves all watches of
  ///     the process, so it must only schedule work.
  /// - Throws: `.notWatchable` if the system or the process has no watches left. There is no fallback.
  package init(databasePath: String, onChange: @escaping @Sendable () -> Void) throws(StoreAccessError) {
    number = Mutex(try StoreWatcher.shared.add(databasePath: databasePath, onChange: onChange))
  }

  deinit { end() }

  /// Ends the watch. A callback that is already running completes.
  package func end() {
    let number = number.withLock { number in
      defer { number = nil }
      return number
    }
    if let number { StoreWatcher.shared.remove(number) }
  }

  /// The number of times the watching thread was resumed, for tests.
  package static var resumeCount: Int { StoreWatcher.shared.resumeCount.load(ordering: .relaxed) }
}
