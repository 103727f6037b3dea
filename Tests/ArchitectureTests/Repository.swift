import Foundation

/// The repository that contains this file.
enum Repository {
  static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The paths of the Swift files below a folder, relative to the root, sorted.
  static func swiftFiles(in folder: String) -> [String] {
    files(in: folder).filter { $0.hasSuffix(".swift") }
  }

  /// The paths of the files below a folder, relative to the root, sorted; without hidden files and build products.
  static func files(in folder: String) -> [String] {
    let base = root.appendingPathComponent(folder)
    guard let walk = FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles]) else {
      return []
    }
    let prefix = base.path + "/"
    return walk.compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath && $0.path.hasPrefix(prefix) }
      .map { folder + "/" + $0.path.dropFirst(prefix.count) }.sorted()
  }

  /// The direct subfolders of a folder.
  static func folders(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path).filter { name in
      var isFolder: ObjCBool = false
      let path = root.appendingPathComponent(folder).appendingPathComponent(name).path
      return !name.hasPrefix(".") && FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }.sorted()
  }

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The Swift files of `Sources`, read once for all tests.
  static let sources: [(file: String, text: SwiftText)] = swiftFiles(in: "Sources").compactMap { file in
    (try? text(file)).map { (file, SwiftText($0)) }
  }

  static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path) }

  /// The lines of a pinned list, without comments and empty lines.
  static func list(_ path: String) throws -> [String] {
    try text(path).split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) }
  }

  static func write(_ text: String, to path: String) throws {
    let url = root.appendingPathComponent(path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: url, atomically: true, encoding: .utf8)
  }
}
