import ObjectStore
import Synchronization

/// A queue of change sets from other contexts that one context has yet to merge. Filled from any thread, emptied in the context's
/// isolation.
final class ChangeInbox: Sendable {
  /// The pending content of an inbox.
  enum Waiting: Sendable {
    case changes([ChangeSet])
    /// More changes than the limit: the context refreshes everything, so that an idle context does not accumulate change sets.
    case everything
  }

  private struct State {
    var changes: [ChangeSet] = []
    var count = 0
    var isOverfull = false
    var isMergeScheduled = false
  }
  private let state = Mutex(State())
  private let coordinator: PersistentStoreCoordinator?
  private let scheduleMerge: (@Sendable () -> Void)?
  private let observer = Mutex<UInt64>(0)
  private static let limit = 200_000

  /// Creates an inbox that is filled only through ``add(_:)``.
  init(scheduleMerge: (@Sendable () -> Void)?) {
    coordinator = nil
    self.scheduleMerge = scheduleMerge
  }

  /// Creates an inbox that collects the saves of all contexts of a coordinator, except those of the context numbered `origin`.
  init(_ coordinator: PersistentStoreCoordinator, except origin: UInt64, scheduleMerge: (@Sendable () -> Void)?) {
    self.coordinator = coordinator
    self.scheduleMerge = scheduleMerge
    let number = coordinator.addObserver { [weak self] changes in
      if changes.origin != origin { self?.add(changes) }
    }
    observer.withLock { $0 = number }
  }

  deinit { coordinator?.removeObserver(observer.withLock { $0 }) }

  func add(_ changes: ChangeSet) {
    let schedulesMerge = state.withLock { state in
      state.count += changes.inserted.count + changes.updated.count + changes.deleted.count
      if state.count > Self.limit { state.isOverfull = true }
      if state.isOverfull { state.changes = [] } else { state.changes.append(changes) }
      defer { state.isMergeScheduled = true }
      return !state.isMergeScheduled
    }
    if schedulesMerge { scheduleMerge?() }
  }

  /// Removes and returns the pending changes; nil if there is nothing pending.
  func take() -> Waiting? {
    state.withLock { state in
      defer { state = State() }
      if state.isOverfull { return .everything }
      return state.changes.isEmpty ? nil : .changes(state.changes)
    }
  }
}
