import Foundation
import StoreKeys
import Synchronization

/// What all watched stores of the process have in common. The thread lives as long as there is one, and sleeps as long as nobody writes.
///
/// A touch of the notice file comes after its commit, and is told at once. What is written into the log comes before the commit counts, so after it one is
/// told again, and again. Until the next time that one is told neither file is listened to: a large transaction wakes nobody for each of its pages, and many
/// small ones, oneself's above all, nobody for each.
final class StoreWatchLine: Sendable {
  static let shared = StoreWatchLine()

  /// When, in milliseconds after something was written into the log, it is looked at again.
  private static let delays: [UInt64] = [5, 20, 80, 320]
  /// The same where there is no notice file, and so nothing comes after a commit whose sync takes long.
  private static let delaysWithoutNotice = delays + [1_280, 5_120]

  fileprivate struct Store {
    let databasePath: String
    /// The names in the folder that concern the store.
    let names: Set<String>
    let tell: @Sendable () -> Void
    var notice: Int32?
    var log: Int32?
    var folder: Int32?
    /// Since when it is looked at again and again, which of the delays is the next, and before which it ends.
    var looking: (since: UInt64, step: Int, end: Int)?

    var noticePath: String { NoticeFile.path(for: databasePath) }
    var logPath: String { databasePath + "-wal" }

    /// When to look again.
    var due: UInt64? { looking.map { $0.since + StoreWatchLine.delaysWithoutNotice[$0.step] * 1_000_000 } }

    /// Something was written into the log, or may have been.
    mutating func lookAtLog(from now: UInt64) {
      looking = (now, 0, (notice == nil ? StoreWatchLine.delaysWithoutNotice : StoreWatchLine.delays).count)
    }

    /// It was touched: once more it is looked at, for those who touch it soon after.
    mutating func lookOnceMore(from now: UInt64) {
      // What waits for a later look begins anew.
      if looking.map({ $0.step > 0 }) ?? true { looking = (now, 0, looking?.end ?? 1) }
    }

    /// The time for a look has come.
    mutating func advance() {
      guard let now = looking else { return }
      looking = now.step + 1 < now.end ? (now.since, now.step + 1, now.end) : nil
    }
  }

  fileprivate struct State {
    var events: FileEvents?
    var stores: [UInt64: Store] = [:]
    var lastNumber: UInt64 = 0
    /// Who has each watch: stores in one folder share that of the folder, several coordinators of a store all.
    var users: [Int32: Set<UInt64>] = [:]
  }
  private let state = Mutex(State())
  let wakeUps = Atomic<Int>(0)

  // MARK: Stores

  func add(databasePath: String, tell: @escaping @Sendable () -> Void) throws(StoreAccessError) -> UInt64 {
    try state.withLock { state throws(StoreAccessError) in
      if let events = state.events {
        let number = try state.add(databasePath, tell, events)
        // The thread is to wait no longer than for the first look.
        events.wake(by: databasePath)
        return number
      }
      let events = try FileEvents(path: databasePath)
      let number = try state.add(databasePath, tell, events)
      state.events = events
      start(events)
      return number
    }
  }

  func remove(_ number: UInt64) {
    // The end of the last watch is news too: it wakes the thread, which ends.
    state.withLock { state in if let events = state.events { state.remove(number, events) } }
  }

  // MARK: The thread

  private func start(_ events: FileEvents) {
    let thread = Thread { [self] in
      // The store that it was begun for waits for its first look.
      var timeout: Int32 = 0
      while let next = turn(events, timeout) { timeout = next }
    }
    thread.name = "CipherData.Watch"
    thread.stackSize = 256 << 10
    thread.start()
  }

  /// Waits once, and tells whom it concerns.
  ///
  /// - Returns: How long to wait the next time, for `poll`; nil at the end.
  private func turn(_ events: FileEvents, _ timeout: Int32) -> Int32? {
    var waiting = pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&waiting, 1, timeout)
    wakeUps.add(1, ordering: .relaxed)
    let (told, next): ([@Sendable () -> Void], Int32?) = state.withLock { state in
      let now = DispatchTime.now().uptimeNanoseconds
      var concerned: Set<UInt64> = []
      events.forEach { state.take($0, at: now, events, &concerned) }
      state.lookAgain(at: now, events, &concerned)
      let told = concerned.compactMap { state.stores[$0]?.tell }
      guard !state.stores.isEmpty else {
        state.events = nil
        return (told, nil)
      }
      return (told, state.timeout(at: now))
    }
    for tell in told { tell() }
    return next
  }
}

extension StoreWatchLine.State {
  /// Begins to watch a store's files.
  fileprivate mutating func add(
    _ databasePath: String, _ tell: @escaping @Sendable () -> Void, _ events: FileEvents
  ) throws(StoreAccessError) -> UInt64 {
    let name = StoreFile.name(of: databasePath)
    let names = Set([name, NoticeFile.path(for: name)] + StoreFile.companionSuffixes.map { name + $0 })
    lastNumber += 1
    let number = lastNumber
    stores[number] = StoreWatchLine.Store(databasePath: databasePath, names: names, tell: tell)
    do throws(StoreAccessError) {
      // The folder first: what comes into it from here on is seen.
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
    // A commit may be under way whose pages are in the log already, by somebody who does not know yet that there is a notice file.
    stores[number]?.lookAtLog(from: DispatchTime.now().uptimeNanoseconds)
    return number
  }

  /// Takes the watches of a store's files as they stand there now: files may have come anew. What is missing is looked for again when the folder changes.
  fileprivate mutating func follow(_ number: UInt64, _ events: FileEvents) throws(StoreAccessError) {
    guard let store = stores[number] else { return }
    var failure: StoreAccessError?
    for (place, path, interest) in [
      (\StoreWatchLine.Store.notice, store.noticePath, FileEvents.Interest.touches), (\.log, store.logPath, .writing),
    ] {
      do throws(StoreAccessError) {
        set(place, try file(path, for: interest, events), of: number, events)
      } catch {
        // The other one may still be had.
        failure = error
      }
    }
    if let failure { throw failure }
  }

  /// A file's watch; nil where there is none, or one that this process may not read: then nobody is heard by it.
  private func file(_ path: String, for interest: FileEvents.Interest, _ events: FileEvents) throws(StoreAccessError) -> Int32? {
    do throws(StoreAccessError) {
      return try events.watch(path, for: interest)
    } catch  where error.kind == .noSuchFile || error.kind == .permissionDenied {
      return nil
    }
  }

  fileprivate mutating func set(
    _ place: WritableKeyPath<StoreWatchLine.Store, Int32?>, _ watch: Int32?, of number: UInt64, _ events: FileEvents
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

  /// Takes a piece of news.
  ///
  /// - Parameter concerned: Gets the stores that are to be looked at now.
  fileprivate mutating func take(_ event: FileEvents.Event, at now: UInt64, _ events: FileEvents, _ concerned: inout Set<UInt64>) {
    guard event.kind != .overflow else {
      // News are lost, nobody knows of whom.
      for number in stores.keys { renew(number, at: now, events, &concerned) }
      return
    }
    for number in users[event.watch] ?? [] {
      guard let store = stores[number] else { continue }
      switch event.kind {
      case .touched:
        guard store.notice == event.watch else { continue }
        stores[number]?.lookOnceMore(from: now)
        // Who touches it before the next look is seen by that.
        _ = try? events.watch(store.noticePath, for: .nothing)
        concerned.insert(number)
      case .written:
        guard store.log == event.watch else { continue }
        stores[number]?.lookAtLog(from: now)
        _ = try? events.watch(store.logPath, for: .nothing)
      case .entry: if store.names.contains(event.name) { renew(number, at: now, events, &concerned) }
      case .ended:
        for place in [\StoreWatchLine.Store.notice, \.log, \.folder] where store[keyPath: place] == event.watch {
          stores[number]?[keyPath: place] = nil
        }
        renew(number, at: now, events, &concerned)
      case .overflow: break
      }
    }
    if event.kind == .ended { users[event.watch] = nil }
  }

  /// Something may have happened to the files themselves: they are found again, and looked at as after something was written.
  private mutating func renew(_ number: UInt64, at now: UInt64, _ events: FileEvents, _ concerned: inout Set<UInt64>) {
    guard let store = stores[number] else { return }
    // Somebody may have tidied up. Without the database there is nothing to tell of.
    if !StoreFile.exists(store.noticePath), StoreFile.exists(store.databasePath) { try? NoticeFile.make(for: store.databasePath) }
    // What cannot be watched any more is tried again with the next news; nobody is there to be told of an error.
    try? follow(number, events)
    stores[number]?.lookAtLog(from: now)
    concerned.insert(number)
  }

  /// Listens to the files again of the stores that are due to be looked at.
  fileprivate mutating func lookAgain(at now: UInt64, _ events: FileEvents, _ concerned: inout Set<UInt64>) {
    for (number, store) in stores where store.due.map({ $0 <= now }) ?? false {
      stores[number]?.advance()
      // Before the look: what is written after it is news.
      try? follow(number, events)
      concerned.insert(number)
    }
  }

  /// How long `poll` may wait.
  fileprivate func timeout(at now: UInt64) -> Int32 {
    guard let due = stores.values.compactMap(\.due).min() else { return -1 }
    return due <= now ? 0 : Int32(clamping: (due - now + 999_999) / 1_000_000)
  }
}
