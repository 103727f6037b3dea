import ObjectModel
public import ObjectQuery
public import ObjectStore

/// The progress of an asynchronous fetch.
public struct FetchProgress: Sendable, Hashable {
  /// The number of rows read so far.
  public let completedCount: Int
  /// The number of rows to read; nil while it is unknown.
  public let totalCount: Int?

  /// Creates a progress report.
  package init(completedCount: Int, totalCount: Int?) {
    self.completedCount = completedCount
    self.totalCount = totalCount
  }
}

/// A fetch that reads the stores on a separate queue.
///
/// Start one with ``ManagedObjectContext/asynchronousFetch(_:)``. The context's isolation is needed only to create the objects.
///
/// ```swift
/// let fetch = try context.asynchronousFetch(Book.fetchRequest())
/// let progress = fetch.progress
/// Task.detached { for await report in progress { print(report.completedCount) } }
/// let books = try await fetch.value()
/// ```
///
/// The fetch belongs to the context's isolation, as its objects do. ``cancellation`` and ``progress`` can be used from any isolation.
/// Releasing the fetch cancels it.
public final class AsynchronousFetch<Result> {
  /// The cancellation handle of the fetch, usable from any isolation.
  public let cancellation: RequestCancellation
  /// The progress reports of the fetch. A slow consumer receives only the latest report. The stream ends with the fetch.
  public let progress: AsyncStream<FetchProgress>
  private let context: ManagedObjectContext
  private let specification: FetchSpecification
  private let results: (StoreReadResult) throws -> [Result]
  private let reports: AsyncStream<FetchProgress>.Continuation
  private var storeRead: StoreRead

  /// - Parameter results: Creates the results in the context's isolation.
  init(_ specification: FetchSpecification, context: ManagedObjectContext, results: @escaping (StoreReadResult) throws -> [Result]) throws {
    self.specification = specification
    self.context = context
    self.results = results
    cancellation = RequestCancellation()
    (progress, reports) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    storeRead = try StoreRead(specification, context: context, cancellation: cancellation, reports: reports)
  }

  deinit {
    // After release, no caller can await the value.
    cancellation.cancel()
    reports.finish()
  }

  /// Cancels the fetch: interrupts a running statement and makes ``value(isolation:)`` throw.
  public func cancel() { cancellation.cancel() }

  /// Returns the fetched objects, or their snapshots, when the stores have been read.
  ///
  /// The results include the context's unsaved changes as of the end of the read. Canceling the waiting task cancels the fetch.
  ///
  /// - Throws: `CancellationError` if the task was canceled; ``StoreError`` with ``StoreError/Code/cancelled`` after ``cancel()``;
  ///   otherwise the errors of a synchronous fetch.
  public func value(isolation: isolated (any Actor)? = #isolation) async throws -> [Result] {
    defer { reports.finish() }
    do { return try await settledValue(isolation: isolation) } catch let error as StoreError
      where error.code == .cancelled && Task.isCancelled
    {
      throw CancellationError()
    }
  }

  private func settledValue(isolation: isolated (any Actor)?) async throws -> [Result] {
    let cancellation = cancellation
    var readingCount = 0
    while true {
      let task = storeRead.task
      let readResult = try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        cancellation.cancel()
      }
      try cancellation.check()
      readingCount += 1
      if try storeRead.isCurrent(for: specification, in: context, acceptingStaleResults: readingCount > 2) {
        return try results(readResult)
      }
      // A save happened during the read, or unsaved changes outgrew the extra rows that the limit allowed for. Read again.
      storeRead = try StoreRead(specification, context: context, cancellation: cancellation, reports: reports)
    }
  }
}

extension ManagedObjectContext {
  /// Starts a fetch without blocking the context's isolation, and returns immediately.
  ///
  /// ```swift
  /// let fetch = try context.asynchronousFetch(Book.fetchRequest())
  /// let books = try await fetch.value()
  /// ```
  ///
  /// The stores are read on a separate queue. Creating objects, evaluating conditions that no store can evaluate, and prefetching happen
  /// afterward in the context's isolation.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` with ``StoreError/Code/noOpenStore`` if no store is open.
  public func asynchronousFetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> AsynchronousFetch<Result> {
    let specification = request.specification
    try checkClass(Result.self, for: specification)
    return try AsynchronousFetch(specification, context: self) { readResult in
      try self.typed(Result.self, for: specification) { try self.objects(of: specification, readBefore: readResult) }
    }
  }

  /// Returns the objects of a request whose rows have already been read.
  fileprivate func objects(of specification: FetchSpecification, readBefore readResult: StoreReadResult) throws -> [ManagedObject] {
    let plan = try FetchMergePlan(specification.forIDs, context: self)
    // Keep the rows alive until the objects retain them: the row cache may be too small for all of them.
    var held: [ManagedObject] = []
    for (space, rows) in readResult.rows {
      for row in rows { held.append(object(of: row, space: space, refresh: specification.shouldRefreshRefetchedObjects)) }
    }
    let ids = try objectIDs(of: plan, storedIDs: readResult.ids)
    let objects: [ManagedObject]
    if specification.includesPropertyValues {
      objects = try self.objects(with: ids).compactMap { $0 }
    } else {
      objects = ids.map(object(with:))
    }
    withExtendedLifetime(held) {}
    return try finish(objects, specification)
  }
}

extension FetchSpecification {
  /// A copy of the request with object IDs as its result type.
  var forIDs: FetchSpecification {
    var specification = self
    specification.resultType = .objectIDs
    return specification
  }
}

/// The results that the stores returned.
struct StoreReadResult: Sendable {
  /// The matching IDs by ID space; nil if they are fetched when the objects are created.
  var ids: [UInt32: [ManagedObjectID]]? = [:]
  var rows: [(space: UInt32, rows: RowList)] = []
}

private struct StoreRead {
  let task: Task<StoreReadResult, any Error>
  private let storeRequest: FetchSpecification
  private let saveCount: Int
  /// The state counters of the stores. Each save through the coordinator changes them.
  private let states: [Int]

  init(
    _ specification: FetchSpecification, context: ManagedObjectContext, cancellation: RequestCancellation,
    reports: AsyncStream<FetchProgress>.Continuation
  ) throws {
    try context.prepareFetch()
    let plan = try FetchMergePlan(specification.forIDs, context: context)
    let storeRequest = plan.storeSpecification
    self.storeRequest = storeRequest
    saveCount = context.unitOfWork.saveCount
    states = try context.rowSource.states(of: plan.stores)
    let stores = try plan.stores.map { try context.rowSource.detached($0, cancellation: cancellation) }
    let readsRows = specification.includesPropertyValues
    if context.rowSource.readsUnsavedRows {
      // Objects of a parent context must be read in the parent's isolation.
      task = Task { StoreReadResult(ids: nil) }
      return
    }
    task = Task.detached {
      try await QueueExecutor(label: "CipherData.AsynchronousFetch").run {
        var readResult = StoreReadResult()
        for store in stores {
          guard case .objectIDs(let ids) = try store.fetch(storeRequest) else { continue }
          readResult.ids?[store.space] = ids
        }
        let total = readsRows ? readResult.ids?.values.reduce(0) { $0 + $1.count } ?? 0 : 0
        var completed = 0
        reports.yield(FetchProgress(completedCount: 0, totalCount: total))
        for store in stores where readsRows {
          var rest = (readResult.ids?[store.space] ?? [])[...]
          while !rest.isEmpty {
            try cancellation.check()
            let page = rest.prefix(FaultGroups.faultBatch)
            rest = rest.dropFirst(page.count)
            readResult.rows.append((store.space, try store.rows(of: Array(page))))
            completed += page.count
            reports.yield(FetchProgress(completedCount: completed, totalCount: total))
          }
        }
        return readResult
      }
    }
  }

  /// Returns whether the results are still valid for the current state of the context and the stores.
  ///
  /// - Parameter accepts: Whether to accept results that other contexts' saves have made stale, as can happen to any fetch before its
  ///   objects are used.
  func isCurrent(for specification: FetchSpecification, in context: ManagedObjectContext, acceptingStaleResults accepts: Bool) throws
    -> Bool
  {
    try context.prepareFetch()
    let plan = try FetchMergePlan(specification.forIDs, context: context)
    guard saveCount == context.unitOfWork.saveCount, storeRequest == plan.storeSpecification else { return false }
    // A pinned context that does not merge automatically reads from its pinned generation.
    let isPinned = context.rowSource.isPinned && !context.changeReceiver.isOpen
    return try accepts && !isPinned || states == context.rowSource.states(of: plan.stores)
  }
}
