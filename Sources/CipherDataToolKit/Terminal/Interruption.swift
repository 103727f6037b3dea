// Interruption: Ctrl-C while a command works, without the end of the process.
import Dispatch
import Foundation
import Synchronization

/// Calls off what works when the terminal's interrupt comes.
final class Interruption {
  /// What works now.
  private final class Current: Sendable {
    let cancel = Mutex<(@Sendable () -> Void)?>(nil)
  }
  /// The signal's handler may do little more than write a byte; who reads it may do everything.
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

  /// Does work that an interrupt cancels.
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
