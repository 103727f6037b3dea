// Fixtures: the files of the repository that tests read.
public import Foundation
public import ObjectModel

/// The files of the repository that tests read, found from this source file's own path.
public enum Fixtures {
  /// The repository's folder.
  public static var repository: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }

  /// A model bundle in `Schemas/`, by its name without extension.
  public static func schema(_ name: String) -> URL {
    repository.appendingPathComponent("Schemas/\(name).xcdatamodeld", isDirectory: true)
  }

  /// The current version of a model bundle in `Schemas/`.
  public static func model(_ name: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(contentsOf: schema(name))
  }
}
