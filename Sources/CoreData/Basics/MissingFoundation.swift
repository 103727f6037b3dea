// MissingFoundation: functions of Foundation that stacks of Core Data use, and that Linux lacks or has otherwise.
public import Foundation

extension FileManager {
  /// The folder that the applications of a group share: there are no groups on Linux, as where an application has no right to one.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}

extension Bundle {
  /// The resources with an extension, as URLs: on Linux they are `NSURL`s.
  ///
  /// - Parameters:
  ///   - ext: The extension.
  ///   - subpath: The folder.
  /// - Returns: The resources; nil where there are none.
  @_disfavoredOverload
  public func urls(forResourcesWithExtension ext: String?, subdirectory subpath: String?) -> [URL]? {
    let found: [NSURL]? = urls(forResourcesWithExtension: ext, subdirectory: subpath)
    return found.map { $0.compactMap { $0.absoluteURL } }
  }
}
