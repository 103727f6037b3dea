// TemporaryFolder: a folder for a test's files that goes when it is no longer used.
public import Foundation

/// An empty folder under the system's temporary one; removed with all that is in it when the last reference goes, or by ``remove()``.
public final class TemporaryFolder: Sendable {
  /// Where the folder is.
  public let url: URL

  /// Makes a folder that only the user may enter.
  public init(_ name: String = "CipherDataTests") throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("\(name)-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { remove() }

  /// The URL of a file in the folder.
  public func file(_ name: String) -> URL { url.appendingPathComponent(name, isDirectory: false) }

  /// The names of all files below the folder, sorted.
  public func fileNames() -> [String] {
    (FileManager.default.subpaths(atPath: url.path) ?? []).sorted()
  }

  /// Removes the folder now.
  public func remove() { try? FileManager.default.removeItem(at: url) }
}
