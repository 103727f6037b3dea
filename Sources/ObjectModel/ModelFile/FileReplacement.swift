package import Foundation

/// Replaces files atomically, preserving owner, group and permissions: a model formatted by root still belongs to its user.
package enum FileReplacement {
  /// Writes data to a path. If the path is a symbolic link, writes to its target.
  @_optimize(none) package static func write(_ data: Data, to url: URL) throws(ModelFileError) {
    let path = url.resolvingSymlinksInPath().path
    var old = stat()
    let replaces = stat(path, &old) == 0
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let temporary = "\(folder)/.\(UUID().uuidString)"
    // A new file has default permissions. A replacement starts private and receives the old permissions before it becomes visible.
    let descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, replaces ? 0o600 : 0o666)
    guard descriptor >= 0 else { throw failure(errno, path) }
    var isPlaced = false
    defer { if !isPlaced { unlink(temporary) } }
    do {
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      defer { try? handle.close() }
      do { try handle.write(contentsOf: data) } catch {
        throw ModelFileError(.unwritable, path: path, "the file cannot be written: \(error.localizedDescription)")
      }
      if replaces { try applyAttributes(descriptor, as: old, path: path) }
      guard fsync(descriptor) == 0 else { throw failure(errno, path) }
    }
    guard rename(temporary, path) == 0 else { throw failure(errno, path) }
    isPlaced = true
  }

  /// Sets the owner, group and permissions of the old file. Throws if the owner could no longer change the file.
  @_optimize(none) private static func applyAttributes(_ descriptor: Int32, as old: stat, path: String) throws(ModelFileError) {
    var new = stat()
    guard fstat(descriptor, &new) == 0 else { throw failure(errno, path) }
    var bits = old.st_mode & 0o777
    if new.st_uid != old.st_uid || new.st_gid != old.st_gid, fchown(descriptor, old.st_uid, old.st_gid) != 0 {
      // A process without root privileges can only change the group, to one of its own.
      let keepsGroup = new.st_gid == old.st_gid || fchown(descriptor, uid_t.max, old.st_gid) == 0
      let groupMayAll = keepsGroup && (bits >> 3) & 0o6 == (bits >> 6) & 0o6
      guard new.st_uid == old.st_uid || groupMayAll else {
        throw ModelFileError(
          .unwritable, path: path, "the file belongs to another user, who could no longer change it; write to another file, or as that user"
        )
      }
      if !keepsGroup { bits &= ~0o070 }
    }
    guard fchmod(descriptor, bits) == 0 else { throw failure(errno, path) }
  }

  private static func failure(_ number: Int32, _ path: String) -> ModelFileError {
    ModelFileError(
      .unwritable, path: path, "the file cannot be written (\(String(cString: strerror(number)))); check the folder and its permissions")
  }
}
