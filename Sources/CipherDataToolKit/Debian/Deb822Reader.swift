/// A reader for the stanzas of a deb822 file, such as a package index or dpkg's status file.
///
/// The ``LineReader`` limits the length of a line. A whole stanza is held in memory. There is no nesting.
///
/// A field is `Name: value`; lines that begin with a space or tab continue it. An empty line ends the stanza. Lines that begin with `#` are
/// comments.
package struct Deb822Reader {
  private let lines: LineReader
  /// The current stanza, whose memory is reused.
  private var stanza = Deb822Stanza()

  /// Creates a reader of lines.
  package init(_ lines: LineReader) {
    self.lines = lines
  }

  /// The source of the bytes.
  package var source: ByteSource { lines.source }

  /// Reads the next stanza.
  ///
  /// - Returns: The stanza; `nil` at the end.
  /// - Throws: ``InputError`` with the line number if a line is not a field or a field occurs twice.
  package mutating func next() throws -> Deb822Stanza? {
    stanza.removeAll()
    while true {
      let isStanzaEnd = try lines.next { line -> Bool in
        if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return true }
        if line[0] == 0x23 { return false }
        try stanza.append(line, number: lines.lineNumber)
        return false
      }
      guard let isStanzaEnd else { break }
      if isStanzaEnd && !stanza.isEmpty { break }
    }
    return stanza.isEmpty ? nil : stanza
  }
}

/// The fields of a stanza with their values as bytes.
package struct Deb822Stanza {
  /// The number of the stanza's first line.
  package private(set) var line = 0
  private var bytes: [UInt8] = []
  private var fields: [(name: Range<Int>, value: Range<Int>)] = []
  /// The lowercase names, once there are too many for a linear search.
  private var manyNames: Set<[UInt8]> = []
  private static let many = 64

  package var isEmpty: Bool { fields.isEmpty }

  /// The names of the fields in file order.
  package var names: [String] { fields.map { String(decoding: bytes[$0.name], as: UTF8.self) } }

  /// Returns the bytes of a field's value, without surrounding white space; `nil` if there is no such field. The lines of the value are
  /// separated by line feeds, without the white space that marks continuation lines.
  ///
  /// - Parameter name: The lowercase name; names in the file can have any case.
  package func bytes(of name: StaticString) -> ArraySlice<UInt8>? {
    for field in fields where isEqual(field.name, name) { return bytes[field.value] }
    return nil
  }

  /// Returns a field's value as text.
  package func text(of name: StaticString) -> String? {
    bytes(of: name).map { String(decoding: $0, as: UTF8.self) }
  }

  private func isEqual(_ range: Range<Int>, _ name: StaticString) -> Bool {
    guard range.count == name.utf8CodeUnitCount else { return false }
    var index = range.lowerBound
    var pointer = name.utf8Start
    while index < range.upperBound {
      var byte = bytes[index]
      if byte >= 0x41 && byte <= 0x5A { byte |= 0x20 }
      if byte != pointer.pointee { return false }
      index += 1
      pointer += 1
    }
    return true
  }

  fileprivate mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    manyNames.removeAll()
  }

  fileprivate mutating func append(_ line: UnsafeRawBufferPointer, number: Int) throws {
    if line[0] == 0x20 || line[0] == 0x09 {
      guard let last = fields.indices.last else {
        throw InputError(line: number, "The line continues a field, but no field precedes it.")
      }
      bytes.append(0x0A)
      bytes.append(contentsOf: Self.trimmed(line, from: 0))
      fields[last].value = fields[last].value.lowerBound..<bytes.count
      return
    }
    guard let colon = line.firstIndex(of: 0x3A), colon > 0 else {
      throw InputError(line: number, "The line is not a field: a name and a colon are expected.")
    }
    if fields.isEmpty { self.line = number }
    let nameStart = bytes.count
    bytes.append(contentsOf: line[0..<colon])
    let name = nameStart..<bytes.count
    if isTaken(name) {
      throw InputError(line: number, key: String(decoding: bytes[name], as: UTF8.self), "The field occurs twice in its stanza.")
    }
    bytes.append(contentsOf: Self.trimmed(line, from: colon + 1))
    fields.append((name, name.upperBound..<bytes.count))
  }

  /// Returns whether a field with the name exists, and records the name.
  private mutating func isTaken(_ name: Range<Int>) -> Bool {
    if fields.count < Self.many { return fields.contains { isSame($0.name, name) } }
    if manyNames.isEmpty { for field in fields { manyNames.insert(lowercased(field.name)) } }
    return !manyNames.insert(lowercased(name)).inserted
  }

  private func lowercased(_ range: Range<Int>) -> [UInt8] { bytes[range].map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 } }

  private func isSame(_ first: Range<Int>, _ second: Range<Int>) -> Bool {
    guard first.count == second.count else { return false }
    return zip(first, second).allSatisfy { left, right in
      let (a, b) = (bytes[left], bytes[right])
      return a == b || (a ^ b == 0x20 && (a | 0x20) >= 0x61 && (a | 0x20) <= 0x7A)
    }
  }

  private static func trimmed(_ line: UnsafeRawBufferPointer, from offset: Int) -> UnsafeRawBufferPointer {
    var start = offset
    var end = line.count
    while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
    while end > start, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: line[start..<end])
  }
}
