import SyncCore

/// A random model: some entities with attributes, required and optional to-one relationships between them, some of them one-to-one, and
/// many-to-many relationships.
struct SimulatedModel {
  struct Reference {
    let property: PropertyID
    /// The number of the destination's entity.
    let destination: Int
    let isRequired: Bool
    /// Whether it is one-to-one.
    let isExclusive: Bool
    /// Whether it is one-to-one and its own inverse.
    var isMutual = false
    /// Whether the destination cannot be deleted while an object refers to it.
    var isDenying = false
    /// Whether the objects that refer to one are in an order.
    var isOrdered = false
    /// Whether no object may be its own ancestor.
    var isTree = false
    /// How many objects can refer to one; nil if any number.
    var capacity: Int?
  }

  struct Entity {
    let id: EntityID
    /// An attribute that identifies the object: no two insertions have the same value, and it never changes.
    let serial: PropertyID
    let attributes: [PropertyID]
    /// How attributes are merged.
    let rules: [PropertyID: MergeRule]
    var references: [Reference]
    /// Whether edits win over deletions.
    var updateWins = false
    /// Attributes with large values.
    var assets: Set<PropertyID> = []
    /// An attribute that no two objects may have in common.
    var unique: PropertyID?
  }

  /// A many-to-many relationship, or a to-many relationship without an inverse.
  struct LinkRelationship {
    let id: EntityID
    /// The numbers of the entities of its ends.
    let source: Int
    let destination: Int
    let isSymmetric: Bool
    /// The ends that cannot be deleted while there is a link.
    var denying: Set<PropertyID> = []
    /// The ends whose links are in an order.
    var ordered: Set<PropertyID> = []
    /// How many links the ends admit.
    var capacities: [PropertyID: Int] = [:]
  }
  let entities: [Entity]
  let linkRelationships: [LinkRelationship]
  let syncModel: SyncModel

  /// - Parameters:
  ///   - hasManyClaims: Whether most to-one relationships are one-to-one.
  ///   - hasLinks: Whether there are many-to-many relationships.
  ///   - hasRules: Whether attributes have rules.
  ///   - hasDeletionMarks: Whether edits win over deletions, and objects deny deletions.
  ///   - hasLists: Whether relationships are ordered.
  ///   - hasUniqueValues: Whether there are uniqueness constraints.
  ///   - hasFunctions: Whether functions of the application merge attributes.
  ///   - hasMutual: Whether one-to-one relationships are their own inverses.
  ///   - hasAssets: Whether attributes have large values.
  init(
    _ random: inout SimulationRandom, hasManyClaims: Bool, hasLinks: Bool, hasRules: Bool, hasDeletionMarks: Bool, hasLists: Bool,
    hasUniqueValues: Bool, hasFunctions: Bool, hasMutual: Bool, hasAssets: Bool
  ) {
    var entities: [Entity] = []
    for number in 0..<(2 + random.number(below: hasManyClaims ? 1 : 3)) {
      let attributes = (0...random.number(below: 3)).map { PropertyID(UInt64(number * 100 + $0)) }
      var rules: [PropertyID: MergeRule] = [:]
      if hasRules {
        for attribute in attributes where random.chance(0.8) {
          rules[attribute] = random.chance(0.2) ? .counter : MergeRule(rawValue: UInt8(1 + random.number(below: 5)))
        }
        if hasFunctions { for attribute in rules.keys where rules[attribute] != .counter { rules[attribute] = .custom } }
      }
      var references: [Reference] = []
      for index in 0..<(number == 0 ? random.number(below: 2) : 1 + random.number(below: 2)) {
        // Only earlier entities are required, so that there can be a first object.
        let isRequired = number > 0 && random.chance(hasManyClaims ? 0.5 : 0.7)
        let destination = random.number(below: isRequired ? number : number + 1)
        references.append(
          Reference(
            property: PropertyID(UInt64(number * 100 + 50 + index)), destination: destination, isRequired: isRequired,
            isExclusive: random.chance(hasManyClaims ? 0.9 : 0.5)))
        if hasMutual, let last = references.popLast() {
          let isMutual = last.isExclusive && !last.isRequired
          references.append(
            Reference(
              property: last.property, destination: isMutual ? number : last.destination, isRequired: last.isRequired,
              isExclusive: last.isExclusive, isMutual: isMutual))
        }
      }
      entities.append(
        Entity(
          id: EntityID(UInt64(number)), serial: PropertyID(UInt64(number * 100 + 49)), attributes: attributes, rules: rules,
          references: references))
    }
    if hasDeletionMarks { Self.addDeletionMarks(to: &entities, &random) }
    var linkRelationships: [LinkRelationship] = []
    for number in 0..<(hasLinks ? 1 + random.number(below: 2) : 0) {
      let source = random.number(below: entities.count)
      let isSymmetric = random.chance(0.5)
      linkRelationships.append(
        LinkRelationship(
          id: EntityID(UInt64(Self.firstLinkEntity + number)), source: source,
          destination: isSymmetric ? source : random.number(below: entities.count), isSymmetric: isSymmetric))
    }
    if hasDeletionMarks {
      for index in linkRelationships.indices where random.chance(0.5) {
        linkRelationships[index].denying = [.linkDestination]
        entities[linkRelationships[index].destination].updateWins = true
        // The ends of a symmetric link are of the same entity.
        if linkRelationships[index].isSymmetric { linkRelationships[index].denying.insert(.linkSource) }
      }
    }
    if hasLists { Self.addLists(to: &entities, &linkRelationships, &random) }
    if hasUniqueValues {
      for number in entities.indices where number == 0 || random.chance(0.7) {
        entities[number].unique = PropertyID(UInt64(number * 100 + 48))
      }
    }
    if hasAssets {
      for number in entities.indices where number == 0 || random.chance(0.7) {
        entities[number].assets = Set((0...random.number(below: 2)).map { PropertyID(UInt64(number * 100 + Self.firstAsset + $0)) })
      }
    }
    Self.addTrees(to: &entities)
    Self.addCapacities(to: &entities, &linkRelationships)
    self.entities = entities
    self.linkRelationships = linkRelationships
    var all = Dictionary(
      uniqueKeysWithValues: entities.map { entity in
        (
          entity.id,
          SyncModel.Entity(
            references: Dictionary(uniqueKeysWithValues: entity.references.map { ($0.property, $0.isRequired) }),
            exclusive: Set(entity.references.filter(\.isExclusive).map(\.property)),
            mutual: Set(entity.references.filter(\.isMutual).map(\.property)),
            denying: Set(entity.references.filter(\.isDenying).map(\.property)),
            trees: Set(entity.references.filter(\.isTree).map(\.property)), capacities: entity.capacities,
            updateWins: entity.updateWins, merging: entity.rules,
            functions: entity.rules.filter { $0.value == .custom }.reduce(into: [:]) { $0[$1.key] = Self.function(for: $1.key) },
            unique: entity.unique.map { [UniqueConstraint($0.value, [$0])] } ?? [])
        )
      })
    for relationship in linkRelationships {
      all[relationship.id] = .link(
        isSymmetric: relationship.isSymmetric, denying: relationship.denying, capacities: relationship.capacities)
    }
    syncModel = SyncModel(entities: all)
  }

  private static func addDeletionMarks(to entities: inout [Entity], _ random: inout SimulationRandom) {
    for number in entities.indices {
      if random.chance(0.6) { entities[number].updateWins = true }
      for index in entities[number].references.indices where random.chance(0.5) {
        entities[number].references[index].isDenying = true
        entities[entities[number].references[index].destination].updateWins = true
      }
    }
  }

  private static func addTrees(to entities: inout [Entity]) {
    for number in entities.indices where entities[number].attributes.count != 2 {
      for (index, reference) in entities[number].references.enumerated()
      where reference.destination == number && !reference.isRequired && !reference.isExclusive && !reference.isDenying {
        entities[number].references[index].isTree = true
      }
    }
  }

  private static func addLists(
    to entities: inout [Entity], _ linkRelationships: inout [LinkRelationship], _ random: inout SimulationRandom
  ) {
    for number in entities.indices {
      for index in entities[number].references.indices where !entities[number].references[index].isExclusive {
        entities[number].references[index].isOrdered = true
      }
    }
    for index in linkRelationships.indices {
      if random.chance(0.7) { linkRelationships[index].ordered.insert(.linkSource) }
      if random.chance(0.4) { linkRelationships[index].ordered.insert(.linkDestination) }
    }
  }

  /// Returns the references of an entity, or the ends of a relationship's links, that are members of ordered relationships.
  func ordered(_ entity: EntityID) -> [PropertyID] {
    if isLink(entity) { return linkRelationships.first { $0.id == entity }?.ordered.sorted() ?? [] }
    return self.entity(entity).references.filter(\.isOrdered).map(\.property)
  }

  private static let firstLinkEntity = 100
  private static let firstAsset = 40

  /// Returns the function for an attribute with the rule `custom`: bits that one side has added or removed are added or removed. That for an
  /// odd attribute fails if the values differ in their lowest bits.
  static func function(for attribute: PropertyID) -> MergeFunction {
    struct Unmergeable: Error {}
    let isFragile = attribute.value % 2 == 1
    return MergeFunction(isFragile ? "fragile bits" : "bits") { base, one, other in
      let (base, one, other) = (bits(base), bits(one), bits(other))
      if isFragile, (one ^ other) & 1 != 0 { throw Unmergeable() }
      if isFragile, (one ^ other) & 2 != 0 { return .integer(one) }
      return .integer(one & other | (one | other) & ~base)
    }
  }

  static func bits(_ value: FieldValue?) -> Int64 { if case .integer(let bits)? = value { bits } else { 0 } }

  var hasAssets: Bool { entities.contains { !$0.assets.isEmpty } }

  /// Whether attributes have rules.
  var hasRules: Bool { entities.contains { !$0.rules.isEmpty } }

  /// Returns a random earlier version of the model, which lacks an entity or a many-to-many relationship, or has other rules.
  func earlierVersion(_ random: inout SimulationRandom) -> SyncModel {
    if hasRules, random.chance(0.8) {
      var earlier = syncModel
      for entity in entities {
        for (property, rule) in entity.rules.sorted(by: { $0.key < $1.key }) where random.chance(0.7) {
          let other = random.chance(0.2) ? MergeRule(rawValue: UInt8(1 + random.number(below: 4))) : nil
          if rule == .custom {
            // Some versions know the rule, but lack the function.
            earlier.entities[entity.id]?.functions[property] = nil
            if other == .max { continue }
          }
          if rule != .counter || other == nil { earlier.entities[entity.id]?.merging[property] = other }
        }
      }
      return earlier
    }
    if entities.contains(where: \.updateWins), random.chance(0.5) {
      var earlier = syncModel
      for entity in syncModel.entities.keys.sorted() where random.chance(0.5) {
        earlier.entities[entity]?.updateWins = false
        if random.chance(0.5) { earlier.entities[entity]?.denying = [] }
      }
      return withoutCapacities(earlier)
    }
    let missing = (entities.map(\.id) + linkRelationships.map(\.id))[random.number(below: entities.count + linkRelationships.count)]
    return withoutCapacities(SyncModel(entities: syncModel.entities.filter { $0.key != missing }))
  }

  /// Returns an entity that is not of links.
  func entity(_ id: EntityID) -> Entity { entities[Int(id.value)] }

  func isAsset(_ property: PropertyID) -> Bool { entities.contains { $0.assets.contains(property) } }

  func isLink(_ entity: EntityID) -> Bool { entity.value >= Self.firstLinkEntity }

  /// Returns the link that an object is.
  func link(_ object: SyncedObject) -> Link? {
    guard let source = object.values[.linkSource]?.reference, let destination = object.values[.linkDestination]?.reference else {
      return nil
    }
    return syncModel.link(object.entity, from: source, to: destination)
  }

  /// Returns which object a state or a change belongs to, or nil if it does not say, or is a link.
  func serial(_ entity: EntityID, _ values: [PropertyID: FieldValue]) -> Int64? {
    guard !isLink(entity), case .integer(let serial)? = values[self.entity(entity).serial] else { return nil }
    return serial
  }
}
