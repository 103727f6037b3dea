// AsynchronousFetch: a fetch whose reading is done elsewhere, so that the isolation of its context is not blocked.
import ObjectModel
public import ObjectQuery
public import ObjectStore

/// How far an asynchronous fetch has come.
public struct FetchProgress: Sendable, Hashable {
  /// The rows that were read.
  public let completedCount: Int
  /// The rows that will be read; nil as long as that is not known.
  public let totalCount: Int?

  /// Makes a report.
  package init(completedCount: Int, totalCount: Int?) {
    self.completedCount = completedCount
    self.totalCount = totalCount
  }
}

/// A fetch that was begun with ``ManagedObjectContext/asynchronousFetch(_:)``: stores are read on a queue of their own, and the context's isolation is
/// needed only to make the objects.
///
/// ```swift
/// let fetch = try context.asynchronousFetch(Book.fetchRequest())
/// let progress = fetch.progress
/// Task.detached { for await report in progress { print(report.completedCount) } }
/// let books = try await fetch.value()
/// ```
///
/// It belongs to the context's isolation, as the objects do; ``cancellation`` and ``progress`` may go anywhere. Letting go of it calls the fetch off.
public final class AsynchronousFetch<Result> {
  /// Calls the fetch off, from any isolation.
  public let cancellation: RequestCancellation
  /// Reports of how far the fetch has come. Whoever does not ask in time gets the latest one only. The stream ends with the fetch.
  public let progress: AsyncStream<FetchProgress>
  private let context: ManagedObjectContext
  private let specification: FetchSpecification
  private let results: (FetchAnswers) throws -> [Result]
  private let reports: AsyncStream<FetchProgress>.Continuation
  private var reading: FetchReading

  /// - Parameters:
  ///   - specification: What is fetched.
  ///   - context: The context.
  ///   - results: Makes the results where the context lives.
  init(_ specification: FetchSpecification, context: ManagedObjectContext, results: @escaping (FetchAnswers) throws -> [Result]) throws {
    self.specification = specification
    self.context = context
    self.results = results
    cancellation = RequestCancellation()
    (progress, reports) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    reading = try FetchReading(specification, context: context, cancellation: cancellation, reports: reports)
  }

  deinit {
    // Nobody can ask for the objects any more.
    cancellation.cancel()
    reports.finish()
  }

  /// Calls the fetch off: a statement that runs is ended, and ``value(isolation:)`` throws.
  public func cancel() { cancellation.cancel() }

  /// The objects, or their snapshots, once they have been read. Unsaved changes count as they are when the reading has ended.
  ///
  /// Canceling the task that waits cancels the fetch.
  ///
  /// - Throws: `CancellationError` where the task was canceled, ``StoreError`` with ``StoreError/Code/cancelled`` after ``cancel()``, else what a fetch that is
  ///   not asynchronous throws.
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
      let task = reading.task
      let answers = try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        cancellation.cancel()
      }
      try cancellation.check()
      readingCount += 1
      if try reading.isCurrent(for: specification, in: context, acceptingOthersSaves: readingCount > 2) { return try results(answers) }
      // Something was saved, or there are more unsaved changes than the limit allowed for.
      reading = try FetchReading(specification, context: context, cancellation: cancellation, reports: reports)
    }
  }
}

extension ManagedObjectContext {
  /// Begins a fetch that does not block the context's isolation, and returns at once.
  ///
  /// ```swift
  /// let fetch = try context.asynchronousFetch(Book.fetchRequest())
  /// let books = try await fetch.value()
  /// ```
  ///
  /// Stores are read on a queue; making the objects, evaluating what no store can answer, and prefetching are done where the context lives, at the end.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked; ``StoreError`` with ``StoreError/Code/noOpenStore`` when no store is open.
  public func asynchronousFetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> AsynchronousFetch<Result> {
    let specification = request.specification
    try checkClass(Result.self, for: specification)
    return try AsynchronousFetch(specification, context: self) { answers in
      try self.typed(Result.self, for: specification) { try self.objects(of: specification, readBefore: answers) }
    }
  }

  /// The objects of a request whose rows were read before.
  fileprivate func objects(of specification: FetchSpecification, readBefore answers: FetchAnswers) throws -> [ManagedObject] {
    let plan = try FetchMergePlan(specification.forIDs, context: self)
    // Rows are held until the objects hold them: the row cache may be too small for all.
    var held: [ManagedObject] = []
    for (space, rows) in answers.rows {
      for row in rows { held.append(object(of: row, space: space, refresh: specification.shouldRefreshRefetchedObjects)) }
    }
    let ids = try objectIDs(of: plan, storedIDs: answers.ids)
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
  /// The request for the IDs of what it asks for.
  var forIDs: FetchSpecification {
    var specification = self
    specification.resultType = .objectIDs
    return specification
  }
}

/// What stores have answered.
struct FetchAnswers: Sendable {
  /// The IDs that each store found; nil where they are to be asked for when the objects are made.
  var ids: [UInt32: [ManagedObjectID]]? = [:]
  /// The rows of those that were not at hand.
  var rows: [(space: UInt32, rows: RowList)] = []
}

/// The reading of a fetch, under way on a queue.
private struct FetchReading {
  let task: Task<FetchAnswers, any Error>
  private let asked: FetchSpecification
  private let saveCount: Int
  /// The states of the stores, which change with each save through the coordinator.
  private let states: [Int]

  init(
    _ specification: FetchSpecification, context: ManagedObjectContext, cancellation: RequestCancellation,
    reports: AsyncStream<FetchProgress>.Continuation
  ) throws {
    try context.prepareFetch()
    let plan = try FetchMergePlan(specification.forIDs, context: context)
    let asked = plan.storeSpecification
    self.asked = asked
    saveCount = context.unitOfWork.saveCount
    states = try context.rowSource.states(of: plan.stores)
    let stores = try plan.stores.map { try context.rowSource.detached($0, cancellation: cancellation) }
    let readsRows = specification.includesPropertyValues
    if context.rowSource.readsUnsavedRows {
      // Objects of a parent are read where it lives.
      task = Task { FetchAnswers(ids: nil) }
      return
    }
    task = Task.detached {
      try await QueueExecutor(label: "CipherData.AsynchronousFetch").run {
        var answers = FetchAnswers()
        for store in stores {
          guard case .objectIDs(let ids) = try store.fetch(asked) else { continue }
          answers.ids?[store.space] = ids
        }
        let total = readsRows ? answers.ids?.values.reduce(0) { $0 + $1.count } ?? 0 : 0
        var completed = 0
        reports.yield(FetchProgress(completedCount: 0, totalCount: total))
        for store in stores where readsRows {
          var rest = (answers.ids?[store.space] ?? [])[...]
          while !rest.isEmpty {
            try cancellation.check()
            let page = rest.prefix(FaultGroups.faultBatch)
            rest = rest.dropFirst(page.count)
            answers.rows.append((store.space, try store.rows(of: Array(page))))
            completed += page.count
            reports.yield(FetchProgress(completedCount: completed, totalCount: total))
          }
        }
        return answers
      }
    }
  }

  /// Whether the answers are still those to what would be asked now.
  ///
  /// - Parameter accepts: Whether saves of others may have come since, as they may between any fetch and the use of its objects.
  func isCurrent(for specification: FetchSpecification, in context: ManagedObjectContext, acceptingOthersSaves accepts: Bool) throws -> Bool
  {
    try context.prepareFetch()
    let plan = try FetchMergePlan(specification.forIDs, context: context)
    guard saveCount == context.unitOfWork.saveCount, asked == plan.storeSpecification else { return false }
    // A pinned context that merges nothing by itself reads what it was told to.
    let isPinned = context.rowSource.isPinned && !context.intake.isOpen
    return try accepts && !isPinned || states == context.rowSource.states(of: plan.stores)
  }
}
