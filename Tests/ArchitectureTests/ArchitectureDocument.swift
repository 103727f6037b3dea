/// The part of Documentation/Architecture.md that is generated from the sources: the layers of each module.
enum ArchitectureDocument {
  static let path = "Documentation/Architecture.md"
  /// From the bottom up.
  private static let modules = [
    "ObjectModel", "ObjectQuery", "ObjectStore", "StoreKeys", "StoreFiles", "SQLCipherConnection", "SQLCipherStore", "ObjectContext",
    "CoreData", "CoreDataImport", "AccessorSymbols", "ModelCodeGeneration",
  ]

  private struct NoMarks: Error {}

  /// Returns the document with the layers from the head comment of each module's first file.
  static func redrawn() throws -> String {
    let text = try Repository.text(path)
    guard let begin = text.firstRange(of: "<!-- layers -->\n"), let end = text.firstRange(of: "<!-- end of the layers -->") else {
      throw NoMarks()
    }
    return try String(text[..<begin.upperBound]) + modules.compactMap(layers).joined() + text[end.lowerBound...]
  }

  /// Returns the layers in the head comment of a module's first file; nil if it has none.
  private static func layers(of module: String) throws -> String? {
    let file = "Sources/\(module)/\(module).swift"
    guard Repository.exists(file) else { return nil }
    let comment = try Repository.text(file).split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("//") }
      .map { String($0.dropFirst(2)) }
    guard let title = comment.first?.firstRange(of: ": "),
      let heading = comment.firstIndex(where: { $0.contains("layers, from the bottom up") })
    else { return nil }
    let lines = comment[(heading + 1)...].drop { $0.isEmpty }.prefix { !$0.isEmpty }.map { String($0.dropFirst(3)) }
    return "**`\(module)`**: \(comment[0][title.upperBound...])\n\n```text\n" + lines.joined(separator: "\n") + "\n```\n\n"
  }
}
