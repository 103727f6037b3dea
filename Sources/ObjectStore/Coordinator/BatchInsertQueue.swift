import Dispatch
import Foundation
import Synchronization

/// The transactions in which the rows of an asynchronous sequence are committed.
public enum BatchCommit: Sendable, Hashable {
  /// One transaction for the whole sequence. Other saves to the store wait from the first chunk to the end of the sequence.
  case once
  /// A transaction for each batch of the given number of rows. Batches committed before an error are kept.
  case every(rows: Int)

  func isReached(by count: Int) -> Bool {
    if case .every(let rows) = self { count >= max(rows, 1) } else { false }
  }
}

/// Passes the chunks of a batch insert from a task to a dedicated queue that writes them, so that blocking I/O does not occupy a thread of
/// the cooperative pool.
final class BatchInsertQueue: Sendable {
  private enum Message: Sendable {
    case chunk(BatchInsertion)
    case end
    case cancel
  }
  private struct State {
    var message: Message?
    /// The continuation of the task, resumed when its message is received.
    var sender: CheckedContinuation<Void, Never>?
    var hasStarted = false
    var result: Result<Void, any Error>?
    var waiter: CheckedContinuation<Void, any Error>?
  }
  private struct Cancelled: Error {}

  private let store: PersistentStore
  private let writer: BatchChunkWriter
  private let committing: BatchCommit
  private let committed: @Sendable (ChangeSet) -> Void
  private let queue = DispatchQueue(label: "CipherData.BatchInsertion")
  private let state = Mutex(State())
  private let arrived = DispatchSemaphore(value: 0)

  init(
    store: PersistentStore, writer: BatchChunkWriter, committing: BatchCommit, committed: @escaping @Sendable (ChangeSet) -> Void
  ) {
    self.store = store
    self.writer = writer
    self.committing = committing
    self.committed = committed
  }

  /// Sends a chunk and waits until the queue receives it, which is after the previous chunk was written. With ``BatchCommit/every(rows:)``,
  /// waits until the chunk was committed.
  func send(_ chunk: BatchInsertion) async throws {
    if case .every = committing { return try await writeSeparately(chunk) }
    let hasStarted = state.withLock { state in
      defer { state.hasStarted = true }
      return state.hasStarted
    }
    if !hasStarted { queue.async { self.run() } }
    await put(.chunk(chunk))
    // The error of an earlier chunk ends the sequence.
    if case .failure(let error)? = state.withLock({ $0.result }) { throw error }
  }

  /// Ends the sequence and waits until it was committed.
  func finish() async throws {
    guard state.withLock({ $0.hasStarted }) else { return }
    await put(.end)
    try await result()
  }

  /// Cancels the insert and waits until the transaction was rolled back.
  func cancel() async {
    guard state.withLock({ $0.hasStarted }) else { return }
    await put(.cancel)
    try? await result()
  }

  // MARK: Task

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

  private func writeSeparately(_ chunk: BatchInsertion) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      queue.async {
        continuation.resume(
          with: Result {
            self.store.saving.lock()
            defer { self.store.saving.unlock() }
            try self.writer.write(chunk)
            if let changes = self.writer.finish() { self.committed(changes) }
          })
      }
    }
  }

  // MARK: Queue

  private func run() {
    let result = Result {
      var changes: ChangeSet?
      try store.performTransaction {
        while let chunk = try next() { try writer.write(chunk) }
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

  /// Blocks until the next chunk is received. Returns nil at the end.
  private func next() throws -> BatchInsertion? {
    arrived.wait()
    let (message, sender) = state.withLock { state in
      defer { (state.message, state.sender) = (nil, nil) }
      return (state.message, state.sender)
    }
    sender?.resume()
    switch message {
    case .chunk(let chunk): return chunk
    case .end, nil: return nil
    case .cancel: throw Cancelled()
    }
  }
}
