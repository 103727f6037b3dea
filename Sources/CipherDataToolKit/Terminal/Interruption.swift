import Dispatch
import Foundation
import Synchronization

/// Cancels the current task when the terminal sends an interrupt, without ending the process.
final class Interruption {
  /// The current task.
  private final class Current: Sendable {
    let cancel = Mutex<(@Sendable () -> Void)?>(nil)
  }
  /// A signal handler can do little more than write a byte; the reader of the pipe has no such restrictions.
  private static let pipe: (reading: Int32, writing: Int32) = {
    var ends: [Int32] = [-1, -1]
    return Foundation.pipe(&ends) == 0 ? (ends[0], ends[1]) : (-1, -1)
  }()
  private let current = Current()
  private let source: (any DispatchSourceRead)?

  init() {
    let descriptor = Self.pipe.reading
    source = descriptor < 0 ? nil : DispatchSource.makeReadSource(fileDescriptor: descriptor)
    source?.setEventHandler { [current] in
      var byte: UInt8 = 0
      _ = read(descriptor, &byte, 1)
      current.cancel.withLock { $0 }?()
    }
    source?.activate()
  }

  deinit { source?.cancel() }

  /// Waits for a task, which an interrupt cancels.
  func cancelling<Result: Sendable>(_ work: Task<Result, any Error>) async throws -> Result {
    guard source != nil else { return try await work.value }
    current.cancel.withLock { $0 = { work.cancel() } }
    signal(SIGINT) { _ in
      var byte: UInt8 = 0
      _ = write(Interruption.pipe.writing, &byte, 1)
    }
    defer {
      signal(SIGINT, SIG_DFL)
      current.cancel.withLock { $0 = nil }
    }
    return try await work.value
  }
}
