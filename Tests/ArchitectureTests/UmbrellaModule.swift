/// The public interface that one import provides, read from the export lines of a module's only file.
struct UmbrellaModule {
  /// The one for applications.
  static let application = "Sources/CipherData/CipherData.swift"

  /// The modules that are exported completely.
  private(set) var wholeModules: Set<String> = []
  /// The types that are exported by name, by module.
  private(set) var types: [String: Set<String>] = [:]
  /// Every exported module or type, in the order of the lines.
  private(set) var exports: [String] = []

  init(_ file: String) throws {
    for line in SwiftText(try Repository.text(file)).code where line.contains("@_exported") {
      guard let export = line.split(separator: " ").last.map(String.init) else { continue }
      exports.append(export)
      let parts = export.split(separator: ".").map(String.init)
      if parts.count == 1 { wholeModules.insert(export) } else { types[parts[0], default: []].insert(parts[1]) }
    }
  }

  var modules: [String] { (wholeModules.union(types.keys)).sorted() }

  /// The types of partly exported modules that are not exported.
  func hiddenTypes() -> Set<String> {
    types.keys.reduce(into: []) { $0.formUnion(Self.topLevelTypes(of: $1).subtracting(types[$1] ?? [])) }
  }

  /// The exported public declarations. Cases and conformances are omitted.
  func declarations() -> [String] {
    let hidden = hiddenTypes()
    return modules.flatMap(Self.publicDeclarations(of:)).filter { line in
      let (path, declaration) = Self.parts(line)
      let names = path.split(separator: ".").map(String.init)
      if let first = names.first, hidden.contains(first) { return false }
      return !declaration.contains("extension ") && !declaration.hasPrefix("case ") && !declaration.hasPrefix("indirect case ")
    }
  }

  static func publicDeclarations(of module: String) -> [String] {
    Repository.sources.filter { $0.file.hasPrefix("Sources/\(module)/") }.flatMap { PublicDeclarations.of($0.text) }
  }

  /// The top-level public types of a module.
  static func topLevelTypes(of module: String) -> Set<String> {
    let kinds: Set<Substring> = ["class", "struct", "enum", "protocol", "actor"]
    return Set(
      publicDeclarations(of: module).compactMap { line in
        let (path, declaration) = parts(line)
        let words = declaration.split(separator: " ")
        guard !path.contains("."), !words.contains("extension"), let kind = words.firstIndex(where: kinds.contains), kind + 1 < words.count,
          words[kind + 1].prefix(while: { $0.isLetter || $0.isNumber || $0 == "_" }) == path
        else { return nil }
        return path
      })
  }

  /// The top-level public types of a module, including type aliases.
  static func topLevelNames(of module: String) -> Set<String> {
    let aliases = publicDeclarations(of: module).filter { $0.hasPrefix("public typealias ") }.map(name)
    return topLevelTypes(of: module).union(aliases)
  }

  private static func parts(_ line: String) -> (path: String, declaration: String) {
    guard let colon = line.firstRange(of: ": "), !line[..<colon.lowerBound].contains(" ") else { return ("", line) }
    return (String(line[..<colon.lowerBound]), String(line[colon.upperBound...]))
  }

  /// The name that a declaration introduces.
  private static func name(_ declaration: String) -> String {
    let keywords: Set<Substring> = [
      "func", "var", "let", "case", "typealias", "associatedtype", "struct", "class", "enum", "protocol", "actor",
    ]
    let words = declaration.split(separator: " ")
    // `class func` and `class var` are members.
    guard let keyword = words.lastIndex(where: keywords.contains), keyword + 1 < words.count else { return "" }
    return String(words[keyword + 1])
  }
}
