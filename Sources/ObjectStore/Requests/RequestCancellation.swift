// RequestCancellation: a request that somebody may call off while a store works on it.
import Synchronization

/// Calls off the requests, or the migration, of whoever was given it, from any thread.
///
/// Stores look at ``isCancelled`` while they work, if they can stop: the SQLCipher store does so every few hundred microseconds of a statement, and a write
/// that it stops is rolled back. Others finish; the answer to a fetch is dropped then, and what was written stays.
public final class RequestCancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Makes one that is not cancelled.
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
