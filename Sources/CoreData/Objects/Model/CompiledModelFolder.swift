import Foundation
import ObjectModel
import Synchronization

/// The compiled folder of a model bundle as Apple's tools create it, for sources that read its files: one file for each version, and
/// `VersionInfo.plist`.
///
/// Migrators read the version names from that list or from the folder. The folder is stored in the user's cache directory, named by a hash
/// of the bundle's contents, and created when first requested. Its `.mom` files are the versions' XML files.
enum CompiledModelFolder {
  private static let known = Mutex<[String: URL]>([:])
  private static let list = "VersionInfo.plist"
  private static let currentVersionKey = "NSManagedObjectModel_CurrentVersionName"
  private static let hashesKey = "NSManagedObjectModel_VersionHashes"

  /// Returns the folder of a bundle; creates it if it is missing.
  ///
  /// - Parameter bundle: An `.xcdatamodeld` bundle.
  /// - Returns: The folder; nil if the bundle cannot be read or the folder cannot be written.
  static func url(of bundle: URL) -> URL? {
    guard bundle.pathExtension == "xcdatamodeld" else { return nil }
    if let known = known.withLock({ $0[bundle.path] }), FileManager.default.fileExists(atPath: known.path) { return known }
    guard let folder = try? write(bundle) else { return nil }
    known.withLock { $0[bundle.path] = folder }
    return folder
  }

  /// Returns the file of the current version in a folder.
  ///
  /// - Parameter folder: The folder of a bundle.
  /// - Returns: The file; nil if the folder has no version list that names it.
  static func current(of folder: URL) -> URL? {
    guard let data = try? Data(contentsOf: folder.appendingPathComponent(list)),
      let values = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
      let name = values[currentVersionKey] as? String, !name.contains("/")
    else { return nil }
    return folder.appendingPathComponent(name + ".mom")
  }

  private static func write(_ bundle: URL) throws -> URL? {
    let files = FileManager.default
    guard let caches = files.urls(for: .cachesDirectory, in: .userDomainMask).first else { return nil }
    let model = try VersionedModel(contentsOf: bundle)
    let contents = try model.versions.map { version in
      (version.name, try Data(contentsOf: bundle.appendingPathComponent("\(version.name).xcdatamodel/contents")))
    }
    let models = caches.appendingPathComponent("CipherData/Models")
    let parent = models.appendingPathComponent(hash(contents, model.currentVersionName))
    let name = bundle.deletingPathExtension().lastPathComponent + ".momd"
    let folder = parent.appendingPathComponent(name)
    // The list is written last and the folder is renamed as a whole, so an existing folder is complete.
    if files.fileExists(atPath: folder.appendingPathComponent(list).path) { return folder }
    let stage = models.appendingPathComponent(".\(UUID().uuidString)")
    try files.createDirectory(at: stage.appendingPathComponent(name), withIntermediateDirectories: true)
    defer { try? files.removeItem(at: stage) }
    for (version, data) in contents { try data.write(to: stage.appendingPathComponent("\(name)/\(version).mom")) }
    let hashes = Dictionary(model.versions.map { ($0.name, $0.model.versionHashesByEntityName) }) { first, _ in first }
    let values: [String: Any] = [currentVersionKey: model.currentVersionName, hashesKey: hashes]
    try PropertyListSerialization.data(fromPropertyList: values, format: .xml, options: 0).write(
      to: stage.appendingPathComponent("\(name)/\(list)"))
    // Another process may have created the folder in the meantime.
    if (try? files.moveItem(at: stage, to: parent)) == nil, !files.fileExists(atPath: folder.appendingPathComponent(list).path) {
      return nil
    }
    return folder
  }

  /// Returns a 64-bit FNV-1a hash of the versions' names and files and of the current version's name.
  private static func hash(_ contents: [(String, Data)], _ current: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func add(_ bytes: some Sequence<UInt8>) {
      for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
      hash = (hash ^ 0xff) &* 0x100_0000_01b3
    }
    for (name, data) in contents {
      add(name.utf8)
      add(data)
    }
    add(current.utf8)
    return String(hash, radix: 16)
  }
}
