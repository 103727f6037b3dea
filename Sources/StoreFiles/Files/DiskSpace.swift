import Foundation
package import StoreKeys

/// What is left of a file system.
package enum DiskSpace {
  /// The bytes that this process may still write where a file stands; nil where the file system does not say.
  package static func available(beside path: String) -> Int? {
    var status = statvfs()
    guard statvfs(StoreFile.folder(of: path), &status) == 0, status.f_blocks > 0 else { return nil }
    let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
    return Int(clamping: UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  /// Refuses a work that needs more than is left.
  ///
  /// - Throws: `.noRoom`. Where nobody knows what is left, the work has to find out.
  package static func require(_ bytes: Int, beside path: String, operation: StoreAccessError.Operation) throws(StoreAccessError) {
    guard let available = available(beside: path), available < bytes else { return }
    throw StoreAccessError(.noRoom(needed: bytes, available: available), path: path, operation: operation)
  }
}
