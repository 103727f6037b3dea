// StorePlace: the place of a store's file, as Apple's systems have it before a store is opened.
import Foundation

/// The place of a store's file, as Apple's systems have it before a store is opened.
enum StorePlace {
  /// Makes a place ready for a store. What does not succeed the store says when it is opened.
  static func prepare(_ file: URL) {
    makeUserFolder(of: file)
    setAsideLeftovers(of: file)
  }

  /// Makes the user's folder that a file lies in directly: on Apple's systems those for documents, data and caches are always there.
  private static func makeUserFolder(of file: URL) {
    let files = FileManager.default
    let folder = file.deletingLastPathComponent().standardizedFileURL.path
    let places: [FileManager.SearchPathDirectory] = [.documentDirectory, .applicationSupportDirectory, .cachesDirectory, .libraryDirectory]
    for place in places.flatMap({ files.urls(for: $0, in: .userDomainMask) }) where place.standardizedFileURL.path == folder {
      try? files.createDirectory(at: place, withIntermediateDirectories: true)
    }
  }

  /// Renames what is left of a store whose database file was deleted: stacks for Core Data delete the files of SQLite by their names, some of them the first one only, and a new store is not made
  /// where a key file or a log of another one is.
  ///
  /// A store is there before its key file, so that no process is about to make one. The files are kept: the store may come back from a backup.
  private static func setAsideLeftovers(of file: URL) {
    let files = FileManager.default
    let (name, folder) = (file.lastPathComponent, file.deletingLastPathComponent())
    guard !files.fileExists(atPath: file.path), files.fileExists(atPath: file.path + ".keys") else { return }
    let names = (try? files.contentsOfDirectory(atPath: folder.path)) ?? []
    let endings = Set(names.filter { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) })
    // What was set aside before ends with a number.
    func number(_ ending: String) -> Int? { ending.split(separator: ".").last.flatMap { Int($0) } }
    let left = endings.filter { number($0) == nil }
    // Where a file of a change of keys or of a copy is there, another process is at work with the store. Other names are the application's own, such as a backup's.
    guard left.isDisjoint(with: Self.inWork) else { return }
    let next = (endings.compactMap(number).max() ?? 0) + 1
    // The key file goes last: without it a second attempt would not look for the others.
    for ending in leftovers where left.contains(ending) {
      try? files.moveItem(atPath: file.path + ending, toPath: "\(file.path)\(ending).\(next)")
    }
  }

  /// The endings of the files that a deletion by hand leaves.
  private static let leftovers = ["-wal", "-shm", "-changes", ".keys"]
  /// The endings of files that exist while a store is changed as a whole.
  private static let inWork: Set<String> = ["-journal", ".new", ".new-wal", ".new-shm", ".new-journal", ".keys.lock", ".keys.new"]
}
