import Foundation

/// Prepares the location of a store's file as Apple's systems do.
enum StoreLocation {
  /// Prepares a location for a store. Failures are reported when the store is opened.
  static func prepare(_ file: URL) {
    makeUserFolder(of: file)
    renameLeftovers(of: file)
  }

  /// Creates the user directory that directly contains a file. On Apple's systems, the directories for documents, data and caches always
  /// exist.
  private static func makeUserFolder(of file: URL) {
    let files = FileManager.default
    let folder = file.deletingLastPathComponent().standardizedFileURL.path
    let places: [FileManager.SearchPathDirectory] = [.documentDirectory, .applicationSupportDirectory, .cachesDirectory, .libraryDirectory]
    for place in places.flatMap({ files.urls(for: $0, in: .userDomainMask) }) where place.standardizedFileURL.path == folder {
      try? files.createDirectory(at: place, withIntermediateDirectories: true)
    }
  }

  /// Renames the leftover files of a store whose database file was deleted.
  ///
  /// Core Data stacks delete SQLite files by name, sometimes only the database file, and a store cannot be created next to an existing key
  /// file or log.
  ///
  /// A store's database file exists before its key file, so no other process is creating the store. The files are kept because the store
  /// may be restored from a backup.
  private static func renameLeftovers(of file: URL) {
    let files = FileManager.default
    let (name, folder) = (file.lastPathComponent, file.deletingLastPathComponent())
    guard !files.fileExists(atPath: file.path), files.fileExists(atPath: file.path + ".keys") else { return }
    let names = (try? files.contentsOfDirectory(atPath: folder.path)) ?? []
    let endings = Set(names.filter { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) })
    // Files that were set aside earlier end with a number.
    func number(_ ending: String) -> Int? { ending.split(separator: ".").last.flatMap { Int($0) } }
    let left = endings.filter { number($0) == nil }
    // A file of a key change or a copy means that another process is using the store. Other names, such as a backup's, belong to the
    // application.
    guard left.isDisjoint(with: Self.inWork) else { return }
    let next = (endings.compactMap(number).max() ?? 0) + 1
    // The key file is renamed last: without it, a second attempt would not look for the other files.
    for ending in leftovers where left.contains(ending) {
      try? files.moveItem(atPath: file.path + ending, toPath: "\(file.path)\(ending).\(next)")
    }
  }

  /// The suffixes of the files that remain after a manual deletion.
  private static let leftovers = ["-wal", "-shm", "-changes", ".keys"]
  /// The suffixes of files that exist while the whole store is being rewritten.
  private static let inWork: Set<String> = ["-journal", ".new", ".new-wal", ".new-shm", ".new-journal", ".keys.lock", ".keys.new"]
}
