// The two faces: what an application sees by `import CipherData`, and what those see who write a store by `import CipherDataEngine`.
import XCTest

/// What one import shows, read from the export lines of a module's one file.
private struct Face {
  /// The modules that are exported whole.
  private(set) var wholeModules: Set<String> = []
  /// Of the other modules, the types that are exported by name.
  private(set) var types: [String: Set<String>] = [:]
  /// Every module or type that an export line names, in the order of the lines.
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

  /// The types that the face leaves out of the modules that it exports by name.
  func hiddenTypes() -> Set<String> {
    types.keys.reduce(into: []) { $0.formUnion(Self.topLevelTypes(of: $1).subtracting(types[$1] ?? [])) }
  }

  /// The public declarations that the face shows: no conformances by themselves, and nothing whose name begins with an underscore, which completion and the
  /// documentation leave out.
  func declarations() -> [String] {
    let hidden = hiddenTypes()
    return modules.flatMap(Self.publicDeclarations(of:)).filter { line in
      let (path, declaration) = Self.parts(line)
      let names = path.split(separator: ".").map(String.init)
      if let first = names.first, hidden.contains(first) { return false }
      if declaration.contains("extension ") || names.contains(where: { $0.hasPrefix("_") }) { return false }
      return !Self.name(declaration).hasPrefix("_")
    }
  }

  static func publicDeclarations(of module: String) -> [String] {
    Repository.sources.filter { $0.file.hasPrefix("Sources/\(module)/") }.flatMap { PublicDeclarations.of($0.text) }
  }

  /// The public types that a module declares outside of others.
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

final class FaceTests: XCTestCase {
  private static let application = "Sources/CipherData/CipherData.swift"

  /// How many public declarations the one import of an application may show: 2,526 before there were two faces. Whoever needs more says in the change what an
  /// application does with them; what a module of ours alone needs is `package`.
  private static let limit = 2120

  func testAnApplicationSeesWhatItUses() throws {
    let count = try Face(Self.application).declarations().count
    XCTAssertLessThanOrEqual(count, Self.limit, "import CipherData shows \(count) public declarations")
    XCTAssertGreaterThan(count, Self.limit - 100, "import CipherData shows \(count) public declarations: lower the limit")
  }

  func testWhatOnlyStoresNeedIsTheReviewedList() throws {
    try Repository.assertPinned(
      try Face(Self.application).hiddenTypes().sorted(), in: "Documentation/API/CipherDataEngine.txt",
      heading: [
        "The public types that `import CipherData` does not show: what only stores need. Written by Scripts/api-baseline."
      ],
      hint: "A new public type is either named in \(Self.application), or meant for those who write a store: then run Scripts/api-baseline."
    )
  }

  func testEveryExportIsOfOneThingAndIsThere() throws {
    for file in [Self.application, "Sources/CipherDataEngine/CipherDataEngine.swift"] {
      let face = try Face(file)
      XCTAssertEqual(Set(face.exports).count, face.exports.count, "\(file) exports something twice")
      XCTAssertTrue(face.wholeModules.isDisjoint(with: face.types.keys), "\(file) exports a module both whole and by its types")
      for (module, types) in face.types {
        XCTAssertEqual(types.subtracting(Face.topLevelTypes(of: module)), [], "\(file) exports what \(module) does not have")
      }
    }
  }

  func testModulesExportedByTypeDeclareNoOperators() throws {
    // An operator is found by its own name, which an export of its type does not let through; those of Equatable are found by the protocol.
    for module in try Face(Self.application).types.keys {
      for line in Face.publicDeclarations(of: module) where line.contains("func ") && !line.contains("func ==") {
        let name = line.components(separatedBy: "func ")[1].prefix { $0 != "(" && $0 != "<" }
        XCTAssertTrue(name.contains(where: \.isLetter), "\(module) declares an operator, which an application would not see: \(line)")
      }
    }
  }
}
