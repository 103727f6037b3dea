import Foundation
import Synchronization

/// Distributes the events of a container.
final class CloudEventChannel: Sendable {
  private struct State {
    var receivers: [UUID: AsyncStream<CloudEvent>.Continuation] = [:]
    var running: [CloudEvent] = []
  }
  private let state = Mutex(State())

  /// Returns the running events, and all from now on.
  func events() -> AsyncStream<CloudEvent> {
    let id = UUID()
    return AsyncStream { continuation in
      continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.receivers.removeValue(forKey: id) } }
      state.withLock { state in
        state.receivers[id] = continuation
        for event in state.running { continuation.yield(event) }
      }
    }
  }

  /// Sends an event to the sequences.
  ///
  /// - Returns: Whether the event has begun or ended; false for progress.
  func send(_ event: CloudEvent) -> Bool {
    let (receivers, isProgress) = state.withLock { state in
      let position = state.running.firstIndex { $0.id == event.id }
      if event.endDate != nil {
        if let position { state.running.remove(at: position) }
      } else if let position {
        state.running[position] = event
      } else {
        state.running.append(event)
      }
      return (Array(state.receivers.values), event.endDate == nil && position != nil)
    }
    for receiver in receivers { receiver.yield(event) }
    return !isProgress
  }

  /// Ends all sequences.
  func finish() {
    let former = state.withLock { state in
      defer { state = State() }
      return state
    }
    for receiver in former.receivers.values { receiver.finish() }
  }
}
