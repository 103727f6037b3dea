// NSAsynchronousFetchRequest: fetches whose reading is done elsewhere than on the context's queue.
import Foundation
import ObjectContext
import ObjectQuery
import ObjectStore

/// A fetch that does not hold up the queue of its context: stores are read elsewhere, and the context makes the objects at the end.
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest {
  /// What is fetched.
  public let fetchRequest: NSFetchRequest<ResultType>
  /// Called on the context's queue when the fetch has ended.
  public let completionBlock: ((NSAsynchronousFetchResult<ResultType>) -> Void)?
  /// How many results are expected, for the progress; 0 where nobody knows.
  public var estimatedResultCount = 0

  /// A fetch, and what is done with its results.
  public init(
    fetchRequest request: NSFetchRequest<ResultType>, completionBlock block: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil
  ) {
    (fetchRequest, completionBlock) = (request, block)
  }
}

/// What an asynchronous fetch finds.
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult {
  /// What was fetched.
  public let fetchRequest: NSAsynchronousFetchRequest<ResultType>
  /// What was found; nil until then.
  public internal(set) var finalResult: [ResultType]?

  init(_ request: NSAsynchronousFetchRequest<ResultType>, _ context: NSManagedObjectContext, _ progress: Progress) {
    fetchRequest = request
    super.init(context, progress)
  }
}

/// A request that begins a fetch, whatever it fetches.
protocol BeginningFetch: NSPersistentStoreRequest {
  func begin(in context: NSManagedObjectContext) throws -> NSPersistentStoreAsynchronousResult
}

extension NSAsynchronousFetchRequest: BeginningFetch {
  func begin(in context: NSManagedObjectContext) throws -> NSPersistentStoreAsynchronousResult {
    let progress = Progress(totalUnitCount: Int64(max(1, estimatedResultCount)))
    let result = NSAsynchronousFetchResult(self, context, progress)
    let specification = try fetchRequest.specification()
    let type = ResultType.self as? ManagedObject.Type ?? ManagedObject.self
    guard fetchRequest.resultType == .managedObjectResultType else {
      let lent = Lent(value: (self, result))
      context.perform {
        let (request, result) = lent.value
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
    let lent = Lent(value: (self, fetch, result))
    // The task runs on the context's queue, where it continues once the stores are read.
    Task.detached(executorPreference: context.work.executor) {
      let (request, fetch, result) = lent.value
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
      context.context.perform { request.end(result, found) }
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
