// ChangeInbox: what others have changed, kept until a context has time to merge it.
import ObjectStore
import Synchronization

/// Collects the change sets of a coordinator for one context. Filled from any thread, emptied in the context's isolation.
final class ChangeInbox: Sendable {
  /// What waits.
  enum Waiting: Sendable {
    case changes([ChangeSet])
    /// So much that everything is read anew: an idle context must not collect change sets for ever.
    case everything
  }

  private struct State {
    var changes: [ChangeSet] = []
    var count = 0
    var isOverfull = false
    var isWaking = false
  }
  private let state = Mutex(State())
  private let coordinator: PersistentStoreCoordinator?
  private let wake: (@Sendable () -> Void)?
  private let observer = Mutex<UInt64>(0)
  private static let limit = 200_000

  /// Collects what it is given.
  init(wake: (@Sendable () -> Void)?) {
    coordinator = nil
    self.wake = wake
  }

  /// Collects what the contexts of a coordinator save, but one.
  init(_ coordinator: PersistentStoreCoordinator, except origin: UInt64, wake: (@Sendable () -> Void)?) {
    self.coordinator = coordinator
    self.wake = wake
    let number = coordinator.addObserver { [weak self] changes in
      if changes.origin != origin { self?.add(changes) }
    }
    observer.withLock { $0 = number }
  }

  deinit { coordinator?.removeObserver(observer.withLock { $0 }) }

  func add(_ changes: ChangeSet) {
    let wakes = state.withLock { state in
      state.count += changes.inserted.count + changes.updated.count + changes.deleted.count
      if state.count > Self.limit { state.isOverfull = true }
      if state.isOverfull { state.changes = [] } else { state.changes.append(changes) }
      defer { state.isWaking = true }
      return !state.isWaking
    }
    if wakes { wake?() }
  }

  /// Takes out what waits; nil when nothing does.
  func take() -> Waiting? {
    state.withLock { state in
      defer { state = State() }
      if state.isOverfull { return .everything }
      return state.changes.isEmpty ? nil : .changes(state.changes)
    }
  }
}
