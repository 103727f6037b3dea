import Foundation
import ObjectContext
import ObjectQuery
import ObjectStore

/// A fetch that does not block the queue of its context: the stores are read on other threads, and the context creates the objects at the
/// end.
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest {
  /// The fetch request.
  public let fetchRequest: NSFetchRequest<ResultType>
  /// A closure called on the context's queue when the fetch has finished.
  public let completionBlock: ((NSAsynchronousFetchResult<ResultType>) -> Void)?
  /// The expected number of results, for the progress; 0 if it is unknown.
  public var estimatedResultCount = 0

  /// Creates an asynchronous fetch with a completion block.
  public init(
    fetchRequest request: NSFetchRequest<ResultType>, completionBlock block: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil
  ) {
    (fetchRequest, completionBlock) = (request, block)
  }
}

/// The result of an asynchronous fetch.
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult {
  /// The request.
  public let fetchRequest: NSAsynchronousFetchRequest<ResultType>
  /// The fetched results; nil until the fetch has finished.
  public internal(set) var finalResult: [ResultType]?

  init(_ request: NSAsynchronousFetchRequest<ResultType>, _ context: NSManagedObjectContext, _ progress: Progress) {
    fetchRequest = request
    super.init(context, progress)
  }
}

/// An asynchronous fetch request of any result type.
protocol StartableFetch: NSPersistentStoreRequest {
  func begin(in context: NSManagedObjectContext) throws -> NSPersistentStoreAsynchronousResult
}

extension NSAsynchronousFetchRequest: StartableFetch {
  func begin(in context: NSManagedObjectContext) throws -> NSPersistentStoreAsynchronousResult {
    let progress = Progress(totalUnitCount: Int64(max(1, estimatedResultCount)))
    let result = NSAsynchronousFetchResult(self, context, progress)
    let specification = try fetchRequest.specification()
    let type = ResultType.self as? ManagedObject.Type ?? ManagedObject.self
    guard fetchRequest.resultType == .managedObjectResultType else {
      let boxed = SendableBox(value: (self, result))
      context.perform {
        let (request, result) = boxed.value
        request.end(result, Result { try context.results(of: request.fetchRequest) })
      }
      return result
    }
    try run(type, specification, result, progress)
    return result
  }

  private func run<Object: ManagedObject>(
    _ type: Object.Type, _ specification: FetchSpecification, _ result: NSAsynchronousFetchResult<ResultType>, _ progress: Progress
  ) throws {
    let context = result.managedObjectContext
    let fetch = try context.context.asynchronousFetch(FetchRequest<Object>(asking: specification))
    let (cancellation, reports) = (fetch.cancellation, fetch.progress)
    progress.cancellationHandler = { cancellation.cancel() }
    Task.detached {
      for await report in reports {
        if let total = report.totalCount { progress.totalUnitCount = Int64(max(1, total)) }
        progress.completedUnitCount = Int64(report.completedCount)
      }
    }
    let boxed = SendableBox(value: (self, fetch, result))
    // The task runs on the context's queue, and resumes there after the stores were read.
    Task.detached(executorPreference: context.work.executor) {
      let (request, fetch, result) = boxed.value
      let found: Result<[ResultType], any Error>
      do {
        let objects = try await fetch.value(isolation: nil)
        guard let typed = objects as? [ResultType] else {
          throw FetchResultError(entity: request.fetchRequest.entityName ?? "", type: "\(ResultType.self)")
        }
        found = .success(typed)
      } catch {
        found = .failure(error)
      }
      context.context.perform {
        // A fetch that had ended when it was canceled has no result either.
        let outcome = Result {
          try cancellation.check()
          return try found.get()
        }
        request.end(result, outcome)
      }
    }
  }

  private func end(_ result: NSAsynchronousFetchResult<ResultType>, _ found: Result<[ResultType], any Error>) {
    switch found {
    case .success(let found):
      result.finalResult = found
      result.progress?.completedUnitCount = result.progress?.totalUnitCount ?? 0
    case .failure(let error): result.operationError = CoreDataError.make(error)
    }
    completionBlock?(result)
  }
}
