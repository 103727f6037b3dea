// ArchitectureDocument: the part of Documentation/Architecture.md that follows from the sources: the floors, as the modules draw them.

enum ArchitectureDocument {
  static let path = "Documentation/Architecture.md"
  /// From the bottom up.
  private static let modules = [
    "ObjectModel", "ObjectQuery", "ObjectStore", "StoreKeys", "StoreFiles", "SQLCipherConnection", "SQLCipherStore", "ObjectContext",
    "CoreData", "CoreDataImport", "AccessorSymbols", "ModelCodeGeneration",
  ]

  private struct NoMarks: Error {}

  /// The document with its floors as the modules' first files draw them.
  static func redrawn() throws -> String {
    let text = try Repository.text(path)
    guard let begin = text.firstRange(of: "<!-- floors -->\n"), let end = text.firstRange(of: "<!-- end of the floors -->") else {
      throw NoMarks()
    }
    return try String(text[..<begin.upperBound]) + modules.compactMap(floors).joined() + text[end.lowerBound...]
  }

  /// What a module's first file says of its floors; nil where it says nothing.
  private static func floors(of module: String) throws -> String? {
    let file = "Sources/\(module)/\(module).swift"
    guard Repository.exists(file) else { return nil }
    let comment = try Repository.text(file).split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("//") }
      .map { String($0.dropFirst(2)) }
    guard let title = comment.first?.firstRange(of: ": "),
      let heading = comment.firstIndex(where: { $0.contains("floors, from the bottom up") })
    else { return nil }
    let lines = comment[(heading + 1)...].drop { $0.isEmpty }.prefix { !$0.isEmpty }.map { String($0.dropFirst(3)) }
    return "**`\(module)`**: \(comment[0][title.upperBound...])\n\n```text\n" + lines.joined(separator: "\n") + "\n```\n\n"
  }
}
