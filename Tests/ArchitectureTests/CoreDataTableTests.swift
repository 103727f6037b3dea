import Foundation
import XCTest

/// Compares the table of Core Data's symbols (Documentation/CoreDataSources.md) with the declarations of the CoreData module.
final class CoreDataTableTests: XCTestCase {
  private static let page = "Documentation/CoreDataSources.md"
  private static let absentFolder = "Sources/CoreData/Unavailable"
  /// The superclasses and other names of the types that correspond to classes of Core Data.
  private static let others = [
    "NSManagedObject": ["ManagedObject"], "NSSnapshotEventType": ["SnapshotEvents"],
  ]

  func testDeclarationsListedAsAvailableExist() throws {
    let declared = try Self.declared()
    for row in try Self.rows() where row.status == .same || row.status == .different {
      for symbol in row.symbols where !declared.has(symbol) {
        XCTFail("\(Self.page) says “\(row.text)” of \(symbol), which is not declared; the row has to say absent or undeclared")
      }
    }
  }

  func testDeclarationsListedAsAbsentAreUnavailable() throws {
    let (declared, absent) = (try Self.declared(), try Self.absent())
    for row in try Self.rows() where row.status == .absent {
      for symbol in row.symbols {
        XCTAssertTrue(absent.has(symbol), "\(Self.page) says “\(row.text)” of \(symbol): declare it unavailable in \(Self.absentFolder)")
        XCTAssertFalse(declared.has(symbol), "\(Self.page) says “\(row.text)” of \(symbol), which is there")
      }
    }
  }

  func testDeclarationsListedAsUndeclaredDoNotExist() throws {
    let (declared, absent) = (try Self.declared(), try Self.absent())
    for row in try Self.rows() where row.status == .undeclared {
      XCTAssertGreaterThan(row.text.count, "undeclared: ".count + 8, "no reason: \(row.symbols)")
      for symbol in row.symbols where declared.has(symbol) || absent.has(symbol) {
        XCTFail("\(Self.page) says “\(row.text)” of \(symbol), which is declared")
      }
    }
  }

  func testEveryDeclarationIsInTheTable() throws {
    var named = Set(try Self.rows().flatMap(\.symbols))
    // A row with members of a type also names the type.
    for symbol in named { if let dot = symbol.lastIndex(of: ".") { named.insert(String(symbol[..<dot])) } }
    for symbol in try Self.declared(onlyOwn: true).symbols.union(Self.absent().symbols).sorted() where !named.contains(symbol) {
      XCTFail("\(Self.page) has no row for \(symbol)")
    }
  }

  func testDeclarationsInTheUnavailableFolderAreUnavailable() throws {
    for file in Repository.swiftFiles(in: Self.absentFolder) {
      let text = try Repository.text(file)
      let declarations = PublicDeclarations.of(SwiftText(text)).filter { !$0.contains(": case ") }
      XCTAssertEqual(text.ranges(of: "*, unavailable,").count, declarations.count, "\(file) declares what is not unavailable")
    }
  }

  func testSignatureReaderUsesTheNamesOfTheTable() {
    for (line, symbol) in [
      ("A: @discardableResult public func b<T: C>(_ c: D<E, F>, with g: (H, I) -> J = k) throws -> L where T: M", "A.b(_:with:)"),
      ("A.B: public convenience init?(for c: [D: E], _ f: G...)", "A.B.init(for:_:)"), ("A: open class var b: C { get }", "A.b"),
      ("A: case `in`", "A.in"), ("A: open class A: B, C", "A"), ("public let b", "b"), ("A: extension A: B", ""),
      ("A: public func `self`() -> Self", "A.self()"),
      ("public typealias A = B", "A"), ("public func a(_ b: C) -> D", "a(_:)"), ("A: case b = 1", "A.b"),
      ("A.B: public struct B: C", "A.B"),
    ] { XCTAssertEqual(Symbols.name(of: line) ?? "", symbol) }
  }

  // MARK: Reading

  private enum Status: String { case same, different, absent, undeclared, ours }

  private struct Row {
    var symbols: [String]
    var status: Status
    var text: String
  }

  /// The rows of the tables under “Every symbol”.
  private static func rows() throws -> [Row] {
    let parts = try Repository.text(page).components(separatedBy: "\n## ")
    let tables = try XCTUnwrap(parts.first { $0.hasPrefix("Every symbol\n") })
    let rows = try tables.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| Symbols ") }.map { line in
      let cells = line.components(separatedBy: " | ")
      XCTAssertEqual(cells.count, 2, String(line))
      let text = String((cells.last ?? "").dropLast(2))
      let status = try XCTUnwrap(
        Status(rawValue: String(text.prefix { $0.isLetter })), "neither same, different, absent, undeclared nor ours: \(line)")
      // Every second part is a name.
      let spans = cells[0].split(separator: "`", omittingEmptySubsequences: false)
      let names = spans.indices.filter { !$0.isMultiple(of: 2) }.map { String(spans[$0]) }
      guard let first = names.first, spans.count > 2, spans[2].contains(":") else { return Row(symbols: names, status: status, text: text) }
      return Row(symbols: names.dropFirst().map { "\(first).\($0)" }, status: status, text: text)
    }
    XCTAssertGreaterThan(rows.count, 100, "hardly any row: has the form of \(page) changed?")
    return rows
  }

  /// The available declarations of the module.
  private static func declared(onlyOwn: Bool = false) throws -> Symbols {
    let files = Repository.swiftFiles(in: "Sources/CoreData").filter { !$0.hasPrefix(absentFolder) }
    var symbols = Symbols(try files.flatMap { PublicDeclarations.of(SwiftText(try Repository.text($0))) })
    if onlyOwn { return symbols }
    for module in ["ObjectContext", "ObjectModel"] {
      let lines = try Repository.text("Documentation/API/\(module).txt").split(separator: "\n").map(String.init)
      symbols.parents.merge(others) { $0 + $1 }
      symbols.add(lines.filter { line in (others.values.joined() + ["ManagedObjectID"]).contains { line.hasPrefix("\($0): ") } })
    }
    return symbols
  }

  private static func absent() throws -> Symbols {
    Symbols(try Repository.swiftFiles(in: absentFolder).flatMap { PublicDeclarations.of(SwiftText(try Repository.text($0))) })
  }
}

/// Declarations by name with labels, as `Type.member(_:of:)`.
private struct Symbols {
  private(set) var symbols: Set<String> = []
  var parents: [String: [String]] = [:]

  init(_ lines: [String]) { add(lines) }

  mutating func add(_ lines: [String]) {
    for line in lines {
      guard let name = Self.name(of: line) else { continue }
      if let colon = line.range(of: ": "),
        let header = line[colon.upperBound...].range(of: #"\bclass [A-Za-z.]+(<[^>]*>)?: "#, options: .regularExpression)
      {
        let type = String(line[..<colon.lowerBound])
        parents[type, default: []] += line[header.upperBound...].split { !$0.isLetter && !$0.isNumber }.prefix(1).map(String.init)
      }
      // Overrides and the plugin's entry points are not symbols.
      let last = name.split(separator: ".").last ?? ""
      if line.contains(" override ") || last.hasPrefix("_") || name.hasPrefix("_") || last.first?.isLetter != true { continue }
      symbols.insert(name.hasPrefix("ManagedObjectID.") ? "NS" + name : name)
    }
  }

  func has(_ symbol: String) -> Bool {
    if symbols.contains(symbol) { return true }
    guard let dot = symbol.lastIndex(of: ".") else { return false }
    let (type, member) = (String(symbol[..<dot]), symbol[dot...])
    return (parents[type] ?? []).contains { has($0 + member) }
  }

  /// The name of a line's declaration; nil for an extension.
  static func name(of line: String) -> String? {
    var (path, text) = ("", line[...])
    if let colon = line.range(of: ": "), line[..<colon.lowerBound].allSatisfy({ $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" }) {
      (path, text) = (String(line[..<colon.lowerBound]), line[colon.upperBound...])
    }
    let words: Set<Substring> = [
      "func", "var", "let", "case", "init", "init?", "class", "struct", "enum", "protocol", "typealias", "extension", "subscript",
    ]
    let pieces = text.split(separator: " ")
    for (place, piece) in pieces.enumerated() {
      let word = piece.prefix { $0.isLetter || $0 == "?" }
      guard words.contains(word) else { continue }
      if word == "class", place + 1 < pieces.count, ["func", "var"].contains(pieces[place + 1]) { continue }
      switch word {
      case "extension", "subscript": return nil
      case "class", "struct", "enum", "protocol":
        return path.isEmpty ? String((pieces.dropFirst(place + 1).first ?? "").prefix { $0.isLetter || $0.isNumber }) : path
      default: break
      }
      let rest = text[piece.startIndex...]
      let isInit = word.hasPrefix("init")
      let signature = isInit ? rest : pieces[place + 1].startIndex < text.endIndex ? text[pieces[place + 1].startIndex...] : rest
      var name = String(signature.prefix { !" (<:={,".contains($0) }).replacingOccurrences(of: "`", with: "")
      if isInit { name = "init" }
      if word == "func" || isInit { name += labels(signature) }
      return path.isEmpty ? name : "\(path).\(name)"
    }
    return nil
  }

  /// The labels of a function's parameters, as `(_:of:)`.
  private static func labels(_ signature: Substring) -> String {
    guard let open = signature.firstIndex(of: "(") else { return "()" }
    var (labels, depth, isLabel, label) = ("", 0, true, "")
    for character in signature[signature.index(after: open)...] {
      switch character {
      case "(", "[", "<": depth += 1
      case ")" where depth == 0: return "(\(labels))"
      case ")", "]": depth -= 1
      case ">" where depth > 0 && label != "-": depth -= 1
      case "," where depth == 0:
        isLabel = true
        label = ""
        continue
      case " " where isLabel && !label.isEmpty && !label.hasPrefix("@"), ":" where isLabel && depth == 0:
        labels += label + ":"
        isLabel = false
      default: break
      }
      if !isLabel { label = String(character) } else if character != " " { label.append(character) }
    }
    return "(\(labels))"
  }
}
