// StorePlace: the place of a store's file, as Apple's systems have it before a store is opened.
import Foundation

/// The place of a store's file, as Apple's systems have it before a store is opened.
enum StorePlace {
  /// Makes a place ready for a store. What does not succeed the store says when it is opened.
  static func prepare(_ file: URL) {
    makeUserFolder(of: file)
    setAsideKeys(of: file)
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

  /// Gives the key file of a store that was deleted without it another name: stacks for Core Data delete the three files of SQLite by their names, and a new store is not made where a key file stands.
  ///
  /// A store is there before its key file, so that nobody is about to make one. The file is kept: the store may come back from a backup.
  private static func setAsideKeys(of file: URL) {
    let files = FileManager.default
    let (name, folder) = (file.lastPathComponent, file.deletingLastPathComponent())
    let keys = folder.appendingPathComponent(name + ".keys")
    guard !files.fileExists(atPath: file.path), files.fileExists(atPath: keys.path) else { return }
    let beside = ((try? files.contentsOfDirectory(atPath: folder.path)) ?? []).filter { $0.hasPrefix(name) }
    let former = beside.filter { $0.hasPrefix(name + ".keys.") && Int($0.dropFirst(name.utf8.count + 6)) != nil }
    // Where something else of the store is there, somebody is at work with it.
    guard Set(beside).subtracting(former) == [name + ".keys"] else { return }
    let number = (former.compactMap { Int($0.dropFirst(name.utf8.count + 6)) }.max() ?? 0) + 1
    try? files.moveItem(at: keys, to: folder.appendingPathComponent("\(name).keys.\(number)"))
  }
}
