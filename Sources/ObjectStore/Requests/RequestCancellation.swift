// RequestCancellation: a request that somebody may call off while a store works on it.
import Synchronization

/// Calls off the requests, or the migration, that it was given to, from any thread.
///
/// ```swift
/// let cancellation = RequestCancellation()
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.migrationCancellation = cancellation
/// Task.detached {
///   try await Task.sleep(for: .seconds(10))
///   cancellation.cancel()
/// }
/// ```
///
/// What is called off throws ``StoreError`` with ``StoreError/Code/cancelled``. Stores that can stop look at ``isCancelled`` while they work: the SQLCipher
/// store does so every few hundred microseconds of a statement, and rolls back a write that it stops. Other stores finish: the answer to a fetch is dropped
/// then, and what was written stays. A cancellation that was called off stays so; use a new one for the next request.
public final class RequestCancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Makes a cancellation that nobody has called off yet.
  public init() {}

  /// Whether the request was called off.
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }

  /// Calls the request off.
  public func cancel() { flag.store(true, ordering: .relaxed) }

  /// Throws ``StoreError`` with ``StoreError/Code/cancelled`` once the request was called off.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled``.
  public func check() throws(StoreError) { try check(.fetch) }

  /// Throws the same for another operation than a fetch.
  package func check(_ operation: StoreOperation) throws(StoreError) {
    if isCancelled {
      throw StoreError(.cancelled, operation: operation)
    }
  }
}

extension StoreError {
  /// Runs work of a task. Where it is canceled together with the task, it throws `CancellationError`, as everything does that belongs to a task; where a
  /// ``RequestCancellation`` or a progress handler of the application ends it, it throws ``StoreError`` with ``StoreError/Code/cancelled``.
  package static func inTask<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StoreError where error.code == .cancelled && Task.isCancelled { throw CancellationError() }
  }

  /// Runs asynchronous work of a task, as ``inTask(_:)`` does.
  package static func inTask<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
  ) async throws -> Result {
    do { return try await body() } catch let error as StoreError where error.code == .cancelled && Task.isCancelled {
      throw CancellationError()
    }
  }
}
