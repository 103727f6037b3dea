// BatchPortionLine: portions of rows from a task to the queue that writes them, one at a time.
import Dispatch
import Foundation
import Synchronization

/// When the rows of an asynchronous sequence take effect.
public enum BatchCommit: Sendable, Hashable {
  /// All together, or none: in one transaction, from the first portion to the end of the sequence. Other saves to the store wait meanwhile.
  case once
  /// A number of rows at a time, each time in a transaction of its own: what was written before an error stays.
  case every(rows: Int)

  /// Whether a number of rows is to be committed.
  func isReached(by count: Int) -> Bool {
    if case .every(let rows) = self { count >= max(rows, 1) } else { false }
  }
}

/// Takes portions from a task and writes them on a queue of its own, where waiting and input and output harm nobody.
final class BatchPortionLine: Sendable {
  private enum Message: Sendable {
    case portion(BatchInsertion)
    case end
    case cancel
  }
  private struct State {
    var message: Message?
    /// The task that waits until its portion was taken.
    var sender: CheckedContinuation<Void, Never>?
    var hasBegun = false
    var result: Result<Void, any Error>?
    var waiter: CheckedContinuation<Void, any Error>?
  }
  private struct Cancelled: Error {}

  private let store: PersistentStore
  private let writer: BatchPortionWriter
  private let committing: BatchCommit
  private let committed: @Sendable (ChangeSet) -> Void
  private let queue = DispatchQueue(label: "CipherData.BatchInsertion")
  private let state = Mutex(State())
  private let arrived = DispatchSemaphore(value: 0)

  init(
    store: PersistentStore, writer: BatchPortionWriter, committing: BatchCommit, committed: @escaping @Sendable (ChangeSet) -> Void
  ) {
    self.store = store
    self.writer = writer
    self.committing = committing
    self.committed = committed
  }

  /// Hands over a portion; waits until the one before it was taken.
  func send(_ portion: BatchInsertion) async throws {
    if case .every = committing { return try await writeAlone(portion) }
    let hasBegun = state.withLock { state in
      defer { state.hasBegun = true }
      return state.hasBegun
    }
    if !hasBegun { queue.async { self.run() } }
    await put(.portion(portion))
    // What went wrong with a portion before stops the sequence.
    if case .failure(let error)? = state.withLock({ $0.result }) { throw error }
  }

  /// Ends the sequence, and waits until all of it was committed.
  func finish() async throws {
    guard state.withLock({ $0.hasBegun }) else { return }
    await put(.end)
    try await result()
  }

  /// Gives up, and waits until nothing is under way any more.
  func cancel() async {
    guard state.withLock({ $0.hasBegun }) else { return }
    await put(.cancel)
    try? await result()
  }

  // MARK: The task's side

  private func put(_ message: Message) async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.result != nil { return true }
        state.message = message
        state.sender = continuation
        return false
      }
      if isOver { continuation.resume() } else { arrived.signal() }
    }
  }

  private func result() async throws {
    try await withCheckedThrowingContinuation { continuation in
      let result = state.withLock { state in
        if state.result == nil { state.waiter = continuation }
        return state.result
      }
      if let result { continuation.resume(with: result) }
    }
  }

  private func writeAlone(_ portion: BatchInsertion) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      queue.async {
        continuation.resume(
          with: Result {
            self.store.saving.lock()
            defer { self.store.saving.unlock() }
            try self.writer.write(portion)
            if let changes = self.writer.finish() { self.committed(changes) }
          })
      }
    }
  }

  // MARK: The queue's side

  private func run() {
    let result = Result {
      var changes: ChangeSet?
      try store.performTransaction {
        while let portion = try next() { try writer.write(portion) }
        changes = writer.finish()
      }
      if let changes { committed(changes) }
    }
    let (sender, waiter) = state.withLock { state in
      state.result = result
      defer { (state.sender, state.waiter) = (nil, nil) }
      return (state.sender, state.waiter)
    }
    sender?.resume()
    waiter?.resume(with: result)
  }

  /// Waits for the next portion; nil at the end.
  private func next() throws -> BatchInsertion? {
    arrived.wait()
    let (message, sender) = state.withLock { state in
      defer { (state.message, state.sender) = (nil, nil) }
      return (state.message, state.sender)
    }
    sender?.resume()
    switch message {
    case .portion(let portion): return portion
    case .end, nil: return nil
    case .cancel: throw Cancelled()
    }
  }
}
