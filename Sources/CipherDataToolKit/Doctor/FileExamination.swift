package import Foundation

/// Checks of the permissions of a store's files.
package enum FileExamination {
  private static let area = "files"

  /// Returns the findings about a store, its companion files, and their folder.
  package static func findings(of store: String) -> [Finding] {
    let url = URL(fileURLWithPath: store)
    let folder = url.deletingLastPathComponent().path
    var result: [Finding] = []
    var owner: uid_t?
    let support = folder + "/.\(url.lastPathComponent)_SUPPORT"
    for path in [store, store + ".keys", store + "-wal", store + "-shm", store + "-changes", support] {
      var status = stat()
      guard stat(path, &status) == 0 else { continue }
      result.append(finding(of: path, mode: status.st_mode, owner: status.st_uid, storeOwner: owner ?? status.st_uid))
      if owner == nil { owner = status.st_uid }
    }
    if FileManager.default.fileExists(atPath: store + ".new") {
      result.append(
        Finding(
          area, url.lastPathComponent + ".new", "left over", .advice,
          "A rotation or compaction was killed: `cipherdata verify --sweep` removes it, and so does the next command that writes."))
    }
    var status = stat()
    if stat(folder, &status) == 0 { result.append(Self.folder(folder, mode: status.st_mode)) }
    return result
  }

  /// Returns the finding about one file.
  package static func finding(of path: String, mode: mode_t, owner: uid_t, storeOwner: uid_t) -> Finding {
    let name = URL(fileURLWithPath: path).lastPathComponent
    let bits = String(mode & 0o777, radix: 8)
    let isFolder = mode & S_IFMT == S_IFDIR
    if owner != storeOwner {
      return Finding(
        area, name, bits, .advice, "It belongs to another user (\(owner)) than the store (\(storeOwner)): change the owner with chown.")
    }
    if mode & 0o022 != 0 {
      return Finding(
        area, name, bits, .advice,
        "Other users can write it, and so destroy the store or restore an older state: chmod \(isFolder ? "700" : "600").")
    }
    if mode & 0o044 != 0 {
      return Finding(
        area, name, bits, name.hasSuffix(".keys") ? .advice : .note,
        name.hasSuffix(".keys")
          ? "Other users can read it and try passphrases: chmod 600."
          : "Other users can read it. It is encrypted; its size and the times of saves are not secret.")
    }
    return Finding(area, name, bits)
  }

  private static func folder(_ path: String, mode: mode_t) -> Finding {
    let bits = String(mode & 0o7777, radix: 8)
    // In a folder with the sticky bit, only owners can remove their files.
    if mode & 0o022 != 0, mode & S_ISVTX == 0 {
      return Finding(area, "folder", "\(path) \(bits)", .advice, "Other users can rename or remove the store's files: chmod go-w.")
    }
    return Finding(area, "folder", "\(path) \(bits)")
  }
}
