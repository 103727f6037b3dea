import Synchronization

/// Cancels the requests or the migration that it is passed to, from any thread.
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
/// Canceled operations throw ``StoreError`` with ``StoreError/Code/cancelled``. Stores that support cancellation poll ``isCancelled``
/// during their work: the SQLCipher store does so every few hundred microseconds of a statement, and rolls back a write that it cancels.
/// Other stores complete the request: the result of a fetch is discarded then, and writes remain in effect. Cancellation is permanent;
/// create a new instance for the next request.
public final class RequestCancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Creates an instance that is not canceled.
  public init() {}

  /// Whether ``cancel()`` was called.
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }

  /// Cancels the requests.
  public func cancel() { flag.store(true, ordering: .relaxed) }

  /// Throws if ``cancel()`` was called.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled``.
  public func check() throws(StoreError) { try check(.fetch) }

  /// Throws if ``cancel()`` was called. The error names the given operation.
  package func check(_ operation: StoreOperation) throws(StoreError) {
    if isCancelled {
      throw StoreError(.cancelled(operation), operation: operation)
    }
  }
}

extension StoreError {
  /// Runs an operation of a Swift task and throws `CancellationError` if it is canceled together with the task. If a
  /// ``RequestCancellation`` or a progress handler of the application cancels it, it throws ``StoreError`` with
  /// ``StoreError/Code/cancelled``.
  package static func inTask<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StoreError where error.code == .cancelled && Task.isCancelled { throw CancellationError() }
  }

  /// Runs an asynchronous operation of a Swift task, with the errors of ``inTask(_:)``.
  package static func inTask<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
  ) async throws -> Result {
    do { return try await body() } catch let error as StoreError where error.code == .cancelled && Task.isCancelled {
      throw CancellationError()
    }
  }
}
