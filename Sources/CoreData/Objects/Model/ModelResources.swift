public import Foundation
import ObjectModel
import Synchronization

extension Bundle {
  /// Returns the URLs of the resources with an extension. On Linux, Foundation returns `NSURL`s.
  ///
  /// For the extensions of compiled models, the program's models are returned.
  ///
  /// - Parameters:
  ///   - ext: The extension.
  ///   - subpath: The folder.
  /// - Returns: The resources; nil if there are none.
  @_disfavoredOverload
  public func urls(forResourcesWithExtension ext: String?, subdirectory subpath: String?) -> [URL]? {
    let found: [NSURL]? = urls(forResourcesWithExtension: ext, subdirectory: subpath)
    let urls = (found ?? []).compactMap { $0.absoluteURL } + ModelResources.urls(withExtension: ext, in: subpath)
    return found == nil && urls.isEmpty ? nil : urls
  }

  /// Returns the URL of a resource.
  ///
  /// If Foundation finds none and the extension is that of a compiled model (`momd`, `mom`), the method returns the URL of the model among
  /// the resources of the program's packages, for any bundle. There is no file at that URL, but `NSManagedObjectModel(contentsOf:)` accepts
  /// it.
  ///
  /// The code that the plugin generates calls this method.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - ext: Its extension; nil if the name includes it.
  ///   - subpath: The folder; `Library.momd` for a version of a model.
  /// - Returns: The URL; nil if there is no such resource.
  @_spi(Generated) public func modelResourceURL(forResource name: String?, withExtension ext: String?, subdirectory subpath: String?)
    -> URL?
  {
    if let found = url(forResource: name, withExtension: ext, subdirectory: subpath) { return found }
    guard let name else { return nil }
    let file = ext.map { $0.isEmpty ? name : "\(name).\($0)" } ?? name
    return ModelResources.url(ofFile: file, in: subpath)
  }

  /// Returns the path of a resource, as ``modelResourceURL(forResource:withExtension:subdirectory:)`` returns its URL.
  ///
  /// The code that the plugin generates calls this method.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - ext: Its extension; nil if the name includes it.
  ///   - subpath: The folder; `Library.momd` for a version of a model.
  /// - Returns: The path; nil if there is no such resource.
  @_spi(Generated) public func modelResourcePath(forResource name: String?, ofType ext: String?, inDirectory subpath: String?) -> String? {
    modelResourceURL(forResource: name, withExtension: ext, subdirectory: subpath)?.path
  }

  /// Returns the paths of the resources with an extension, including those of models.
  ///
  /// The code that the plugin generates calls this method.
  ///
  /// - Parameters:
  ///   - ext: The extension.
  ///   - subpath: The folder; `Library.momd` for the versions of a model.
  /// - Returns: The paths.
  @_spi(Generated) public func modelResourcePaths(ofType ext: String?, inDirectory subpath: String?) -> [String] {
    let found: [String] = paths(forResourcesOfType: ext, inDirectory: subpath)
    return found + ModelResources.urls(withExtension: ext, in: subpath).map(\.path)
  }
}

/// Finds the program's models by the names of their compiled files.
enum ModelResources {
  /// Returns the file or folder to read a model from, if its URL has the name of a compiled model.
  static func source(of url: URL) -> URL {
    switch url.pathExtension {
    case "momd":
      let bundle = url.deletingPathExtension().appendingPathExtension("xcdatamodeld")
      if FileManager.default.fileExists(atPath: bundle.path) { return bundle }
      return CompiledModelFolder.current(of: url) ?? bundle
    case "mom":
      if FileManager.default.fileExists(atPath: url.path) { return url }
      let version = url.deletingPathExtension().appendingPathExtension("xcdatamodel").lastPathComponent
      let bundle = url.deletingLastPathComponent().deletingPathExtension().appendingPathExtension("xcdatamodeld")
      return bundle.appendingPathComponent(version)
    default: return url
    }
  }

  /// Returns the URL of a model, or of a version in its bundle; nil if there is no such model.
  static func url(ofFile file: String, in subpath: String?) -> URL? {
    let asked = URL(fileURLWithPath: file)
    let bundle = subpath.flatMap { $0.isEmpty ? nil : URL(fileURLWithPath: $0) } ?? asked
    guard let model = ModelBundles.model(named: bundle.deletingPathExtension().lastPathComponent) else { return nil }
    let folder = compiled(model)
    if bundle == asked {
      switch asked.pathExtension {
      case "momd": return folder
      case "mom": return model.deletingPathExtension().appendingPathExtension("mom")
      default: return nil
      }
    }
    guard bundle.pathExtension == "momd", asked.pathExtension == "mom" else { return nil }
    let version = folder.appendingPathComponent(asked.lastPathComponent)
    return FileManager.default.fileExists(atPath: source(of: version).path) ? version : nil
  }

  /// Returns the URLs of all models, or of the versions in a bundle.
  static func urls(withExtension ext: String?, in subpath: String?) -> [URL] {
    guard let subpath, !subpath.isEmpty else {
      return ext == "momd" ? ModelBundles.all(in: .main).filter { $0.pathExtension == "xcdatamodeld" }.map(compiled) : []
    }
    let file = URL(fileURLWithPath: subpath)
    guard ext == "mom", file.pathExtension == "momd",
      let model = ModelBundles.model(named: file.deletingPathExtension().lastPathComponent)
    else { return [] }
    let folder = compiled(model)
    let versions = (try? FileManager.default.contentsOfDirectory(at: model, includingPropertiesForKeys: nil)) ?? []
    return versions.filter { $0.pathExtension == "xcdatamodel" }.sorted { $0.path < $1.path }.map {
      folder.appendingPathComponent($0.deletingPathExtension().lastPathComponent + ".mom")
    }
  }

  /// Returns the compiled folder of a bundle; if it cannot be written, a URL next to the bundle at which there is no file.
  private static func compiled(_ model: URL) -> URL {
    CompiledModelFolder.url(of: model) ?? model.deletingPathExtension().appendingPathExtension("momd")
  }
}

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
