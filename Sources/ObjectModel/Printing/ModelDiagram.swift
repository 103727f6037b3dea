/// Renders models as diagrams for Mermaid and Graphviz.
public enum ModelDiagram {
  /// Returns a Mermaid class diagram: entities with their attributes, inheritance, and one line per relationship with its inverse.
  @_optimize(none) public static func mermaid(_ model: ManagedObjectModel) -> String {
    let identifiers = identifiers(of: model)
    var lines = ["classDiagram"]
    for entity in model.entities {
      guard let identifier = identifiers[entity.name] else { continue }
      let label = identifier == entity.name ? "" : "[\"\(quoted(entity.name))\"]"
      lines.append("  class \(identifier)\(label) {")
      if entity.isAbstract { lines.append("    <<abstract>>") }
      for attribute in entity.attributes {
        lines.append("    \(typeName(of: attribute)) \(plain(attribute.name))")
      }
      lines.append("  }")
      if let parent = entity.superentityName.flatMap({ identifiers[$0] }) { lines.append("  \(parent) <|-- \(identifier)") }
    }
    for line in links(of: model) {
      guard let source = identifiers[line.source], let destination = identifiers[line.destination] else { continue }
      lines.append(
        "  \(source) \"\(line.inverseCount)\" \(line.inverse == nil ? "-->" : "--") \"\(line.count)\" \(destination) : \(plain(line.label))"
      )
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Returns a Graphviz digraph with the same content.
  @_optimize(none) public static func dot(_ model: ManagedObjectModel) -> String {
    var lines = ["digraph model {", "  rankdir=LR;", "  node [shape=record, fontname=\"Helvetica\", fontsize=10];", "  edge [fontsize=9];"]
    for entity in model.entities {
      let title = record(entity.isAbstract ? "\(entity.name) (abstract)" : entity.name)
      let attributes = entity.attributes.map { record("\($0.name): \(typeName(of: $0))") + "\\l" }.joined()
      lines.append("  \(string(entity.name)) [label=\"{\(title)|\(attributes)}\"];")
      if let parent = entity.superentityName { lines.append("  \(string(entity.name)) -> \(string(parent)) [arrowhead=empty];") }
    }
    for line in links(of: model) {
      let heads = line.inverse == nil ? "arrowhead=vee" : "arrowhead=none"
      lines.append(
        "  \(string(line.source)) -> \(string(line.destination)) [label=\(string(line.label)), \(heads), taillabel=\"\(line.inverseCount)\", "
          + "headlabel=\"\(line.count)\"];")
    }
    lines.append("}")
    return lines.joined(separator: "\n") + "\n"
  }

  /// A relationship together with its inverse.
  private struct Link {
    var source: String
    var destination: String
    var name: String
    var inverse: String?
    var count: String
    var inverseCount: String
    var label: String { inverse.map { $0 == name ? name : "\(name) / \($0)" } ?? name }
  }

  /// Returns each pair of inverse relationships once, at its first declaration.
  @_optimize(none) private static func links(of model: ManagedObjectModel) -> [Link] {
    struct Key: Hashable {
      let entity: String
      let name: String
    }
    var relationships: [Key: RelationshipDescription] = [:]
    for entity in model.entities {
      for relationship in entity.relationships { relationships[Key(entity: entity.name, name: relationship.name)] = relationship }
    }
    var drawn: Set<Key> = []
    var links: [Link] = []
    for entity in model.entities {
      for relationship in entity.relationships where drawn.insert(Key(entity: entity.name, name: relationship.name)).inserted {
        let inverseKey = relationship.inverseName.map { Key(entity: relationship.destinationEntityName, name: $0) }
        let inverse = inverseKey.flatMap { relationships[$0] }
        if inverse != nil, let inverseKey { drawn.insert(inverseKey) }
        links.append(
          Link(
            source: entity.name, destination: relationship.destinationEntityName, name: relationship.name, inverse: inverse?.name,
            count: count(of: relationship), inverseCount: inverse.map(count) ?? "*"))
      }
    }
    return links
  }

  private static func count(of relationship: RelationshipDescription) -> String {
    if relationship.isToMany { return relationship.isOrdered ? "* ordered" : "*" }
    return relationship.isOptional ? "0..1" : "1"
  }

  /// Returns the type of an attribute as shown in diagrams.
  package static func typeName(of attribute: AttributeDescription) -> String {
    attribute.type.rawValue.replacing(" ", with: "") + (attribute.isOptional ? "?" : "")
  }

  /// Returns Mermaid identifiers for the entities: their names if these are valid identifiers.
  @_optimize(none) private static func identifiers(of model: ManagedObjectModel) -> [String: String] {
    var result: [String: String] = [:]
    for (number, entity) in model.entities.enumerated() where result[entity.name] == nil {
      let name = entity.name
      let isPlain =
        !name.isEmpty && name.utf8.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
        && name.unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_") }
      result[name] = isPlain ? name : "entity_\(number)"
    }
    return result
  }

  private static func plain(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map {
          $0.properties.isAlphabetic || $0.properties.numericType != nil || "_ /-".unicodeScalars.contains($0) ? $0 : "_"
        }))
  }

  private static func quoted(_ text: String) -> String {
    plain(text.replacing("\"", with: "'"))
  }

  private static func string(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: " ") + "\""
  }

  private static func record(_ text: String) -> String {
    var result = ""
    for character in text {
      if "{}|<>\"\\ ".contains(character) { result.append("\\") }
      result.append(character.isNewline ? " " : character)
    }
    return result
  }
}
