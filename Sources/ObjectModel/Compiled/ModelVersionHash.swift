public import Foundation

/// Version hashes: the SHA-256 of everything that determines the shape of an entity's stored rows.
///
/// An entity's hash covers its name, its superentity's name, whether it is abstract, its hash modifier, its uniqueness constraints
/// (regardless of their order and of the order of their properties), and its own attributes and relationships ordered by name:
/// - of an attribute: name, type, optional, transient, hash modifier, and the same of the parts of a composite;
/// - of a relationship: name, destination, inverse, to-many, ordered, minimum and maximum count, delete rule, optional, transient, hash
///   modifier.
///
/// It does not cover class names, user info, default values, validation bounds, indexes, the expressions and filters of derived attributes,
/// external storage, renaming identifiers, fetched properties, configurations and version identifiers: a store stays compatible if these
/// change. Each part is preceded by its length, so that different descriptions never have the same serialization. The first 8 bytes are the
/// version of the serialization.
enum ModelVersionHash {
  static func hashes(of model: ManagedObjectModel) -> [String: Data] {
    var composites = CompositeHashes(model: model)
    return Dictionary(model.entities.map { ($0.name, hash(of: $0, &composites)) }, uniquingKeysWith: { first, _ in first })
  }

  static func hash(of entity: EntityDescription, in model: ManagedObjectModel) -> Data {
    var composites = CompositeHashes(model: model)
    return hash(of: entity, &composites)
  }

  private static func hash(of entity: EntityDescription, _ composites: inout CompositeHashes) -> Data {
    var bytes = CanonicalBytes()
    bytes.append(number: 1)
    bytes.append(entity.name)
    bytes.append(optional: entity.superentityName)
    bytes.append(flag: entity.isAbstract)
    bytes.append(optional: entity.versionHashModifier)
    let constraints = entity.uniquenessConstraints.map { $0.sorted(by: precedes) }.sorted { $0.lexicographicallyPrecedes($1, by: precedes) }
    bytes.append(number: constraints.count)
    for names in constraints {
      bytes.append(number: names.count)
      for name in names { bytes.append(name) }
    }
    append(entity.attributes, to: &bytes, &composites, depth: 0)
    let relationships = entity.relationships.sorted { precedes($0.name, $1.name) }
    bytes.append(number: relationships.count)
    for relationship in relationships {
      bytes.append(relationship.name)
      bytes.append(relationship.destinationEntityName)
      bytes.append(optional: relationship.inverseName)
      bytes.append(flag: relationship.isToMany)
      bytes.append(flag: relationship.isOrdered && relationship.isToMany)
      bytes.append(number: relationship.minCount)
      bytes.append(number: relationship.maxCount)
      bytes.append(relationship.deleteRule.rawValue)
      bytes.append(flag: relationship.isOptional)
      bytes.append(flag: relationship.isTransient)
      bytes.append(optional: relationship.versionHashModifier)
    }
    return ContentDigest.sha256(bytes.bytes)
  }

  private static func append(
    _ attributes: [AttributeDescription], to bytes: inout CanonicalBytes, _ composites: inout CompositeHashes, depth: Int
  ) {
    bytes.append(number: attributes.count)
    for attribute in attributes.sorted(by: { precedes($0.name, $1.name) }) {
      bytes.append(attribute.name)
      bytes.append(attribute.type.rawValue)
      bytes.append(flag: attribute.isOptional)
      bytes.append(flag: attribute.isTransient)
      bytes.append(optional: attribute.versionHashModifier)
      // The former place of the derivation expression. A changed expression only requires recomputing the values.
      bytes.append(flag: false)
      if let name = attribute.compositeName { bytes.append(composites.hash(of: name, depth: depth)) }
    }
  }

  /// The digests of a model's composites, each computed once.
  private struct CompositeHashes {
    let model: ManagedObjectModel
    private var known: [String: Data] = [:]

    init(model: ManagedObjectModel) { self.model = model }

    mutating func hash(of name: String, depth: Int) -> Data {
      if let hash = known[name] { return hash }
      // Invalid models have hashes too, even with composites of any depth.
      guard depth < CompositeRules.maximumDepth else { return Data() }
      var bytes = CanonicalBytes()
      append(model.composite(named: name)?.elements ?? [], to: &bytes, &self, depth: depth + 1)
      let hash = ContentDigest.sha256(bytes.bytes)
      known[name] = hash
      return hash
    }
  }

  /// Returns 32 hexadecimal digits over the hashes and the order of each entity's properties, which determine the numbering.
  static func checksum(of entities: [CompiledEntity], hashes: [String: Data]) -> String {
    var bytes = CanonicalBytes()
    for entity in entities {
      bytes.append(entity.name)
      bytes.append(hashes[entity.name] ?? Data())
      // Inherited properties are covered by the superentity.
      let inherited = entity.parent.map { (entities[$0].slots.count, entities[$0].toManyRelationships.count) } ?? (0, 0)
      bytes.append(number: entity.slots.count)
      for slot in entity.slots.dropFirst(inherited.0) { bytes.append(slot.name) }
      bytes.append(number: entity.toManyRelationships.count)
      for relationship in entity.toManyRelationships.dropFirst(inherited.1) { bytes.append(relationship.name) }
    }
    return digits(bytes)
  }

  /// Returns 32 hexadecimal digits over each entity's declared indexes; empty without indexes.
  static func indexChecksum(of entities: [CompiledEntity]) -> String {
    var bytes = CanonicalBytes()
    for entity in entities {
      for index in entity.entityDescription.effectiveIndexes {
        bytes.append(entity.name)
        bytes.append(index.name)
        bytes.append(optional: index.partialIndexPredicate)
        bytes.append(number: index.elements.count)
        for element in index.elements {
          bytes.append(optional: element.propertyName)
          bytes.append(optional: element.expression)
          bytes.append(element.kind.rawValue)
          bytes.append(flag: element.isAscending)
          bytes.append(element.collation.rawValue)
        }
      }
    }
    return bytes.bytes.isEmpty ? "" : digits(bytes)
  }

  /// Returns 32 hexadecimal digits over all derivations; empty without derivations.
  static func checksum(of derivations: [CompiledDerivation]) -> String {
    var bytes = CanonicalBytes()
    for derivation in derivations { bytes.append(derivation.identity) }
    return derivations.isEmpty ? "" : digits(bytes)
  }

  private static func digits(_ bytes: CanonicalBytes) -> String {
    ContentDigest.sha256(bytes.bytes).prefix(16).map { byte in
      let text = String(byte, radix: 16)
      return byte < 16 ? "0" + text : text
    }.joined()
  }

  /// Orders names by their UTF-8 bytes, independently of locale and Unicode version.
  private static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}

/// An unambiguous serialization of a sequence of parts.
private struct CanonicalBytes {
  var bytes: [UInt8] = []

  mutating func append(number: Int) {
    withUnsafeBytes(of: Int64(number).bigEndian) { bytes.append(contentsOf: $0) }
  }
  mutating func append(flag: Bool) { bytes.append(flag ? 1 : 0) }
  mutating func append(_ text: String) {
    append(number: text.utf8.count)
    bytes.append(contentsOf: text.utf8)
  }
  mutating func append(_ data: Data) {
    append(number: data.count)
    bytes.append(contentsOf: data)
  }
  mutating func append(optional text: String?) {
    append(flag: text != nil)
    if let text { append(text) }
  }
}

extension ManagedObjectModel {
  /// The version hash of each entity by name, 32 bytes each. A store contains those of the model with which it was written.
  public var versionHashesByEntityName: [String: Data] { ModelVersionHash.hashes(of: self) }

  /// Returns whether a store with these version hashes is compatible with the model or one of its configurations.
  ///
  /// - Parameters:
  ///   - name: The configuration's name; nil for all entities.
  ///   - hashes: The store's version hashes by entity name.
  /// - Returns: Whether the entities and their hashes are equal; false if there is no such configuration.
  public func isConfiguration(withName name: String?, compatibleWithStoreMetadata hashes: [String: Data]) -> Bool {
    var own = versionHashesByEntityName
    if let name {
      guard let configuration = configurations.first(where: { $0.name == name }) else { return false }
      let members = Set(configuration.entityNames)
      own = own.filter { members.contains($0.key) }
    }
    return own == hashes
  }
}

/// The entities that differ between a store and a model.
public struct VersionHashDifference: Sendable, Hashable, CustomStringConvertible {
  /// Entities that only the model has, ordered by name.
  public let added: [String]
  /// Entities that only the store has, ordered by name.
  public let removed: [String]
  /// Entities whose hashes differ, ordered by name.
  public let changed: [String]

  /// Compares the hashes of a store with those of a model.
  public init(stored: [String: Data], model: [String: Data]) {
    added = model.keys.filter { stored[$0] == nil }.sorted()
    removed = stored.keys.filter { model[$0] == nil }.sorted()
    changed = model.filter { name, hash in stored[name].map { $0 != hash } ?? false }.keys.sorted()
  }

  /// Whether store and model are equal.
  public var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }

  /// The differences as text, such as `added Tag; changed Photo`.
  public var description: String {
    let parts = [("added", added), ("removed", removed), ("changed", changed)].filter { !$0.1.isEmpty }
    return parts.isEmpty ? "no difference" : parts.map { "\($0.0) \($0.1.joined(separator: ", "))" }.joined(separator: "; ")
  }
}
