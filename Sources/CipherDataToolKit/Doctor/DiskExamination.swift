package import Foundation

/// A line of the system's list of mounted file systems.
package struct Mount: Sendable, Hashable {
  package var folder: String
  package var type: String
  package var source: String
  package var options: [String]

  /// Parses a line of `/proc/self/mountinfo`; `nil` if it is malformed.
  package init?(_ line: some StringProtocol) {
    let fields = line.split(separator: Character(" ")).map { String($0) }
    // A dash ends the list of optional fields.
    guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 2 else { return nil }
    folder = Self.unescaped(fields[4])
    type = fields[dash + 1]
    source = Self.unescaped(fields[dash + 2])
    options = (fields[5] + (fields.count > dash + 3 ? "," + fields[dash + 3] : "")).split(separator: Character(",")).map { String($0) }
  }

  /// Returns the mount of a path: the last one of those with the longest matching folder.
  package static func of(_ path: String, in list: String) -> Mount? {
    var found: Mount?
    for mount in list.split(separator: "\n").compactMap({ Mount($0) }) {
      let isAbove = mount.folder == "/" || path == mount.folder || path.hasPrefix(mount.folder + "/")
      if isAbove, mount.folder.utf8.count >= found?.folder.utf8.count ?? 0 { found = mount }
    }
    return found
  }

  /// Spaces and similar characters are escaped in octal.
  private static func unescaped(_ text: String) -> String {
    text.replacing(/\\([0-7]{3})/) { match in Int(match.output.1, radix: 8).flatMap(UnicodeScalar.init).map { String($0) } ?? "" }
  }
}

/// Checks of the file system that contains a store.
package enum DiskExamination {
  /// The reliability of locks on network file systems depends on the server.
  private static let overNetwork: Set<String> = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "fuse.rclone", "ncpfs",
  ]
  private static let inMemory: Set<String> = ["tmpfs", "ramfs"]

  /// Returns the findings about a mount.
  package static func findings(_ mount: Mount) -> [Finding] {
    let area = "disk"
    var result: [Finding] = []
    let name = "\(mount.type) on \(mount.folder)"
    if overNetwork.contains(mount.type) {
      result.append(
        Finding(
          area, "file system", name, .advice,
          "It is a network file system, on which locks and syncs depend on the server: several processes can damage the store. Keep it on a local disk, and copy it with `cipherdata backup`."
        ))
    } else if inMemory.contains(mount.type) {
      result.append(
        Finding(
          area, "file system", name, .advice, "It is in memory: everything is lost when the machine stops. Keep permanent data on a disk.")
      )
    } else if mount.type.hasPrefix("fuse") {
      result.append(
        Finding(area, "file system", name, .note, "A program (FUSE) implements it, on which locks and syncs depend."))
    } else {
      result.append(Finding(area, "file system", name))
    }
    for option in mount.options where ["nobarrier", "barrier=0", "data=writeback", "ro"].contains(option) {
      result.append(
        option == "ro"
          ? Finding(area, "mount option", option, .note, "It is read-only: copy a store with a log elsewhere to open it.")
          : Finding(
            area, "mount option", option, .advice,
            "A sync may return before the bytes are on the disk: a power cut may lose acknowledged saves, or damage the store. Mount without it."
          ))
    }
    return result
  }

  /// Measures how long writing and syncing a small file takes, as a save does. The result is the median of several runs.
  ///
  /// - Returns: The duration; `nil` if the folder is not writable.
  static func timeOfSync(in folder: String) -> Duration? {
    let path = folder + "/.cipherdata-doctor-\(getpid())"
    let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return nil }
    defer {
      close(descriptor)
      unlink(path)
    }
    let page = [UInt8](repeating: 0x55, count: 4_096)
    var times: [Duration] = []
    for number in 0..<9 {
      let start = ContinuousClock.now
      guard pwrite(descriptor, page, page.count, off_t(number * page.count)) == page.count, fsync(descriptor) == 0 else { return nil }
      times.append(.now - start)
    }
    return times.sorted()[times.count / 2]
  }

  /// Returns the finding about the duration of a sync.
  package static func finding(ofSync time: Duration?, preloaded: String) -> Finding {
    let (area, subject) = ("disk", "sync")
    if preloaded.contains("eatmydata") {
      return Finding(
        area, subject, "switched off", .failure,
        "LD_PRELOAD names libeatmydata, which makes syncs do nothing: a power cut loses saves. Start without it.")
    }
    guard let time else { return Finding(area, subject, "not tried", .note, "This folder is not writable.") }
    let microseconds = Int(time / .microseconds(1))
    let text = microseconds < 1_000 ? "\(microseconds) µs" : "\(microseconds / 1_000).\(microseconds / 100 % 10) ms"
    // Flash drives need some hundred microseconds to write a block.
    if microseconds < 50 {
      return Finding(
        area, subject, text, .note,
        "That is faster than a drive can be: either its cache is safe against power cuts, or a layer below (a virtual machine, a container) reports success before the bytes are on a disk."
      )
    }
    return Finding(area, subject, text)
  }
}

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
