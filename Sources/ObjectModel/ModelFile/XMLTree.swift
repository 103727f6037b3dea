import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// An element of an XML file with its position.
struct XMLNode {
  var name: String
  var attributes: [String: String]
  var children: [XMLNode] = []
  var text = ""
  /// The line and column of the start tag, from 1.
  var line: Int
  var column = 1

  /// The element without its position, to be preserved.
  var element: PreservedXML.Element {
    PreservedXML.Element(name: name, attributes: attributes, children: children.map(\.element), text: text)
  }
}

/// The limits of the reader, which reject hostile files. Only extreme models exceed them, such as one with 65,535 entities and ten
/// properties each.
struct XMLBounds {
  /// The maximum size of the file in bytes.
  var bytes = 32 << 20
  /// The maximum nesting depth of elements; a model has 5.
  var depth = 64
  var elements = 400_000
  /// Whether to accept a document type without declarations, as in property lists.
  var allowsDoctype = false
}

/// Parses XML into a tree, with Foundation's event parser. Not with its document class, which resolves external entities.
final class XMLTreeParser: NSObject, XMLParserDelegate {
  private let bounds: XMLBounds
  private let path: String?
  private var stack: [XMLNode] = []
  private var root: XMLNode?
  private var count = 0
  private var failure: ModelFileError?
  private let positions: [XMLPosition]

  private init(bounds: XMLBounds, path: String?, positions: [XMLPosition]) {
    self.bounds = bounds
    self.path = path
    self.positions = positions
  }

  @_optimize(none) static func parse(_ data: Data, path: String?, bounds: XMLBounds = XMLBounds()) throws(ModelFileError) -> XMLNode {
    guard data.count <= bounds.bytes else {
      throw ModelFileError(.tooLarge, path: path, "the file has \(data.count) bytes; the reader takes \(bounds.bytes)")
    }
    guard !data.isEmpty else { throw ModelFileError(.malformed, path: path, line: 1, "the file is empty") }
    // Other encodings could hide the declarations that are searched below.
    guard data.firstIndex(of: 0) == nil, String(data: data, encoding: .utf8) != nil else {
      throw ModelFileError(.malformed, path: path, "the file is not UTF-8 text; convert it to UTF-8")
    }
    if let found = declaration(in: data, bounds: bounds) {
      throw ModelFileError(.unsafe, path: path, "the file has a \(found) declaration; remove it, a model does not need one")
    }
    if let offset = emptyInstruction(in: data) {
      let line = 1 + data[..<offset].count { $0 == UInt8(ascii: "\n") }
      throw ModelFileError(.malformed, path: path, line: line, "there is a processing instruction without contents; remove it")
    }
    return try XMLTreeParser(bounds: bounds, path: path, positions: XMLPosition.ofStartTags(in: data)).run(data)
  }

  /// Returns the position of the first processing instruction without content. Foundation's parser assumes that there is content, and
  /// crashes.
  @_optimize(none) private static func emptyInstruction(in data: Data) -> Int? {
    var start = data.startIndex
    while let found = data.range(of: Data("<?".utf8), in: start..<data.endIndex) {
      let rest = data[found.upperBound...]
      let end = rest.firstIndex { $0 == UInt8(ascii: "?") || $0 <= UInt8(ascii: " ") } ?? data.endIndex
      if data[end...].starts(with: Data("?>".utf8)) { return found.lowerBound }
      start = found.upperBound
    }
    return nil
  }

  /// Returns the first rejected declaration.
  @_optimize(none) private static func declaration(in data: Data, bounds: XMLBounds) -> String? {
    if data.range(of: Data("<!ENTITY".utf8)) != nil { return "<!ENTITY" }
    guard let doctype = data.range(of: Data("<!DOCTYPE".utf8)) else {
      // An encoding that is not a superset of ASCII could encode `<` differently.
      let head = String(decoding: data.prefix(200), as: UTF8.self)
      guard let range = head.range(of: "encoding=") else { return nil }
      let name = head[range.upperBound...].dropFirst().prefix { $0 != "\"" && $0 != "'" }.uppercased()
      return ["UTF-8", "UTF8", "US-ASCII", "ASCII"].contains(name) ? nil : "foreign encoding"
    }
    guard bounds.allowsDoctype else { return "<!DOCTYPE" }
    let rest = data[doctype.upperBound...].prefix { $0 != UInt8(ascii: ">") }
    return rest.contains(UInt8(ascii: "[")) ? "<!DOCTYPE [" : nil
  }

  @_optimize(none) private func run(_ data: Data) throws(ModelFileError) -> XMLNode {
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    parser.delegate = self
    let finished = parser.parse()
    if let failure { throw failure }
    // `parse()` may return true for a truncated file.
    if !finished || parser.parserError != nil || !stack.isEmpty {
      throw ModelFileError(.malformed, path: path, line: max(parser.lineNumber, 1), "the file is not well-formed XML, or ends early")
    }
    guard let root else { throw ModelFileError(.malformed, path: path, "the file has no element") }
    return root
  }

  private func stop(_ parser: XMLParser, _ code: ModelFileError.Code, _ reason: String) {
    if failure == nil { failure = ModelFileError(code, path: path, line: max(parser.lineNumber, 1), reason) }
    parser.abortParsing()
  }

  @_optimize(none) func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String] = [:]
  ) {
    guard failure == nil else { return }
    count += 1
    guard stack.count < bounds.depth else { return stop(parser, .tooLarge, "elements are nested deeper than \(bounds.depth)") }
    guard count <= bounds.elements else { return stop(parser, .tooLarge, "the file has more than \(bounds.elements) elements") }
    // The parser reports the end of the tag.
    let position = positions.indices.contains(count - 1) ? positions[count - 1] : XMLPosition(line: max(parser.lineNumber, 1), column: 1)
    stack.append(XMLNode(name: elementName, attributes: attributes, line: position.line, column: position.column))
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) {
    guard failure == nil, !stack.isEmpty else { return }
    stack[stack.count - 1].text += string
  }

  func parser(_ parser: XMLParser, foundCDATA block: Data) {
    guard failure == nil, !stack.isEmpty else { return }
    stack[stack.count - 1].text += String(decoding: block, as: UTF8.self)
  }

  func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?) {
    guard failure == nil, var node = stack.popLast() else { return }
    node.text = node.text.trimmingCharacters(in: .whitespacesAndNewlines)
    if stack.isEmpty { root = node } else { stack[stack.count - 1].children.append(node) }
  }
}

/// A position in a text file, from 1. Columns count Unicode scalars.
struct XMLPosition {
  var line: Int
  var column: Int

  /// Returns the positions of all start tags, in order. Needed because Foundation's parser reports the last line of a multiline tag.
  @_optimize(none) static func ofStartTags(in data: Data) -> [XMLPosition] {
    data.withUnsafeBytes { bytes in
      var scanner = Scanner(bytes: bytes)
      scanner.run()
      return scanner.positions
    }
  }

  private struct Scanner {
    let bytes: UnsafeRawBufferPointer
    var positions: [XMLPosition] = []
    private var offset = 0
    private var line = 1
    private var column = 1

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    @_optimize(none) mutating func run() {
      // This character does not occur in attribute values of well-formed XML.
      let open = UInt8(ascii: "<")
      while offset < bytes.count {
        guard bytes[offset] == open else {
          advance()
          continue
        }
        if starts(with: "<!--") {
          skip(past: "-->", after: 4)
        } else if starts(with: "<![CDATA[") {
          skip(past: "]]>", after: 9)
        } else if starts(with: "<?") {
          skip(past: "?>", after: 2)
        } else {
          if !starts(with: "</"), !starts(with: "<!") { positions.append(XMLPosition(line: line, column: column)) }
          advance()
        }
      }
    }

    private mutating func advance() {
      let byte = bytes[offset]
      offset += 1
      if byte == UInt8(ascii: "\n") {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }

    private mutating func skip(past end: StaticString, after length: Int) {
      for _ in 0..<length { advance() }
      while offset < bytes.count, !starts(with: end) { advance() }
      for _ in 0..<min(end.utf8CodeUnitCount, bytes.count - offset) { advance() }
    }

    private func starts(with text: StaticString) -> Bool {
      let count = text.utf8CodeUnitCount
      guard bytes.count - offset >= count else { return false }
      return text.withUTF8Buffer { buffer in
        for index in 0..<count where bytes[offset + index] != buffer[index] { return false }
        return true
      }
    }
  }
}

/// Names in XML 1.0, fifth edition (productions 4 and 4a), which the parser accepts.
enum XMLName {
  static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, contains(starts, first) else { return false }
    return text.unicodeScalars.dropFirst().allSatisfy { contains(starts, $0) || contains(others, $0) }
  }

  private static func contains(_ ranges: [ClosedRange<UInt32>], _ scalar: Unicode.Scalar) -> Bool {
    ranges.contains { $0 ~= scalar.value }
  }

  /// The characters that can start a name.
  private static let starts: [ClosedRange<UInt32>] = [
    0x3A...0x3A, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF,
    0x200C...0x200D, 0x2070...0x218F, 0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF,
  ]
  /// The additional characters in the rest of a name.
  private static let others: [ClosedRange<UInt32>] = [0x2D...0x2E, 0x30...0x39, 0xB7...0xB7, 0x300...0x36F, 0x203F...0x2040]
}
