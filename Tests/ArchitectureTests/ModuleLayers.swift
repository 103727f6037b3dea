import Foundation

/// A reference in a folder to a type of a layer above.
struct UpwardName: Hashable, CustomStringConvertible {
  let file: String
  let line: Int
  let type: String
  let layer: String
  let above: String

  var description: String { "\(file):\(line) names \(type): \(layer) stands below \(above)" }
}

/// The folders of one module as layers, with the types that each declares and refers to. The root of the module is the top layer.
struct ModuleLayers {
  static let root = "(the root)"
  /// The files of façade types. They may name the features above their folder, which they hold as stored properties.
  static let facades: Set<String> = ["ManagedObjectContext.swift", "PersistentStoreCoordinator.swift", "StoreEngine.swift"]

  let module: String
  /// The folders from the bottom up, as listed in the module's first file, and the root; nil without a list.
  let order: [String]?
  private let files: [File]

  private struct File {
    let path: String
    let folder: String
    let tokens: SwiftTokens
    let types: [DeclaredType]

    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
  }

  /// - Parameter sources: The files below `Sources/<module>/`.
  init(module: String, sources: [(file: String, text: SwiftText)]) {
    self.module = module
    let prefix = "Sources/\(module)/"
    files = sources.filter { $0.file.hasPrefix(prefix) }.map { file, text in
      let parts = file.dropFirst(prefix.count).split(separator: "/")
      let tokens = SwiftTokens(text)
      return File(path: file, folder: parts.count > 1 ? String(parts[0]) : Self.root, tokens: tokens, types: tokens.declaredTypes)
    }
    order = sources.first { $0.file == "\(prefix)\(module).swift" }.flatMap { Self.drawing($0.text) }
  }

  /// The folders that contain files, except for the root.
  var folders: Set<String> { Set(files.map(\.folder)).subtracting([Self.root]) }

  /// Parses the layers in a file's head comment: one per line, with three spaces before the name and two or more after it.
  private static func drawing(_ text: SwiftText) -> [String]? {
    let layers = text.lines.prefix { $0.hasPrefix("//") }.compactMap { line -> String? in
      guard line.hasPrefix("//   ") else { return nil }
      let name = line.dropFirst(5).prefix { $0.isLetter || $0.isNumber }
      return !name.isEmpty && line.dropFirst(5 + name.count).hasPrefix("  ") ? String(name) : nil
    }
    return layers.isEmpty ? nil : layers + [root]
  }

  /// The layer of each type by name: top-level types by their own name, nested ones as `Outer.Inner`. Names that two layers declare and
  /// file-private types are omitted.
  private var layers: [String: String] {
    var found: [String: Set<String>] = [:]
    for file in files {
      for type in file.types where !type.isPrivate { found[type.name, default: []].insert(file.folder) }
    }
    return found.compactMapValues { $0.count == 1 ? $0.first : nil }
  }

  /// The first reference in each file, except for façades, to each type of another layer.
  private var uses: [UpwardName] {
    let layers = layers
    return files.filter { !Self.facades.contains($0.name) }.flatMap { file -> [UpwardName] in
      let own = Set(file.types.filter(\.isPrivate).map(\.name))
      var known: Set<String> = []
      return file.tokens.namedTypes(module: module).compactMap { name, line in
        guard let layer = layers[name], layer != file.folder, !own.contains(name), known.insert(name).inserted else { return nil }
        return UpwardName(file: file.path, line: line, type: name, layer: file.folder, above: layer)
      }
    }
  }

  /// The references to layers above; empty without a list of layers.
  var upwardNames: [UpwardName] {
    guard let order else { return [] }
    return uses.filter { use in
      guard let layer = order.firstIndex(of: use.layer), let other = order.firstIndex(of: use.above) else { return true }
      return other > layer
    }
  }

  /// The number of pairs of folders that refer to each other.
  var mutualPairs: Int {
    let pairs = Set(uses.map { [$0.layer, $0.above] })
    return pairs.filter { $0[0] < $0[1] && pairs.contains([$0[1], $0[0]]) }.count
  }
}

/// A type declaration in a file.
struct DeclaredType {
  /// The name, with that of the outer type if nested.
  let name: String
  let isNested: Bool
  let isPublic: Bool
  /// Whether the type is visible in its file only.
  let isPrivate: Bool
  let isAlias: Bool
}

/// The words and punctuation of a file, without comments and literals.
struct SwiftTokens {
  private struct Token {
    let text: Substring
    let line: Int
    var isWord: Bool { text.utf8.first.map(SwiftTokens.isWordByte) ?? false }
  }

  private var tokens: [Token] = []

  init(_ text: SwiftText) {
    for (number, line) in text.code.enumerated() {
      let bytes = line.utf8
      var start = bytes.startIndex
      while start < bytes.endIndex {
        var end = bytes.index(after: start)
        if Self.isWordByte(bytes[start]) {
          while end < bytes.endIndex, Self.isWordByte(bytes[end]) { end = bytes.index(after: end) }
        }
        if bytes[start] != 32 { tokens.append(Token(text: line[start..<end], line: number + 1)) }
        start = end
      }
    }
  }

  fileprivate static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"):
      true
    default: byte >= 128
    }
  }

  private func text(_ index: Int) -> Substring { tokens.indices.contains(index) ? tokens[index].text : "" }

  private static let kinds: Set<Substring> = ["class", "struct", "enum", "protocol", "actor", "typealias", "extension"]

  /// The types that the file declares, except for those in functions.
  var declaredTypes: [DeclaredType] {
    var types: [DeclaredType] = []
    // The open braces: the name of the type if one begins its body.
    var scopes: [String?] = []
    var next: String?
    for index in tokens.indices {
      switch text(index) {
      case "{":
        scopes.append(next)
        next = nil
      case "}":
        _ = scopes.popLast()
      default:
        guard Self.kinds.contains(text(index)), let name = declaredName(index), !scopes.contains(nil) else { continue }
        let kind = text(index)
        if kind != "typealias" { next = name }
        if kind == "extension" { continue }
        let modifiers = modifiers(before: index)
        let outer = scopes.last ?? nil
        types.append(
          DeclaredType(
            name: outer.map { "\($0.split(separator: ".").last ?? "").\(name)" } ?? name, isNested: outer != nil,
            isPublic: modifiers.contains("public") || modifiers.contains("open"),
            isPrivate: modifiers.contains("private") || modifiers.contains("fileprivate"), isAlias: kind == "typealias"))
      }
    }
    return types
  }

  /// The name after a keyword that declares a type; nil for other uses of the keyword, as in `class func` or `import struct`.
  private func declaredName(_ index: Int) -> String? {
    guard index + 1 < tokens.count, tokens[index + 1].isWord, ![".", "`", "import"].contains(text(index - 1)),
      !["func", "var", "let", "subscript", "init"].contains(text(index + 1))
    else { return nil }
    var name = String(text(index + 1))
    guard text(index) == "extension" else { return name }
    var end = index + 2
    while text(end) == ".", end + 1 < tokens.count, tokens[end + 1].isWord {
      name += "." + text(end + 1)
      end += 2
    }
    return name
  }

  /// The modifiers of the declaration at `index`.
  private func modifiers(before index: Int) -> Set<Substring> {
    var words: Set<Substring> = []
    var index = index
    while index > 0, tokens[index - 1].line == tokens[index].line {
      index -= 1
      words.insert(text(index))
    }
    return words
  }

  /// Names that can be types, with their lines: capitalized words, alone or qualified by the module, and pairs such as `Outer.Inner`.
  func namedTypes(module: String) -> [(name: String, line: Int)] {
    var names: [(String, Int)] = []
    for index in tokens.indices where isCapital(index) {
      let isMember = text(index - 1) == "."
      if !isMember || text(index - 2) == module[...] { names.append((String(text(index)), tokens[index].line)) }
      if text(index + 1) == ".", isCapital(index + 2) {
        names.append(("\(text(index)).\(text(index + 2))", tokens[index].line))
      }
    }
    return names
  }

  private func isCapital(_ index: Int) -> Bool {
    guard let first = text(index).utf8.first else { return false }
    return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first)
  }
}
