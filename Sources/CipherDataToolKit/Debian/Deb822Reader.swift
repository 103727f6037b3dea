// Deb822Reader: the stanzas of Debian's control files, one at a time.

/// Reads the stanzas of a deb822 file: a package index, dpkg's status file.
///
/// A line has at most the bytes that its ``LineReader`` takes; a stanza lies in memory, and is as long as its lines. Nothing is nested.
///
/// A field is `Name: value`; lines that begin with a space or tab continue it; an empty line ends the stanza; lines that begin with `#` are comments.
package struct Deb822Reader {
  private let lines: LineReader
  /// Where the next stanza is read into; its memory is used again and again.
  private var stanza = Deb822Stanza()

  /// Reads from lines.
  package init(_ lines: LineReader) {
    self.lines = lines
  }

  /// Where the bytes come from.
  package var source: ByteSource { lines.source }

  /// Reads the next stanza.
  ///
  /// - Returns: The stanza; nil at the end.
  /// - Throws: ``InputError`` with the line for a line that is no field, or a field that occurs twice.
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

/// A stanza: fields with their values, as bytes.
package struct Deb822Stanza {
  /// The number of the line the stanza begins at.
  package private(set) var line = 0
  private var bytes: [UInt8] = []
  private var fields: [(name: Range<Int>, value: Range<Int>)] = []
  /// The names in lower case, where there are so many that looking through all for each takes long.
  private var manyNames: Set<[UInt8]> = []
  private static let many = 64

  /// Whether there are no fields.
  package var isEmpty: Bool { fields.isEmpty }

  /// The names of the fields, in their order.
  package var names: [String] { fields.map { String(decoding: bytes[$0.name], as: UTF8.self) } }

  /// The bytes of a field's value, without white space around it; nil when there is no such field. The lines of a value are kept, parted by line
  /// feeds and without the white space that marks them as continuations.
  ///
  /// - Parameter name: The name in lower case; names in the file may have any.
  package func bytes(of name: StaticString) -> ArraySlice<UInt8>? {
    for field in fields where isEqual(field.name, name) { return bytes[field.value] }
    return nil
  }

  /// The text of a field's value.
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
        throw InputError(line: number, "The line continues a field, and there is none before it.")
      }
      bytes.append(0x0A)
      bytes.append(contentsOf: Self.trimmed(line, from: 0))
      fields[last].value = fields[last].value.lowerBound..<bytes.count
      return
    }
    guard let colon = line.firstIndex(of: 0x3A), colon > 0 else {
      throw InputError(line: number, "The line is no field: a name and a colon are expected.")
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

  /// Whether a field has the name already; notes it.
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

  /// The bytes from an offset without white space around them.
  private static func trimmed(_ line: UnsafeRawBufferPointer, from offset: Int) -> UnsafeRawBufferPointer {
    var start = offset
    var end = line.count
    while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
    while end > start, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: line[start..<end])
  }
}
