// ShadowedNames: types of Swift, Foundation and the library that the source's own types hide.

/// Keeps the names of the source's own types apart from those of the types that it uses.
///
/// A class of the application hides a type of the same name in the modules that it imports. Emitters mark the names that are the source's own; in the finished
/// source every other mention of such a name is written with its module, such as `CipherData.ManagedObject`.
struct ShadowedNames {
  /// A character that no identifier has, and that no text of a model brings into the source: literals and comments escape it.
  private static let mark: Character = "\u{F0000}"

  /// Types of Swift that generated source mentions.
  static let ofSwift: Set<String> = [
    "Array", "Bool", "Codable", "Dictionary", "Double", "Error", "Float", "Hashable", "Identifiable", "Int", "Int16", "Int32", "Int64",
    "Never", "Optional", "PartialKeyPath", "Range", "Result", "Sendable", "Sequence", "Set", "String", "Void",
  ]
  /// Types of Foundation that generated source mentions.
  static let ofFoundation: Set<String> = ["Data", "Date", "Decimal", "URL", "UUID"]
  /// Types of the library that generated source mentions.
  static let ofLibrary: Set<String> = [
    "AttributeDescription", "AttributeType", "CompositeDescription", "CustomMigrationStage", "EntityDescription", "ExternalData",
    "FetchComposite", "FetchField", "FetchIndexDescription", "FetchIndexElement", "FetchIndirect", "FetchMembers", "FetchObject",
    "FetchOpaqueField", "FetchOrdered", "FetchRawField", "FetchRequestTemplate", "FetchUnordered", "FetchedPropertyDescription",
    "ManagedObject", "ManagedObjectClasses", "ManagedObjectID", "ManagedObjectModel", "ManagedObjectModelReference", "MergePolicy",
    "ModelConfiguration", "ModelValidationError", "ObjectSnapshot", "PersistentContainer", "PersistentStoreDescription",
    "PropertyDescription", "RelationshipDescription", "SnapshotComposite", "StagedMigrationManager", "TypedManagedObject",
    "TypedSnapshot", "_KeyPathNames",
  ]

  /// The module of each type that is hidden.
  private let modules: [String: String]

  /// - Parameter names: The names of the source's own types.
  init(hiddenBy names: some Sequence<String>) {
    var modules: [String: String] = [:]
    for name in names {
      if Self.ofSwift.contains(name) { modules[name] = "Swift" }
      if Self.ofFoundation.contains(name) { modules[name] = "Foundation" }
      if Self.ofLibrary.contains(name) { modules[name] = "CipherData" }
    }
    self.modules = modules
  }

  /// A name of the source's own, marked.
  static func marked(_ name: String) -> String { "\(mark)\(name)\(mark)" }

  /// A text without marks.
  static func plain(_ text: String) -> String { text.filter { $0 != mark } }

  /// The source without marks and with the modules of what it hides.
  @_optimize(none) func resolved(_ source: String) -> String {
    if modules.isEmpty { return Self.plain(source) }
    return source.split(separator: "\n", omittingEmptySubsequences: false).map(line).joined(separator: "\n")
  }

  /// A line of source: literals and comments end with their line.
  @_optimize(none) private func line(_ line: Substring) -> String {
    guard modules.keys.contains(where: { line.contains($0) }) else { return Self.plain(String(line)) }
    var result = ""
    // The last two characters that are not spaces, to tell what a name stands for.
    var before: Character?
    var word = ""
    var rest = line
    while let character = rest.first {
      if rest.hasPrefix("//") { return result + Self.plain(String(rest)) }
      if character == Self.mark {
        let name = rest.dropFirst().prefix { $0 != Self.mark }
        rest = rest.dropFirst(name.count + 2)
        result += name
        (before, word) = (name.last, "")
      } else if character == "\"" {
        let literal = Self.literal(at: rest)
        rest = rest.dropFirst(literal.count)
        result += Self.plain(String(literal))
        (before, word) = ("\"", "")
      } else if character == "_" || character.isLetter {
        let name = String(rest.prefix { $0 == "_" || $0.isLetter || $0.isNumber })
        rest = rest.dropFirst(name.count)
        if let module = modules[name], !isDeclaration(before, word, rest) { result += module + "." }
        result += name
        (before, word) = (name.last, name)
      } else {
        rest = rest.dropFirst()
        result.append(character)
        if character != " " { (before, word) = (character, "") }
      }
    }
    return result
  }

  /// Whether a name is not that of a type: a member, an attribute, something that is declared, or a label of an argument.
  private func isDeclaration(_ before: Character?, _ word: String, _ rest: Substring) -> Bool {
    if let before, ".`@#\\".contains(before) { return true }
    if ["var", "let", "func", "case", "class", "struct", "enum", "protocol"].contains(word) { return true }
    return before.map { "(,".contains($0) } ?? false && rest.first == ":"
  }

  /// The literal that a text begins with.
  @_optimize(none) private static func literal(at text: Substring) -> Substring {
    var end = text.index(after: text.startIndex)
    while end < text.endIndex {
      if text[end] == "\\" {
        end = text.index(after: end)
        if end == text.endIndex { break }
      } else if text[end] == "\"" {
        return text[...end]
      }
      end = text.index(after: end)
    }
    return text
  }
}
