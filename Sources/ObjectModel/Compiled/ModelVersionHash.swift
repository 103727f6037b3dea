// ModelVersionHash: a digest per entity that tells whether a store fits a model.
public import Foundation

/// Version hashes: SHA-256 over what decides the shape of an entity's stored rows.
///
/// An entity's hash covers its name, its superentity's name, whether it is abstract, its hash modifier, its uniqueness constraints (the order of
/// constraints and of the properties in one does not count), and its own attributes and relationships in the order of their names:
/// - of an attribute: name, type, optional, transient, hash modifier, and the same of the parts of a composite;
/// - of a relationship: name, destination, inverse, to-many, ordered, least and greatest count, delete rule, optional, transient, hash modifier.
///
/// It does not cover class names, notes, default values, validation bounds, indexes, the expressions and filters of derived attributes, external storage, renaming identifiers, fetched properties,
/// configurations and version identifiers: a store fits before and after those change. Each part is written with its length before it, so that no
/// two descriptions have one serialisation; the first byte is the serialisation's version.
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
      // Where the expression of a derived attribute stood: changing one computes its values anew, and nothing else.
      bytes.append(flag: false)
      if let name = attribute.compositeName { bytes.append(composites.hash(of: name, depth: depth)) }
    }
  }

  /// The digests of a model's composites, each made once.
  private struct CompositeHashes {
    let model: ManagedObjectModel
    private var known: [String: Data] = [:]

    init(model: ManagedObjectModel) { self.model = model }

    mutating func hash(of name: String, depth: Int) -> Data {
      if let hash = known[name] { return hash }
      // Models that are not valid have hashes too, and composites of any depth.
      guard depth < CompositeRules.maximumDepth else { return Data() }
      var bytes = CanonicalBytes()
      append(model.composite(named: name)?.elements ?? [], to: &bytes, &self, depth: depth + 1)
      let hash = ContentDigest.sha256(bytes.bytes)
      known[name] = hash
      return hash
    }
  }

  /// 32 hexadecimal digits over the hashes and the order of every entity's properties, which is what numbering depends on.
  static func checksum(of entities: [CompiledEntity], hashes: [String: Data]) -> String {
    var bytes = CanonicalBytes()
    for entity in entities {
      bytes.append(entity.name)
      bytes.append(hashes[entity.name] ?? Data())
      // A subentity's inherited properties are in its superentity's part.
      let inherited = entity.parent.map { (entities[$0].slots.count, entities[$0].toManyRelationships.count) } ?? (0, 0)
      bytes.append(number: entity.slots.count)
      for slot in entity.slots.dropFirst(inherited.0) { bytes.append(slot.name) }
      bytes.append(number: entity.toManyRelationships.count)
      for relationship in entity.toManyRelationships.dropFirst(inherited.1) { bytes.append(relationship.name) }
    }
    return digits(bytes)
  }

  /// 32 hexadecimal digits over every entity's declared indexes; empty where there are none.
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

  /// 32 hexadecimal digits over how derived attributes are computed; empty where there are none.
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

  /// The order of names by their UTF-8 bytes, which no locale or Unicode version changes.
  private static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}

/// Bytes that only one sequence of parts has.
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
  /// The version hash of every entity by name, 32 bytes each. A store keeps those of the model it was written with.
  public var versionHashesByEntityName: [String: Data] { ModelVersionHash.hashes(of: self) }

  /// Whether a store whose metadata has these version hashes fits the model, or one configuration of it.
  ///
  /// - Parameters:
  ///   - name: The configuration's name; nil for all entities.
  ///   - hashes: The version hashes by entity name that the store keeps.
  /// - Returns: Whether the entities and their hashes are the same; false when there is no such configuration.
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

/// The entities in which a store and a model differ.
public struct VersionHashDifference: Sendable, Hashable, CustomStringConvertible {
  /// Entities that only the model has, in the order of their names.
  public let added: [String]
  /// Entities that only the store has.
  public let removed: [String]
  /// Entities that both have with different hashes.
  public let changed: [String]

  /// Compares the hashes that a store keeps with those of a model.
  public init(stored: [String: Data], model: [String: Data]) {
    added = model.keys.filter { stored[$0] == nil }.sorted()
    removed = stored.keys.filter { model[$0] == nil }.sorted()
    changed = model.filter { name, hash in stored[name].map { $0 != hash } ?? false }.keys.sorted()
  }

  /// Whether store and model agree.
  public var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }

  /// The differences in words, such as `added Tag; changed Photo`.
  public var description: String {
    let parts = [("added", added), ("removed", removed), ("changed", changed)].filter { !$0.1.isEmpty }
    return parts.isEmpty ? "no difference" : parts.map { "\($0.0) \($0.1.joined(separator: ", "))" }.joined(separator: "; ")
  }
}
