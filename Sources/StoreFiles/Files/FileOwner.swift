import Foundation
package import StoreKeys

/// The owner, group and permissions of a file.
///
/// Files that replace or accompany those of a store's owner get the same ones. Otherwise, a key change by root would lock the owner out.
package struct FileOwner: Sendable, Hashable {
  let user: uid_t
  let group: gid_t
  let mode: mode_t

  /// Reads the values of a file or folder, or returns `nil` if the path does not exist.
  package init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (user, group, mode) = (status.st_uid, status.st_gid, status.st_mode & 0o777)
  }

  private init(user: uid_t, group: gid_t, mode: mode_t) {
    (self.user, self.group, self.mode) = (user, group, mode)
  }

  /// The same owner with the permissions for a file that is not executable, such as that of a large value.
  var ofFile: FileOwner { FileOwner(user: user, group: group, mode: mode & 0o666) }

  /// The same owner with the permissions for a folder: read permission on files implies search permission.
  var ofFolder: FileOwner { FileOwner(user: user, group: group, mode: mode & 0o666 | (mode & 0o444) >> 2) }

  /// Transfers a file that this process created to the owner.
  ///
  /// - Parameters:
  ///   - replacing: Whether the file replaces one of the owner's. It is then an error if the owner would lose access. Otherwise, the
  ///     transfer is best effort.
  package func transfer(_ descriptor: Int32, path: String, replacing: Bool = true) throws(StoreAccessError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(errno, path: path, operation: Self.operation) }
    var bits = mode
    if status.st_uid != user || status.st_gid != group, fchown(descriptor, user, group) != 0 {
      // A process without root privileges can at most change the group to another of its own groups.
      let keepsGroup = status.st_gid == group || fchown(descriptor, uid_t.max, group) == 0
      let groupMayAll = keepsGroup && (mode >> 3) & 0o6 == (mode >> 6) & 0o6
      guard !replacing || status.st_uid == user || groupMayAll else {
        throw StoreAccessError(.permissionDenied, path: path, operation: Self.operation, circumstance: .ownerLosesFile)
      }
      if !keepsGroup { bits &= ~0o070 }
    }
    guard fchmod(descriptor, bits) == 0 else { throw .system(errno, path: path, operation: Self.operation) }
  }

  /// Transfers a file, or a folder with its content. The path must not be writable by other users.
  func transferTree(_ path: String) throws {
    var status = stat()
    guard lstat(path, &status) == 0, [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else { return }
    let isFolder = status.st_mode & S_IFMT == S_IFDIR
    if isFolder {
      let names: [String]
      do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
        throw StoreFile.failure(error, path: path, operation: Self.operation)
      }
      for name in names { try transferTree(path + "/" + name) }
    }
    let descriptor = Descriptors.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreAccessError.system(errno, path: path, operation: Self.operation) }
    defer { _ = Foundation.close(descriptor) }
    try (isFolder ? ofFolder : ofFile).transfer(descriptor, path: path)
  }

  private static let operation: StoreAccessError.Operation = .preserveOwner
}
