import Foundation
package import StoreKeys

/// The free space of a file system.
package enum DiskSpace {
  /// Returns the number of bytes that this process can still write in a file's folder, or `nil` if the file system does not report it.
  package static func available(beside path: String) -> Int? {
    var status = statvfs()
    guard statvfs(StoreFile.folder(of: path), &status) == 0, status.f_blocks > 0 else { return nil }
    let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
    return Int(clamping: UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  /// Checks that there is enough space for an operation.
  ///
  /// - Throws: `.insufficientDiskSpace` if the free space is known and insufficient.
  package static func require(_ bytes: Int, beside path: String, operation: StoreAccessError.Operation) throws(StoreAccessError) {
    guard let available = available(beside: path), available < bytes else { return }
    throw StoreAccessError(.insufficientDiskSpace(needed: bytes, available: available), path: path, operation: operation)
  }
}
