package import Foundation

/// The identity of a file in the kernel, independent of its name.
package struct FileIdentity: Sendable, Equatable {
  private let device: UInt64
  private let inode: UInt64

  package init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
  }

  /// Creates the identity of the file at a path, or returns `nil` if there is none.
  package init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }
}
