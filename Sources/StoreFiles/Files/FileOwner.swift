package import Foundation
package import StoreKeys
import Synchronization

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

/// Opens files, and checks for free file descriptors before operations that need several: the dispatch library terminates the process if it
/// cannot open its own.
package enum Descriptors {
  /// The number of descriptors for a database, its log, the log's index, a folder, and the dispatch library's timers.
  static let needed = 8
  /// The number of descriptors that the dispatch library opens for its first timer and keeps.
  private static let neededByDispatch = 5
  private static let hasTimers = Mutex(false)

  /// Opens a file, and retries if a signal interrupts the call.
  package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
    while true {
      let descriptor = Foundation.open(path, flags, mode)
      if descriptor >= 0 || errno != EINTR { return descriptor }
    }
  }

  /// Throws if too few descriptors are left to open a store without risking termination of the process.
  package static func check(path: String?) throws(StoreAccessError) {
    guard areFree(needed) else { throw .system(EMFILE, path: path, operation: .open) }
  }

  /// Returns whether a timer can be created safely. The first timer opens descriptors that later ones share.
  package static func mayMakeTimer() -> Bool {
    hasTimers.withLock { hasTimers in
      if !hasTimers { hasTimers = areFree(neededByDispatch) }
      return hasTimers
    }
  }

  private static func areFree(_ count: Int) -> Bool {
    // The first descriptor is opened by path, which also checks the system-wide limit. The others are duplicates, which need no path
    // lookup.
    let first = open("/dev/null", O_RDONLY | O_CLOEXEC)
    // Other errors of the device do not concern descriptors.
    guard first >= 0 else { return errno != EMFILE && errno != ENFILE }
    var descriptors = [first]
    defer { for descriptor in descriptors { _ = close(descriptor) } }
    if areLastFree(count - 1) { return true }
    while descriptors.count < count {
      let descriptor = fcntl(first, F_DUPFD_CLOEXEC, 0)
      guard descriptor >= 0 else { return errno != EMFILE && errno != ENFILE }
      descriptors.append(descriptor)
    }
    return true
  }

  /// Returns whether the last descriptors below the process's limit are free, as they nearly always are. This proves with two system calls
  /// that enough are left. `false` proves nothing.
  private static func areLastFree(_ count: Int) -> Bool {
    #if canImport(Glibc)
      var limit = rlimit()
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, let end = Int32(exactly: limit.rlim_cur), end > count
      else { return false }
      // `poll` reports descriptors that are not open immediately.
      var asked = (1...count).map { pollfd(fd: end - Int32($0), events: 0, revents: 0) }
      return poll(&asked, nfds_t(count), 0) == count && asked.allSatisfy { $0.revents == Int16(POLLNVAL) }
    #else
      // Other systems can have a lower limit of their own.
      return false
    #endif
  }
}
