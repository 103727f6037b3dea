import ObjectModel

/// Distinguishes names of generated types from those of the types that the source uses.
///
/// A class of the application shadows a type of the same name in imported modules. Emitters mark generated names. In the finished source,
/// every unmarked occurrence of such a name is qualified by its module, such as `CipherData.ManagedObject`.
struct ShadowedNames {
  /// A character that cannot be in an identifier and that texts of a model cannot introduce: literals and comments escape it.
  private static let mark: Character = "\u{F0000}"

  /// Types of the Swift standard library that generated source uses.
  static let ofSwift: Set<String> = types { !$0.isOfFoundation }.union([
    "Array", "Codable", "Dictionary", "Error", "Hashable", "Identifiable", "Int", "Never", "Optional", "PartialKeyPath", "Range", "Result",
    "Sendable", "Sequence", "Set", "Void",
  ])
  /// Types of Foundation that generated source uses.
  static let ofFoundation = types(where: \.isOfFoundation)
  /// Types of the library that generated source uses.
  static let ofLibrary: Set<String> = [
    "AttributeDescription", "AttributeType", "CompositeDescription", "CustomMigrationStage", "EntityDescription", "ExternalData",
    "FetchComposite", "FetchField", "FetchIndexDescription", "FetchIndexElement", "FetchIndirect", "FetchMembers", "FetchObject",
    "FetchOpaqueField", "FetchOrdered", "FetchRawField", "FetchRequestTemplate", "FetchUnordered", "FetchedPropertyDescription",
    "GeneratedCode",
    "ManagedObject", "ManagedObjectClasses", "ManagedObjectID", "ManagedObjectModel", "ManagedObjectModelReference", "MergePolicy",
    "ModelConfiguration", "ModelValidationError", "ObjectSnapshot", "PersistentContainer", "PersistentStoreDescription",
    "PropertyDescription", "RelationshipDescription", "SnapshotComposite", "SnapshotStorage", "StagedMigrationManager",
    "TypedManagedObject",
    "TypedSnapshot", "KeyPathNames",
  ]

  /// Returns the Swift types of attributes that meet a condition.
  private static func types(where condition: (AttributeTypeTraits.SwiftType) -> Bool) -> Set<String> {
    Set(AttributeType.allCases.compactMap(\.traits.swiftType).filter(condition).map(\.name))
  }

  /// The module of each shadowed type.
  private let modules: [String: String]

  /// - Parameter names: The names of generated types.
  init(hiddenBy names: some Sequence<String>) {
    var modules: [String: String] = [:]
    for name in names {
      if Self.ofSwift.contains(name) { modules[name] = "Swift" }
      if Self.ofFoundation.contains(name) { modules[name] = "Foundation" }
      if Self.ofLibrary.contains(name) { modules[name] = "CipherData" }
    }
    self.modules = modules
  }

  /// Returns a marked name.
  static func marked(_ name: String) -> String { "\(mark)\(name)\(mark)" }

  /// Returns text without marks.
  static func plain(_ text: String) -> String { text.filter { $0 != mark } }

  /// Returns the source without marks and with qualified names of shadowed types.
  @_optimize(none) func resolved(_ source: String) -> String {
    if modules.isEmpty { return Self.plain(source) }
    return source.split(separator: "\n", omittingEmptySubsequences: false).map(line).joined(separator: "\n")
  }

  /// Resolves a line of source. Literals and comments do not extend beyond their line.
  @_optimize(none) private func line(_ line: Substring) -> String {
    guard modules.keys.contains(where: { line.contains($0) }) else { return Self.plain(String(line)) }
    var result = ""
    // The last two characters that are not spaces, which determine the role of a name.
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

  /// Returns whether a name is not that of a type: a member, an attribute, a declaration, or an argument label.
  private func isDeclaration(_ before: Character?, _ word: String, _ rest: Substring) -> Bool {
    if let before, ".`@#\\".contains(before) { return true }
    if ["var", "let", "func", "case", "class", "struct", "enum", "protocol"].contains(word) { return true }
    return before.map { "(,".contains($0) } ?? false && rest.first == ":"
  }

  /// Returns the literal at the start of a text.
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
