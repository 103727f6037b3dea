public import Foundation

/// Writes a model as a `contents` file, in canonical order and with all preserved parts.
struct DataModelWriter {
  private var output = ""
  private var depth = 0

  static func data(of model: ManagedObjectModel) throws(ModelFileError) -> Data {
    var writer = DataModelWriter()
    writer.output = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    try writer.write(writer.element(model))
    return Data(writer.output.utf8)
  }

  // MARK: Descriptions as elements

  /// An element with ordered attributes.
  private struct Node {
    var name: String
    var attributes: [(String, String)]
    var children: [Node] = []
    var text = ""
  }

  @_optimize(none) private func element(_ model: ManagedObjectModel) -> Node {
    var bare = model
    bare.entities = []
    var node = Node(name: "model", attributes: attributes(ModelXMLField<ManagedObjectModel>.all, bare, model.preserved))
    let standard = ModelXMLField<ManagedObjectModel>.standardNames
    if standard.contains(where: { model.preserved.attributes[$0] != nil }) {
      node.attributes.removeAll { standard.contains($0.0) && model.preserved.attributes[$0.0] == nil }
    }
    var kept = model.preserved.elements
    node.children = model.entities.map(element)
    node.children += model.composites.map { composite in
      var kept = composite.preserved.elements
      let parts = composite.elements.map {
        leaf("attribute", ModelXMLField<AttributeDescription>.all, $0, $0.userInfo, $0.preserved)
      }
      let notes = userInfo(composite.userInfo, &kept)
      return Node(
        name: "composite", attributes: attributes(ModelXMLField<CompositeDescription>.all, composite, composite.preserved),
        children: parts + (notes + kept).map(Self.node))
    }
    node.children += model.fetchRequestTemplates.map {
      Node(
        name: "fetchRequest", attributes: attributes(ModelXMLField<FetchRequestTemplate>.all, $0, $0.preserved),
        children: $0.preserved.elements.map(Self.node))
    }
    node.children += model.configurations.map { configuration in
      var kept = configuration.preserved.elements
      let members = group(
        "memberEntity", &kept, ModelXMLGroups.elements(members: configuration.entityNames),
        represents: { ModelXMLGroups.members($0) == configuration.entityNames })
      return Node(
        name: "configuration", attributes: attributes(ModelXMLField<ModelConfiguration>.all, configuration, configuration.preserved),
        children: (members + kept).map(Self.node))
    }
    node.children += userInfo(model.userInfo, &kept).map(Self.node)
    node.children += kept.map(Self.node)
    return node
  }

  @_optimize(none) private func element(_ entity: EntityDescription) -> Node {
    var bare = entity
    bare.properties = []
    var node = Node(name: "entity", attributes: attributes(ModelXMLField<EntityDescription>.all, bare, entity.preserved))
    var kept = entity.preserved.elements
    node.children = entity.properties.map { property in
      switch property {
      case .attribute(let attribute):
        return leaf("attribute", ModelXMLField<AttributeDescription>.all, attribute, attribute.userInfo, attribute.preserved)
      case .relationship(let relationship):
        return leaf(
          "relationship", ModelXMLField<RelationshipDescription>.all, relationship, relationship.userInfo, relationship.preserved)
      case .fetchedProperty(let property): return element(property)
      }
    }
    node.children += entity.indexes.map { index in
      let elements = index.elements.map {
        Node(
          name: "fetchIndexElement", attributes: attributes(ModelXMLField<FetchIndexElement>.all, $0, $0.preserved),
          children: $0.preserved.elements.map(Self.node))
      }
      return Node(
        name: "fetchIndex", attributes: attributes(ModelXMLField<FetchIndexDescription>.all, index, index.preserved),
        children: elements + index.preserved.elements.map(Self.node))
    }
    let compounds = group(
      "compoundIndexes", &kept, ModelXMLGroups.elements(compoundIndexes: entity.compoundIndexes),
      represents: { ModelXMLGroups.compoundIndexes($0) == entity.compoundIndexes })
    let constraints = group(
      "uniquenessConstraints", &kept, ModelXMLGroups.elements(constraints: entity.uniquenessConstraints),
      represents: { ModelXMLGroups.constraints($0) == entity.uniquenessConstraints })
    node.children += (compounds + constraints + userInfo(entity.userInfo, &kept) + kept).map(Self.node)
    return node
  }

  @_optimize(none) private func element(_ property: FetchedPropertyDescription) -> Node {
    var kept = property.preserved.elements
    let requests = group(
      "fetchRequest", &kept, ModelXMLGroups.elements(requestOf: property),
      represents: {
        var copy = property
        ModelXMLGroups.take(requests: $0, into: &copy)
        return copy == property
      })
    return Node(
      name: "fetchedProperty", attributes: attributes(ModelXMLField<FetchedPropertyDescription>.all, property, property.preserved),
      children: (requests + userInfo(property.userInfo, &kept) + kept).map(Self.node))
  }

  private func leaf<Description>(
    _ name: String, _ fields: [ModelXMLField<Description>], _ description: Description, _ notes: [String: String],
    _ preserved: PreservedXML
  ) -> Node {
    var kept = preserved.elements
    let notes = userInfo(notes, &kept)
    return Node(name: name, attributes: attributes(fields, description, preserved), children: (notes + kept).map(Self.node))
  }

  private func userInfo(_ notes: [String: String], _ kept: inout [PreservedXML.Element]) -> [PreservedXML.Element] {
    // Elements that are not plain are in `kept`; entries that they do not contain are written separately.
    let spelled = kept.named("userInfo")
    let meant = ModelXMLGroups.userInfo(spelled)
    kept.removeAll { $0.name == "userInfo" }
    guard meant.allSatisfy({ notes[$0.key] == $0.value }) else { return ModelXMLGroups.elements(userInfo: notes) }
    return spelled + ModelXMLGroups.elements(userInfo: notes.filter { meant[$0.key] == nil })
  }

  /// Returns the preserved form of a group of elements if its meaning is unchanged, else the canonical form.
  private func group(
    _ name: String, _ kept: inout [PreservedXML.Element], _ canonical: [PreservedXML.Element],
    represents: ([PreservedXML.Element]) -> Bool
  ) -> [PreservedXML.Element] {
    let spelled = kept.named(name)
    kept.removeAll { $0.name == name }
    return !spelled.isEmpty && represents(spelled) ? spelled : canonical
  }

  @_optimize(none) private func attributes<Description>(
    _ fields: [ModelXMLField<Description>], _ description: Description, _ preserved: PreservedXML
  ) -> [(String, String)] {
    var rest = preserved.attributes
    var result: [(String, String)] = []
    for field in fields {
      var text = field.text(description)
      if let spelled = rest.removeValue(forKey: field.name) {
        if field.represents(spelled, description) { text = spelled }
      }
      if let text { result.append((field.name, text)) }
    }
    return result + rest.sorted { $0.key < $1.key }
  }

  /// The attributes that come first in preserved elements; others follow by name.
  private static let firstAttributes = ["key", "name", "value", "positionX", "positionY", "width", "height"]

  private static func node(_ element: PreservedXML.Element) -> Node {
    var rest = element.attributes
    var attributes: [(String, String)] = []
    for name in firstAttributes {
      if let value = rest.removeValue(forKey: name) { attributes.append((name, value)) }
    }
    attributes += rest.sorted { $0.key < $1.key }
    return Node(name: element.name, attributes: attributes, children: element.children.map(node), text: element.text)
  }

  // MARK: Elements as text

  @_optimize(none) private mutating func write(_ node: Node) throws(ModelFileError) {
    guard depth < XMLBounds().depth else {
      throw ModelFileError(.tooLarge, "kept elements are nested deeper than \(XMLBounds().depth)")
    }
    try check(name: node.name)
    indent()
    output += "<" + node.name
    for (name, value) in node.attributes {
      try check(name: name)
      output += " " + name + "=\""
      try escape(value, where: "the attribute '\(name)' of an element '\(node.name)'")
      output += "\""
    }
    if node.children.isEmpty && node.text.isEmpty {
      output += "/>\n"
      return
    }
    output += ">"
    try escape(node.text, where: "the text of an element '\(node.name)'")
    if !node.children.isEmpty {
      output += "\n"
      depth += 1
      for child in node.children { try write(child) }
      depth -= 1
      indent()
    }
    output += "</" + node.name + ">\n"
  }

  private mutating func indent() {
    for _ in 0..<depth { output += "    " }
  }

  private func check(name: String) throws(ModelFileError) {
    guard XMLName.isName(name) else { throw ModelFileError(.badValue, "a kept element or attribute has a name that XML cannot hold") }
  }

  @_optimize(none) private mutating func escape(_ text: String, where location: @autoclosure () -> String) throws(ModelFileError) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": output += "&amp;"
      case "<": output += "&lt;"
      case ">": output += "&gt;"
      case "\"": output += "&quot;"
      case "\n": output += "&#10;"
      case "\r": output += "&#13;"
      case "\t": output += "&#9;"
      case "\0"..<" ", "\u{FFFE}", "\u{FFFF}":
        throw ModelFileError(.badValue, "\(location()) has a character that XML cannot hold (U+\(String(scalar.value, radix: 16)))")
      default: output.unicodeScalars.append(scalar)
      }
    }
  }
}

extension ManagedObjectModel {
  /// Returns the model in the format of a `contents` file, which ``init(xmlData:path:strict:)`` reads without loss.
  ///
  /// - Throws: ``ModelFileError`` if a name or text contains a character that XML does not allow.
  public func xmlData() throws(ModelFileError) -> Data { try DataModelWriter.data(of: self) }

  /// Reads the format of a `contents` file. Everything except comments is preserved.
  ///
  /// - Parameters:
  ///   - data: The content of the file: at most 32 MB with 400,000 elements, without a document type.
  ///   - path: The path of the file for error messages.
  ///   - strict: Whether each of ``ModelFileLint/findings(in:path:)`` is an error.
  /// - Throws: ``ModelFileError`` with the line. ``CompiledModel`` reports issues of the model itself.
  public init(xmlData data: Data, path: String? = nil, strict: Bool = false) throws(ModelFileError) {
    self = try DataModelReader.model(of: data, path: path, strict: strict)
  }
}

/// Replaces files atomically, preserving owner, group and permissions: a model formatted by root still belongs to its user.
package enum FileReplacement {
  /// Writes data to a path. If the path is a symbolic link, writes to its target.
  @_optimize(none) package static func write(_ data: Data, to url: URL) throws(ModelFileError) {
    let path = url.resolvingSymlinksInPath().path
    var old = stat()
    let replaces = stat(path, &old) == 0
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let temporary = "\(folder)/.\(UUID().uuidString)"
    // A new file has default permissions. A replacement starts private and receives the old permissions before it becomes visible.
    let descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, replaces ? 0o600 : 0o666)
    guard descriptor >= 0 else { throw failure(errno, path) }
    var isPlaced = false
    defer { if !isPlaced { unlink(temporary) } }
    do {
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      defer { try? handle.close() }
      do { try handle.write(contentsOf: data) } catch {
        throw ModelFileError(.unwritable, path: path, "the file cannot be written: \(error.localizedDescription)")
      }
      if replaces { try applyAttributes(descriptor, as: old, path: path) }
      guard fsync(descriptor) == 0 else { throw failure(errno, path) }
    }
    guard rename(temporary, path) == 0 else { throw failure(errno, path) }
    isPlaced = true
  }

  /// Sets the owner, group and permissions of the old file. Throws if the owner could no longer change the file.
  @_optimize(none) private static func applyAttributes(_ descriptor: Int32, as old: stat, path: String) throws(ModelFileError) {
    var new = stat()
    guard fstat(descriptor, &new) == 0 else { throw failure(errno, path) }
    var bits = old.st_mode & 0o777
    if new.st_uid != old.st_uid || new.st_gid != old.st_gid, fchown(descriptor, old.st_uid, old.st_gid) != 0 {
      // A process without root privileges can only change the group, to one of its own.
      let keepsGroup = new.st_gid == old.st_gid || fchown(descriptor, uid_t.max, old.st_gid) == 0
      let groupMayAll = keepsGroup && (bits >> 3) & 0o6 == (bits >> 6) & 0o6
      guard new.st_uid == old.st_uid || groupMayAll else {
        throw ModelFileError(
          .unwritable, path: path, "the file belongs to another user, who could no longer change it; write to another file, or as that user"
        )
      }
      if !keepsGroup { bits &= ~0o070 }
    }
    guard fchmod(descriptor, bits) == 0 else { throw failure(errno, path) }
  }

  private static func failure(_ number: Int32, _ path: String) -> ModelFileError {
    ModelFileError(
      .unwritable, path: path, "the file cannot be written (\(String(cString: strerror(number)))); check the folder and its permissions")
  }
}
