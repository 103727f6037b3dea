// ModelResources: models of a program under the names that Apple's tools give what they make of them.
public import Foundation

extension Bundle {
  /// The resources with an extension, as URLs: on Linux they are `NSURL`s. For what Apple's tools make of models they are the models of the program.
  ///
  /// - Parameters:
  ///   - ext: The extension.
  ///   - subpath: The folder.
  /// - Returns: The resources; nil where there are none.
  @_disfavoredOverload
  public func urls(forResourcesWithExtension ext: String?, subdirectory subpath: String?) -> [URL]? {
    let found: [NSURL]? = urls(forResourcesWithExtension: ext, subdirectory: subpath)
    let urls = (found ?? []).compactMap { $0.absoluteURL } + ModelResources.urls(withExtension: ext, in: subpath)
    return found == nil && urls.isEmpty ? nil : urls
  }

  /// The resource of a name, where Foundation finds one. For what Apple's tools make of models (`momd`, `mom`) it is otherwise the model among the resources of the program's packages, whatever
  /// bundle is asked: no file lies at its URL, and `NSManagedObjectModel(contentsOf:)` takes it.
  ///
  /// What the plugin writes calls it.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - ext: Its extension; nil where the name has it.
  ///   - subpath: The folder; `Library.momd` for a version of a model.
  /// - Returns: The URL; nil where there is nothing of that name.
  public func _resourceURL(forResource name: String?, withExtension ext: String?, subdirectory subpath: String?) -> URL? {
    if let found = url(forResource: name, withExtension: ext, subdirectory: subpath) { return found }
    guard let name else { return nil }
    let file = ext.map { $0.isEmpty ? name : "\(name).\($0)" } ?? name
    return ModelResources.url(ofFile: file, in: subpath)
  }

  /// Returns the path of a resource, as ``_resourceURL(forResource:withExtension:subdirectory:)`` returns its URL.
  ///
  /// The code that the plugin generates calls this method.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - ext: Its extension; nil if the name includes it.
  ///   - subpath: The folder; `Library.momd` for a version of a model.
  /// - Returns: The path; nil if there is no such resource.
  public func _resourcePath(forResource name: String?, ofType ext: String?, inDirectory subpath: String?) -> String? {
    _resourceURL(forResource: name, withExtension: ext, subdirectory: subpath)?.path
  }

  /// Returns the paths of the resources with an extension, those of models included.
  ///
  /// The code that the plugin generates calls this method.
  ///
  /// - Parameters:
  ///   - ext: The extension.
  ///   - subpath: The folder; `Library.momd` for the versions of a model.
  /// - Returns: The paths.
  public func _resourcePaths(ofType ext: String?, inDirectory subpath: String?) -> [String] {
    let found: [String] = paths(forResourcesOfType: ext, inDirectory: subpath)
    return found + ModelResources.urls(withExtension: ext, in: subpath).map(\.path)
  }
}

/// Models of a program under the names that Apple's tools give what they make of them.
enum ModelResources {
  /// The file or folder that a model is read from, if its URL has the name of what Apple's tools make of it.
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

  /// The URL of a model, or of a version of one in its bundle; nil where there is none.
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

  /// The URLs of all models, or of the versions of one in its bundle.
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

  /// The folder of a bundle's versions; if it cannot be written, a URL next to the bundle at which there is no file.
  private static func compiled(_ model: URL) -> URL {
    CompiledModelFolder.url(of: model) ?? model.deletingPathExtension().appendingPathExtension("momd")
  }
}
