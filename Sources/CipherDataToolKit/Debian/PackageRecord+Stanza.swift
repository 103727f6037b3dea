import Foundation

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
