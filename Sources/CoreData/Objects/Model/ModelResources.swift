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
}

/// Models of a program under the names that Apple's tools give what they make of them.
enum ModelResources {
  /// What a model is made of, where its URL has the name of what Apple's tools make of it.
  static func source(of url: URL) -> URL {
    if url.pathExtension == "momd" { return url.deletingPathExtension().appendingPathExtension("xcdatamodeld") }
    guard url.pathExtension == "mom" else { return url }
    let version = url.deletingPathExtension().appendingPathExtension("xcdatamodel").lastPathComponent
    return source(of: url.deletingLastPathComponent()).appendingPathComponent(version)
  }

  /// The URL of a model, or of a version of one in its bundle; nil where there is none.
  static func url(ofFile file: String, in subpath: String?) -> URL? {
    let asked = URL(fileURLWithPath: file)
    let bundle = subpath.map { URL(fileURLWithPath: $0) } ?? asked
    guard let model = ModelBundles.model(named: bundle.deletingPathExtension().lastPathComponent) else { return nil }
    let place = model.deletingPathExtension()
    if subpath == nil { return ["mom", "momd"].contains(asked.pathExtension) ? place.appendingPathExtension(asked.pathExtension) : nil }
    guard bundle.pathExtension == "momd", asked.pathExtension == "mom" else { return nil }
    let version = place.appendingPathExtension("momd").appendingPathComponent(asked.lastPathComponent)
    return FileManager.default.fileExists(atPath: source(of: version).path) ? version : nil
  }

  /// The URLs of all models, or of the versions of one in its bundle.
  static func urls(withExtension ext: String?, in subpath: String?) -> [URL] {
    guard let subpath else {
      return ext == "momd" ? ModelBundles.all(in: .main).map { $0.deletingPathExtension().appendingPathExtension("momd") } : []
    }
    guard ext == "mom", let bundle = url(ofFile: URL(fileURLWithPath: subpath).lastPathComponent, in: nil) else { return [] }
    let versions = (try? FileManager.default.contentsOfDirectory(at: source(of: bundle), includingPropertiesForKeys: nil)) ?? []
    return versions.filter { $0.pathExtension == "xcdatamodel" }.sorted { $0.path < $1.path }.map {
      bundle.appendingPathComponent($0.deletingPathExtension().lastPathComponent + ".mom")
    }
  }
}
