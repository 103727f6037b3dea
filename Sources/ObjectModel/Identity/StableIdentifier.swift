/// The identity of an entity or property on every device that has a model with it.
///
/// It consists of names: of an entity its first name, of a property the identity of the declaring entity and its first name. The first name
/// is the renaming identifier, or the name without one. So it does not change when the entity or property is renamed, if the renaming
/// identifier stays the first name. A store keeps the identity that a property had before each migration, whatever the later renaming
/// identifiers are.
package struct StableIdentifier: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The names, escaped and separated by slashes.
  package let text: String

  package init(text: String) { self.text = text }

  /// Creates the identity of an entity.
  package init(entity name: String) { text = Self.escaped(name) }

  /// Creates the identity of a property.
  ///
  /// - Parameters:
  ///   - entity: The declaring entity.
  ///   - name: The first name of the property; dotted for a part of a composite.
  package init(entity: StableIdentifier, property name: String) { text = "\(entity.text)/\(Self.escaped(name))" }

  /// Returns the identity of another entity or property with the same first name: one that is new, and has taken the former name of one that
  /// was renamed.
  ///
  /// - Parameter name: Its own name, which no other has.
  package func distinguished(by name: String) -> StableIdentifier { StableIdentifier(text: "\(text)~\(Self.escaped(name))") }

  /// The 16 bytes by which records of other devices name the entity or property.
  package var digest: [UInt8] { Array(ContentDigest.sha256(Array("CipherData identity\0\(text)".utf8)).prefix(16)) }

  package var description: String { text }

  package init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  /// Bytewise equal, since names that differ in their bytes are different.
  package static func == (one: Self, other: Self) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  private static func escaped(_ name: String) -> String {
    guard name.utf8.contains(where: { "%/~".utf8.contains($0) }) else { return name }
    return String(
      name.unicodeScalars.map { scalar in
        switch scalar {
        case "%": "%25"
        case "/": "%2F"
        case "~": "%7E"
        default: String(scalar)
        }
      }.joined())
  }
}

/// The identities of a model's entities and properties, which follow from the model alone.
package struct StableIdentifiers: Sendable {
  /// The identities of the entities, by number.
  package let entities: [StableIdentifier]
  private let properties: [[String: StableIdentifier]]
  private let model: CompiledModel

  package init(of model: CompiledModel) {
    self.model = model
    let names = Self.firstNames(model.entities.map { ($0.name, $0.entityDescription.renamingIdentifier) })
    let entities = model.entities.map { entity in
      let (first, isDistinguished) = names[entity.name] ?? (entity.name, false)
      let identifier = StableIdentifier(entity: first)
      return isDistinguished ? identifier.distinguished(by: entity.name) : identifier
    }
    self.entities = entities
    properties = model.entities.map { entity in
      let declared = entity.declaredNames
      let names = Self.firstNames(declared)
      return Dictionary(
        uniqueKeysWithValues: declared.map { property in
          let (first, isDistinguished) = names[property.name] ?? (property.name, false)
          let identifier = StableIdentifier(entity: entities[entity.number], property: first)
          return (property.name, isDistinguished ? identifier.distinguished(by: property.name) : identifier)
        })
    }
  }

  /// Returns the identity of a property; nil if the entity does not declare it.
  package func property(_ name: String, ofEntity number: Int) -> StableIdentifier? { properties[number][name] }

  /// Returns the identity of a property in a slot of an entity, which may have inherited it.
  package func slot(_ index: Int, ofEntity number: Int) -> StableIdentifier? {
    let slot = model.entities[number].slots[index]
    return property(slot.name, ofEntity: slot.declaringEntity)
  }

  /// Returns the identity of a relationship.
  package func relationship(_ relationship: CompiledRelationship) -> StableIdentifier? {
    property(relationship.name, ofEntity: relationship.sourceEntity)
  }

  /// Returns the first name of each element, and whether another element has it too and takes precedence: one that was renamed, or the one
  /// that precedes by name.
  private static func firstNames(_ names: [(name: String, renamed: String?)]) -> [String: (first: String, isDistinguished: Bool)] {
    let isInOrder = { (a: (name: String, renamed: String?), b: (name: String, renamed: String?)) in
      (a.renamed == nil) != (b.renamed == nil) ? a.renamed != nil : a.name.utf8.lexicographicallyPrecedes(b.name.utf8)
    }
    var taken: Set<String> = []
    var result: [String: (first: String, isDistinguished: Bool)] = [:]
    for (name, renamed) in names.sorted(by: isInOrder) {
      let first = renamed ?? name
      result[name] = (first, !taken.insert(first).inserted)
    }
    return result
  }
}

extension CompiledEntity {
  /// The names and renaming identifiers of the properties that the entity itself declares, with the parts of composites instead of these.
  fileprivate var declaredNames: [(name: String, renamed: String?)] {
    slots.filter { $0.declaringEntity == number }.map {
      ($0.name, $0.attribute?.renamingIdentifier ?? $0.relationship?.relationshipDescription.renamingIdentifier)
    } + toManyRelationships.filter { $0.sourceEntity == number }.map { ($0.name, $0.relationshipDescription.renamingIdentifier) }
  }
}
