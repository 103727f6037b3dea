import Foundation
package import StoreKeys

/// The file beside a store whose times change with every commit. Who wants to hear of commits makes it; who commits touches it where it is.
package enum NoticeFile {
  /// What the file's name has after the database's.
  package static let suffix = "-changes"

  /// The file's name beside a database.
  package static func path(for databasePath: String) -> String { databasePath + suffix }

  /// Makes the file where there is none; who may write the store may touch it.
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

/// Tells whoever waits of the commits of one connection.
package struct CommitNotice {
  /// How long it is taken for granted that nobody waits where nobody did.
  static let trust: UInt64 = 20_000_000

  package let path: String
  private var lookAgain: UInt64 = 0

  package init(databasePath: String) { path = NoticeFile.path(for: databasePath) }

  /// Touches the file where it is, after a commit.
  ///
  /// One call of the system by name, so that one who comes to wait later is heard of. Where nobody waits the call looks up a name in vain, which takes a
  /// microsecond or three: of many commits one in 20 ms does so. Who begins to wait knows that, and looks at the log as well. A link is touched itself, never
  /// what it leads to.
  package mutating func touch() {
    let now = CoarseClock.now()
    guard now >= lookAgain else { return }
    if utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW) != 0, errno == ENOENT { lookAgain = now &+ Self.trust }
  }
}
