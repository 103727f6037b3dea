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
