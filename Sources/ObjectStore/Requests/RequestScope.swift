public import ObjectModel
import Synchronization

/// The context of a request: the information about the caller that a store may use.
public struct RequestScope: Sendable {
  /// The ID space in which the store's object IDs are created.
  public let objectIDSpace: ObjectIDSpace
  /// The name of the context, recorded in the history.
  public var contextName: String?
  /// The author of the changes, recorded in the history.
  public var transactionAuthor: String?
  /// The source of the changes, recorded in the history as the kind of the transaction.
  public var changeSource = ChangeSource.application
  /// The object that can cancel the request, or nil if it cannot be canceled.
  public var cancellation: RequestCancellation?
  /// The generation of the store that fetches, rows, and relationship members are read from, or nil for the newest state. Writes ignore it.
  public var generation: (any StoreGeneration)?
  /// The number of the requesting context, which is not notified of its own changes, or 0 for none.
  package var origin: UInt64 = 0
  /// The source of cached rows, which a fetch need not read again.
  package var rowTables: (any CachedRowSource)?
  /// The coordinator's consumers of a batch request's changes. Nil if the caller is not the coordinator and expects lists of the rows.
  package var consumers: [any RequestConsumer]?

  /// Creates a scope.
  ///
  /// - Parameters:
  ///   - objectIDSpace: The ID space of the store.
  ///   - contextName: The name of the requesting context.
  ///   - transactionAuthor: The author of the change, as defined by the application.
  public init(objectIDSpace: ObjectIDSpace, contextName: String? = nil, transactionAuthor: String? = nil) {
    self.objectIDSpace = objectIDSpace
    self.contextName = contextName
    self.transactionAuthor = transactionAuthor
  }
}

/// A consumer of the changes that a request makes.
package protocol RequestConsumer: AnyObject, Sendable {}

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

/// A snapshot of a store's rows, returned by ``IncrementalStore/currentGeneration(in:)`` and named by ``RequestScope/generation``.
///
/// As long as the object is referenced, the store answers requests that name it from the snapshot. If nothing was committed since the last
/// call, the store returns the same object. A store may end a generation, for example when it is closed; requests then throw
/// ``StoreError/Code/queryGenerationExpired``.
public protocol StoreGeneration: AnyObject, Sendable {
  /// Whether the snapshot can no longer be read.
  var isOver: Bool { get }
}
