public import Foundation
import Synchronization

/// A change of an open store by another process, or by another coordinator of this process.
///
/// ```swift
/// for await change in container.persistentStoreCoordinator.remoteChanges() {
///   print("another process has written to", change.url?.path ?? change.storeIdentifier)
/// }
/// ```
///
/// A value may represent several commits. Fetches that start afterwards include all of them.
public struct RemoteStoreChange: Sendable {
  /// The UUID of the store.
  public let storeIdentifier: String
  /// The location of the store, or nil for stores without a file.
  public let url: URL?
  /// Whether the changed objects are known.
  ///
  /// If true, ``PersistentStoreCoordinator/changes()`` has already reported them. If false, any object may have changed: the coordinator
  /// has cleared its row cache for the store, and objects in contexts keep their values until they are refreshed.
  public let areChangesKnown: Bool
  /// The position after the commits in the store's history, or nil if the store keeps no history or it cannot be read.
  public let historyToken: PersistentHistoryToken?

  func joined(with later: RemoteStoreChange) -> RemoteStoreChange {
    RemoteStoreChange(
      storeIdentifier: storeIdentifier, url: later.url, areChangesKnown: areChangesKnown && later.areChangesKnown,
      historyToken: later.historyToken ?? historyToken)
  }
}

extension Notification.Name {
  /// Posted after another process or coordinator has committed to an open store whose description has
  /// ``PersistentStoreDescription/postsRemoteChangeNotifications`` set.
  ///
  /// The notification is posted on a queue of the store. The object is the coordinator. The user info contains the store's UUID, URL, and
  /// history token under the keys of ``PersistentStoreCoordinator/NotificationKey``.
  public static let persistentStoreRemoteChange = Notification.Name("CipherData.PersistentStoreRemoteChange")
}

extension PersistentStoreCoordinator {
  /// The user info keys of the notification. The raw values are Core Data's.
  public enum NotificationKey: String, Sendable, Hashable, CaseIterable {
    /// The UUID of the store, a `String`.
    case storeUUID = "NSStoreUUID"
    /// The `URL` of the store.
    case storeURL = "storeURL"
    /// The position after the commits in the store's history, a ``PersistentHistoryToken``. Absent if the store keeps no history.
    case historyToken = "historyToken"
  }
}

/// The pending remote changes for one consumer. Changes of the same store are combined, so a slow consumer has at most one pending change a
/// store.
final class RemoteChangeBuffer: Sendable {
  private let waiting = Mutex<[RemoteStoreChange]>([])
  private let signal: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (signal, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

  func add(_ change: RemoteStoreChange) {
    waiting.withLock { waiting in
      if let index = waiting.firstIndex(where: { $0.storeIdentifier == change.storeIdentifier }) {
        waiting[index] = waiting[index].joined(with: change)
      } else {
        waiting.append(change)
      }
    }
    continuation.yield()
  }

  func finish() { continuation.finish() }

  /// Waits for the next change. Returns nil at the end of the stream and if the task is canceled.
  func next() async -> RemoteStoreChange? {
    while true {
      if let change = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return change }
      // There is only one consumer.
      var iterator = signal.makeAsyncIterator()
      guard await iterator.next() != nil else { return nil }
    }
  }
}

/// The consumers of remote changes of one coordinator.
final class RemoteChangeObservers: Sendable {
  private struct State {
    var buffers: [UInt64: RemoteChangeBuffer] = [:]
    var lastNumber: UInt64 = 0
  }
  private let state = Mutex(State())

  deinit { for buffer in state.withLock({ Array($0.buffers.values) }) { buffer.finish() } }

  func stream() -> AsyncStream<RemoteStoreChange> {
    let buffer = RemoteChangeBuffer()
    let number = state.withLock { state in
      state.lastNumber += 1
      state.buffers[state.lastNumber] = buffer
      return state.lastNumber
    }
    // Unregisters the consumer when the stream is deallocated.
    let registration = DeinitAction { [weak self] in self?.state.withLock { $0.buffers[number] = nil } }
    return AsyncStream {
      defer { withExtendedLifetime(registration) {} }
      return await buffer.next()
    }
  }

  func notify(_ change: RemoteStoreChange) {
    for buffer in state.withLock({ Array($0.buffers.values) }) { buffer.add(change) }
  }
}

/// Runs a closure when it is deallocated.
final class DeinitAction: Sendable {
  private let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  deinit { body() }
}
