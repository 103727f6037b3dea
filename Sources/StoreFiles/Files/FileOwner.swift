import Foundation
package import StoreKeys

/// Owner, group and permissions of a file. Without them root, who changes somebody's keys, would lock that somebody out.
package struct FileOwner: Sendable, Hashable {
  let user: uid_t
  let group: gid_t
  /// The permission bits.
  let mode: mode_t

  /// Those of a file or folder; nil where nothing stands at the path.
  package init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (user, group, mode) = (status.st_uid, status.st_gid, status.st_mode & 0o777)
  }

  private init(user: uid_t, group: gid_t, mode: mode_t) {
    (self.user, self.group, self.mode) = (user, group, mode)
  }

  /// The same for a file that is no program, such as one of a large value.
  var ofFile: FileOwner { FileOwner(user: user, group: group, mode: mode & 0o666) }

  /// The same for a folder: who may read or write files may look for them or add some.
  var ofFolder: FileOwner { FileOwner(user: user, group: group, mode: mode & 0o666 | (mode & 0o444) >> 2) }

  /// Gives a file that this process has made to the owner.
  ///
  /// - Parameters:
  ///   - replacing: Whether the file takes the place of the owner's: it fails where that would lock the owner out. Otherwise as much is done as may be.
  package func give(_ descriptor: Int32, path: String, replacing: Bool = true) throws(StoreAccessError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(errno, path: path, operation: Self.operation) }
    var bits = mode
    if status.st_uid != user || status.st_gid != group, fchown(descriptor, user, group) != 0 {
      // Who is not root can at most give the file to a group of his.
      let keepsGroup = status.st_gid == group || fchown(descriptor, uid_t.max, group) == 0
      let groupMayAll = keepsGroup && (mode >> 3) & 0o6 == (mode >> 6) & 0o6
      guard !replacing || status.st_uid == user || groupMayAll else {
        throw StoreAccessError(.permissionDenied, path: path, operation: Self.operation, circumstance: .ownerLosesFile)
      }
      if !keepsGroup { bits &= ~0o070 }
    }
    guard fchmod(descriptor, bits) == 0 else { throw .system(errno, path: path, operation: Self.operation) }
  }

  /// The same for a file or folder at a path where nobody else can put anything, with what is in it.
  func giveTree(_ path: String) throws {
    var status = stat()
    guard lstat(path, &status) == 0, [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else { return }
    let isFolder = status.st_mode & S_IFMT == S_IFDIR
    if isFolder {
      let names: [String]
      do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
        throw StoreFile.failure(error, path: path, operation: Self.operation)
      }
      for name in names { try giveTree(path + "/" + name) }
    }
    let descriptor = Descriptors.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreAccessError.system(errno, path: path, operation: Self.operation) }
    defer { _ = Foundation.close(descriptor) }
    try (isFolder ? ofFolder : ofFile).give(descriptor, path: path)
  }

  private static let operation: StoreAccessError.Operation = .keepOwner
}
