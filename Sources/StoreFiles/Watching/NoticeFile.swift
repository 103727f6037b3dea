import Foundation
package import StoreKeys

/// The empty file next to a store whose times change with every commit. Observers of commits create it; writers touch it if it exists.
package enum NoticeFile {
  /// The suffix of the file's name after the database's name.
  package static let suffix = "-changes"

  package static func path(for databasePath: String) -> String { databasePath + suffix }

  /// Creates the file if it does not exist, with permissions that allow all writers of the store to touch it.
  package static func make(for databasePath: String) throws(StoreAccessError) {
    let path = path(for: databasePath)
    if StoreFile.exists(path) { return }
    do throws(StoreAccessError) {
      try StoreFile.createExclusively(path, for: FileOwner(of: databasePath)?.ofFile, replacing: false)
    } catch  where error.kind == .fileExists {
    } catch {
      throw error.with(kind: error.kind, operation: .watch)
    }
  }
}

/// Notifies observers in other processes of the commits of one connection.
package struct CommitNotice {
  /// The time in nanoseconds for which a missing notice file is not looked up again.
  static let lookupInterval: UInt64 = 20_000_000

  package let path: String
  private var nextLookup: UInt64 = 0

  package init(databasePath: String) { path = NoticeFile.path(for: databasePath) }

  /// Touches the file after a commit, if it exists.
  ///
  /// The file is touched by name with one system call, so that later observers are found. Without an observer, the failed lookup takes 1 to
  /// 3 µs, and happens at most once in 20 ms. New observers therefore also check the log. A symbolic link is touched itself, not its
  /// target.
  package mutating func touch() {
    let now = CoarseClock.now()
    guard now >= nextLookup else { return }
    if utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW) != 0, errno == ENOENT { nextLookup = now &+ Self.lookupInterval }
  }
}

/// A monotonic clock with a resolution of a few milliseconds that takes a few nanoseconds to read. Use it for frequent checks that do not
/// need the exact time.
package enum CoarseClock {
  /// The time in nanoseconds since an arbitrary point. It never decreases.
  @inlinable package static func now() -> UInt64 {
    var time = timespec()
    #if os(Linux)
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #else
      clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}
