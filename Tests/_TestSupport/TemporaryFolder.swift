public import Foundation

/// An empty folder in the system's temporary folder. It is removed with its contents when the object is released, or by ``remove()``.
public final class TemporaryFolder: Sendable {
  /// The location of the folder.
  public let url: URL

  /// Creates a folder that only the user can access.
  public init(_ name: String = "CipherDataTests") throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("\(name)-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { remove() }

  /// Returns the URL of a file in the folder.
  public func file(_ name: String) -> URL { url.appendingPathComponent(name, isDirectory: false) }

  /// Returns the names of all files below the folder, sorted.
  public func fileNames() -> [String] {
    (FileManager.default.subpaths(atPath: url.path) ?? []).sorted()
  }

  /// Removes the folder now.
  public func remove() { try? FileManager.default.removeItem(at: url) }
}
