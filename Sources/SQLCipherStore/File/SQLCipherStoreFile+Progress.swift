import ObjectStore
import StoreFiles

extension SQLCipherStoreFile {
  /// Runs a long operation. It ends at its next progress report after `progress` returns `false` or the calling task is canceled.
  ///
  /// - Throws: `CancellationError` if the task was canceled; any error of the operation.
  static func withProgress<Result: Sendable>(
    _ progress: Progress?, _ work: (ProgressHandler?) async throws -> sending Result
  ) async throws -> Result {
    let cancellation = RequestCancellation()
    do {
      return try await withTaskCancellationHandler {
        try Task.checkCancellation()
        return try await MonotonicProgress.run({ (progress?($0, $1) ?? true) && !cancellation.isCancelled }, work)
      } onCancel: {
        cancellation.cancel()
      }
    } catch let error as StoreError where error.code == .cancelled && cancellation.isCancelled {
      throw CancellationError()
    }
  }
}
