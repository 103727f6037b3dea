public import Foundation
public import ObjectModel

/// The files of the repository that tests read, located relative to this source file.
public enum Fixtures {
  /// The repository's folder.
  public static var repository: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }

  /// Returns the URL of a model bundle in `Schemas/`, by its name without extension.
  public static func schema(_ name: String) -> URL {
    repository.appendingPathComponent("Schemas/\(name).xcdatamodeld", isDirectory: true)
  }

  /// Returns the current version of a model bundle in `Schemas/`.
  public static func model(_ name: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(contentsOf: schema(name))
  }
}
