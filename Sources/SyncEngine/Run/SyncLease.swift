import Foundation
import StoreFiles
import Synchronization

/// The right to synchronize a store, which one process has at a time.
///
/// It is a lock on the file `<store>-sync`, which the system releases when the process ends, however it ends.
package final class SyncLease: Sendable {
  private let descriptor: Mutex<Int32?>

  private init(descriptor: Int32) { self.descriptor = Mutex(descriptor) }

  deinit { release() }

  /// Gives the right back.
  package func release() {
    descriptor.withLock { descriptor in
      if let open = descriptor { _ = close(open) }
      descriptor = nil
    }
  }

  package var isReleased: Bool { descriptor.withLock { $0 == nil } }

  /// Takes the lease of a store.
  ///
  /// - Returns: Nil if another process, or another user of this process, has it.
  /// - Throws: ``SyncError`` if the file cannot be created.
  package static func take(for storePath: String) throws -> SyncLease? {
    let path = StoreFile.synchronizationLockPath(for: StoreFile.place(of: storePath))
    let descriptor = Descriptors.open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
    guard descriptor >= 0 else { throw SyncError(.leaseUnavailable(errno), path: path) }
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return SyncLease(descriptor: descriptor) }
    let number = errno
    _ = close(descriptor)
    guard number == EWOULDBLOCK || number == EINTR else { throw SyncError(.leaseUnavailable(number), path: path) }
    return nil
  }
}

extension SyncError.Reason {
  fileprivate static func leaseUnavailable(_ number: Int32) -> Self {
    Self(
      .leaseUnavailable,
      "The file that shows which process synchronizes the store cannot be locked: \(String(cString: strerror(number))).")
  }
}
