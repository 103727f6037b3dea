import ObjectStore
import StoreFiles

extension SQLCipherStoreFile {
  /// Runs a long work, which ends at its next report once `progress` says so or the task that waits for it is cancelled.
  ///
  /// - Throws: `CancellationError` where it was the task; what the work throws.
  static func longWork<Result: Sendable>(
    _ progress: Progress?, _ work: (ProgressHandler?) async throws -> sending Result
  ) async throws -> Result {
    let cancellation = RequestCancellation()
    do {
      return try await withTaskCancellationHandler {
        try Task.checkCancellation()
        return try await RisingProgress.telling({ (progress?($0, $1) ?? true) && !cancellation.isCancelled }, work)
      } onCancel: {
        cancellation.cancel()
      }
    } catch let error as StoreError where error.code == .cancelled && cancellation.isCancelled {
      throw CancellationError()
    }
  }
}
