import Foundation

/// A package of Debian's package index or of dpkg's status file.
package struct PackageRecord: Sendable, Hashable {
  package var name: String
  /// The version, including epoch and revision.
  package var version: String
  /// The architecture for which the package was built; `all` for any.
  package var architecture: String
  /// The priority: `required`, `important`, `standard`, `optional`, or `extra`.
  package var priority: String?
  /// Whether the package is marked as essential for the system.
  package var essential = false
  /// The installed size in KiB.
  package var installedSize: Int64?
  /// The size of the package's archive in bytes.
  package var downloadSize: Int64?
  /// The first line of the description.
  package var summary: String?
  /// The home page, an absolute URI.
  package var homepage: String?
  /// The SHA-256 digest of the package's archive, 32 bytes.
  package var sha256: [UInt8]?
  /// The section of the archive.
  package var section: String?
  package var maintainer: MaintainerRecord?
  /// The debtags in file order, without duplicates.
  package var tags: [String] = []
  /// The relations to other packages, ordered by ``RelationKind`` and then as in the field.
  package var relations: [RelationRecord] = []
}

/// The maintainer of a package.
package struct MaintainerRecord: Sendable, Hashable {
  /// The name; `nil` if only an address is given.
  package var name: String?
  /// The email address.
  package var email: String

  package init(name: String?, email: String) {
    self.name = name
    self.email = email
  }
}

/// The kind of a relation between packages.
package enum RelationKind: Int, Sendable, Hashable, CaseIterable {
  case depends, preDepends, recommends, suggests, conflicts, breaks, replaces, enhances, provides

  /// The lowercase name of the field in the control file.
  package var field: StaticString {
    switch self {
    case .depends: "depends"
    case .preDepends: "pre-depends"
    case .recommends: "recommends"
    case .suggests: "suggests"
    case .conflicts: "conflicts"
    case .breaks: "breaks"
    case .replaces: "replaces"
    case .enhances: "enhances"
    case .provides: "provides"
    }
  }

  /// The name of the entity in the Debian archive's model.
  package var entityName: String {
    switch self {
    case .depends: "Dependency"
    case .preDepends: "PreDependency"
    case .recommends: "Recommendation"
    case .suggests: "Suggestion"
    case .conflicts: "Conflict"
    case .breaks: "Breakage"
    case .replaces: "Replacement"
    case .enhances: "Enhancement"
    case .provides: "Provision"
    }
  }
}

/// A relation: a list of alternatives, any of which satisfies it.
package struct RelationRecord: Sendable, Hashable {
  package var kind: RelationKind
  /// The alternatives in the order of preference.
  package var alternatives: [AlternativeRecord]

  package init(kind: RelationKind, alternatives: [AlternativeRecord]) {
    self.kind = kind
    self.alternatives = alternatives
  }
}

/// One alternative of a relation.
package struct AlternativeRecord: Sendable, Hashable {
  /// The name of the package, without an architecture qualifier such as `:any`.
  package var packageName: String
  /// The operator of the version comparison: `<<`, `<=`, `=`, `>=`, or `>>`; `nil` for any version.
  package var comparison: String?
  /// The version on the right side of the comparison; `nil` for any version.
  package var version: String?

  package init(packageName: String, comparison: String? = nil, version: String? = nil) {
    self.packageName = packageName
    self.comparison = comparison
    self.version = version
  }
}

// MARK: - Parsing stanzas

extension PackageRecord {
  /// Creates a package from a stanza; `nil` if the stanza of dpkg's status file describes a package that is not installed.
  ///
  /// - Throws: ``InputError`` with the field that is missing or malformed.
  package init?(_ stanza: Deb822Stanza) throws {
    guard let name = stanza.text(of: "package"), !name.isEmpty else { throw Self.error(stanza, "Package", "The field is missing.") }
    guard let version = stanza.text(of: "version"), !version.isEmpty else {
      if let status = stanza.text(of: "status"), status.hasSuffix("not-installed") { return nil }
      throw Self.error(stanza, "Version", "The field is missing.")
    }
    guard let architecture = stanza.text(of: "architecture"), !architecture.isEmpty else {
      throw Self.error(stanza, "Architecture", "The field is missing.")
    }
    self.init(name: name, version: version, architecture: architecture)
    priority = stanza.text(of: "priority")
    essential = stanza.text(of: "essential")?.lowercased() == "yes"
    installedSize = try Self.size(stanza, "installed-size", "Installed-Size")
    downloadSize = try Self.size(stanza, "size", "Size")
    if let description = stanza.bytes(of: "description") {
      summary = String(decoding: description.prefix { $0 != 0x0A }, as: UTF8.self)
    }
    if let text = stanza.text(of: "homepage"), !text.isEmpty { homepage = Self.uri(text) }
    if let digest = stanza.bytes(of: "sha256") {
      guard let bytes = Hexadecimal.decode(digest), bytes.count == 32 else {
        throw Self.error(stanza, "SHA256", "64 hexadecimal digits are expected.")
      }
      sha256 = bytes
    }
    if let text = stanza.text(of: "section"), !text.isEmpty { section = text }
    if let field = stanza.text(of: "maintainer") { maintainer = MaintainerRecord(field: field) }
    if let field = stanza.bytes(of: "tag") { tags = Self.tags(field) }
    for kind in RelationKind.allCases {
      guard let field = stanza.bytes(of: kind.field) else { continue }
      do {
        try RelationField.parse(field) { relations.append(RelationRecord(kind: kind, alternatives: $0)) }
      } catch let error as RelationField.SyntaxError {
        throw InputError(line: stanza.line, entity: name, key: String(describing: kind.field), error.message)
      }
    }
  }

  private static func error(_ stanza: Deb822Stanza, _ key: String, _ message: String) -> InputError {
    InputError(line: stanza.line, entity: stanza.text(of: "package"), key: key, message)
  }

  private static func size(_ stanza: Deb822Stanza, _ field: StaticString, _ key: String) throws -> Int64? {
    guard let text = stanza.text(of: field), !text.isEmpty else { return nil }
    guard let number = Int64(text), number >= 0 else { throw error(stanza, key, "A whole number from 0 is expected.") }
    return number
  }

  /// Returns a home page as an absolute URI, with invalid characters escaped; `nil` if the text is not a URI.
  private static func uri(_ text: String) -> String? {
    URL(string: text)?.absoluteString
  }

  /// Returns the tags of a list, in which `a::{b,c}` abbreviates `a::b, a::c`.
  static func tags(_ field: ArraySlice<UInt8>) -> [String] {
    var tags: [String] = []
    var seen: Set<String> = []
    func add(_ tag: String) {
      if !tag.isEmpty, seen.insert(tag).inserted { tags.append(tag) }
    }
    var index = field.startIndex
    while index < field.endIndex {
      var depth = 0
      let end = field[index...].firstIndex { byte in
        if byte == 0x7B { depth += 1 }
        if byte == 0x7D { depth -= 1 }
        return byte == 0x2C && depth <= 0
      }
      let item = ASCII.trimmed(field[index..<(end ?? field.endIndex)])
      if let open = item.firstIndex(of: 0x7B), let close = item.lastIndex(of: 0x7D), open < close {
        for part in item[(open + 1)..<close].split(separator: 0x2C) {
          let bytes = Array(item[..<open]) + ASCII.trimmed(part) + Array(item[(close + 1)...])
          add(String(decoding: bytes, as: UTF8.self))
        }
      } else {
        add(String(decoding: item, as: UTF8.self))
      }
      index = end.map { $0 + 1 } ?? field.endIndex
    }
    return tags
  }
}

extension MaintainerRecord {
  /// Parses `Name <address>`, the first one if there are several. A text without angle brackets is an address.
  init?(field: String) {
    guard let open = field.firstIndex(of: "<"), let close = field[open...].firstIndex(of: ">") else {
      let text = field.trimmingCharacters(in: .whitespacesAndNewlines)
      if text.isEmpty { return nil }
      self.init(name: nil, email: text)
      return
    }
    let email = field[field.index(after: open)..<close].trimmingCharacters(in: .whitespacesAndNewlines)
    var name = field[..<open].trimmingCharacters(in: .whitespacesAndNewlines)
    if name.count >= 2, name.hasPrefix("\""), name.hasSuffix("\"") { name = String(name.dropFirst().dropLast()) }
    if email.isEmpty { return nil }
    self.init(name: name.isEmpty ? nil : name, email: email)
  }
}

/// A parser for dependency fields such as `a (>= 1) | b:any [amd64] <!nocheck>, c`.
package enum RelationField {
  /// A syntax error in a field.
  package struct SyntaxError: Error, Hashable {
    package var message: String
  }

  /// Parses a field, and passes the alternatives of each relation to a closure.
  ///
  /// Architecture qualifiers (`:any`), architecture lists (`[amd64]`), and build profiles (`<!nocheck>`) are parsed and ignored.
  package static func parse(_ field: ArraySlice<UInt8>, _ body: ([AlternativeRecord]) throws -> Void) throws {
    var scanner = Scanner(bytes: field, index: field.startIndex)
    var alternatives: [AlternativeRecord] = []
    while true {
      scanner.skipSpace()
      if scanner.take(0x2C) || scanner.isAtEnd {
        if !alternatives.isEmpty { throw SyntaxError(message: "The name of a package is expected after “|”.") }
        if scanner.isAtEnd { return }
        continue
      }
      alternatives.append(try scanner.alternative())
      scanner.skipSpace()
      if scanner.take(0x7C) { continue }
      guard scanner.take(0x2C) || scanner.isAtEnd else { throw SyntaxError(message: "A comma or “|” is expected after a package.") }
      try body(alternatives)
      alternatives.removeAll(keepingCapacity: true)
      if scanner.isAtEnd { return }
    }
  }

  private struct Scanner {
    let bytes: ArraySlice<UInt8>
    var index: Int

    var isAtEnd: Bool { index == bytes.endIndex }

    mutating func skipSpace() {
      while index < bytes.endIndex, ASCII.isSpace(bytes[index]) { index += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
      guard index < bytes.endIndex, bytes[index] == byte else { return false }
      index += 1
      return true
    }

    mutating func word(until isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
      let start = index
      while index < bytes.endIndex, !isEnd(bytes[index]) { index += 1 }
      return bytes[start..<index]
    }

    mutating func alternative() throws -> AlternativeRecord {
      var name = word { ASCII.isSpace($0) || [0x28, 0x2C, 0x3C, 0x5B, 0x7C].contains($0) }
      if let colon = name.firstIndex(of: 0x3A) { name = name[..<colon] }
      guard !name.isEmpty else { throw SyntaxError(message: "The name of a package is expected.") }
      var record = AlternativeRecord(packageName: String(decoding: name, as: UTF8.self))
      while true {
        skipSpace()
        if take(0x28) {
          skipSpace()
          record.comparison = try comparison()
          skipSpace()
          let version = word { ASCII.isSpace($0) || $0 == 0x29 }
          skipSpace()
          guard !version.isEmpty, take(0x29) else { throw SyntaxError(message: "A version and “)” are expected.") }
          record.version = String(decoding: version, as: UTF8.self)
        } else if take(0x5B) {
          _ = word { $0 == 0x5D }
          guard take(0x5D) else { throw SyntaxError(message: "“]” is expected.") }
        } else if take(0x3C) {
          _ = word { $0 == 0x3E }
          guard take(0x3E) else { throw SyntaxError(message: "“>” is expected.") }
        } else {
          return record
        }
      }
    }

    /// `<` and `>` are the obsolete spellings of `<=` and `>=`.
    mutating func comparison() throws -> String {
      let sign = word { $0 != 0x3C && $0 != 0x3D && $0 != 0x3E }
      switch String(decoding: sign, as: UTF8.self) {
      case "<<": return "<<"
      case "<=", "<": return "<="
      case "=": return "="
      case ">=", ">": return ">="
      case ">>": return ">>"
      default: throw SyntaxError(message: "One of <<, <=, =, >=, >> is expected.")
      }
    }
  }
}
