package import ObjectModel
import ObjectStore
package import SyncCore

/// The synchronized part of a model: its attributes, to-one relationships and links, with the identities that they have on all devices.
///
/// Identities are digests of the model's names, see ``StableIdentifier``. A one-to-one relationship is synchronized as the one of the two
/// relationships that is required, or as the one that comes first in the model; the other one follows from it. Of one that is its own inverse,
/// both ends are synchronized.
package struct SyncSchema: Sendable {
  /// A synchronized attribute or to-one relationship.
  package struct Property: Sendable {
    package let slot: Int
    package let id: PropertyID
    package let kind: SlotKind
    /// The slot of the destination that refers back, for a one-to-one relationship.
    package let inverseSlot: Int?
    /// How concurrent changes of an attribute are merged; `latest` for a relationship.
    package let mergeRule: SyncMergeRule
  }

  package struct Entity: Sendable {
    package let id: EntityID
    /// The properties in the order of their slots.
    package let properties: [Property]
    /// The positions in ``properties``, by slot and by identity.
    let positions: [Int: Int]
    let positionsByID: [PropertyID: Int]

    package func property(inSlot slot: Int) -> Property? { positions[slot].map { properties[$0] } }
    package func property(_ id: PropertyID) -> Property? { positionsByID[id].map { properties[$0] } }

    /// Returns what the protocol knows of the entity.
    fileprivate func syncEntity(
      in entity: CompiledEntity, of model: CompiledModel, unique: [UniqueConstraint]
    ) -> SyncModel.Entity {
      let references = properties.filter { $0.kind == .reference }
      return SyncModel.Entity(
        references: Dictionary(references.map { ($0.id, !entity.slots[$0.slot].isOptional) }, uniquingKeysWith: { first, _ in first }),
        exclusive: Set(references.filter { $0.inverseSlot != nil }.map(\.id)),
        mutual: Set(references.filter { entity.slots[$0.slot].relationship.map { $0.inverseID == $0.id } ?? false }.map(\.id)),
        denying: Set(references.filter { entity.slots[$0.slot].relationship.map(model.isDenying) ?? false }.map(\.id)),
        trees: Set(references.filter { entity.slots[$0.slot].relationship.map(model.isTree) ?? false }.map(\.id)),
        capacities: Dictionary(
          references.compactMap { reference in
            entity.slots[reference.slot].relationship.flatMap(model.capacity).map { (reference.id, $0) }
          }, uniquingKeysWith: { first, _ in first }),
        updateWins: model.updateWins(entity),
        merging: Dictionary(
          properties.filter { $0.mergeRule != .latest }.map { ($0.id, MergeRule($0.mergeRule)) }, uniquingKeysWith: { first, _ in first }),
        functions: Dictionary(
          properties.compactMap { property in property.mergeFunction(in: entity).map { (property.id, $0) } },
          uniquingKeysWith: { first, _ in first }),
        unique: unique)
    }
  }

  package let model: CompiledModel
  /// The entities, by number.
  package let entities: [Entity]
  /// The relationships that have links.
  package let links: [LinkRelationship]
  /// The ordered relationships.
  package let lists: [ListRelationship]
  let memberships: [EntityID: [Membership]]
  /// The uniqueness constraints, as the model declares them, by their identity.
  let constraints: [UInt64: DeclaredConstraint]
  /// What the protocol knows of the model.
  package let syncModel: SyncModel
  /// Whether there are binary attributes, whose values can be large.
  package let hasBinaryAttributes: Bool
  private let numbers: [EntityID: Int]
  private let linkPositions: [EntityID: Int]

  package init(_ model: CompiledModel) {
    self.model = model
    let identifiers = StableIdentifiers(of: model)
    entities = model.entities.map { entity in
      let properties = entity.slots.compactMap { slot -> Property? in
        guard let identifier = identifiers.slot(slot.index, ofEntity: entity.number), slot.isSynchronized(in: model) else { return nil }
        return Property(
          slot: slot.index, id: PropertyID(identifier.number), kind: slot.kind,
          inverseSlot: slot.relationship.flatMap { model.inverse(of: $0) }.flatMap { $0.isToMany ? nil : $0.index },
          mergeRule: slot.attribute?.syncMergeRule ?? .latest)
      }
      return Entity(
        id: EntityID(identifiers.entities[entity.number].number), properties: properties,
        positions: Dictionary(uniqueKeysWithValues: properties.enumerated().map { ($1.slot, $0) }),
        positionsByID: Dictionary(properties.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first }))
    }
    hasBinaryAttributes = entities.contains { $0.properties.contains { $0.kind == .bytes } }
    numbers = Dictionary(zip(entities.map(\.id), entities.indices), uniquingKeysWith: { first, _ in first })
    links = LinkRelationship.all(of: model, identifiers)
    lists = ListRelationship.all(of: model, entities, links)
    memberships = Self.memberships(lists, entities, links)
    linkPositions = Dictionary(zip(links.map(\.entity), links.indices), uniquingKeysWith: { first, _ in first })
    let entities = entities
    let unique = model.entities.map { Self.uniqueConstraints(of: $0, in: model, entities) }
    constraints = Dictionary(unique.joined().map { ($0.constraint.id, $0.declared) }, uniquingKeysWith: { first, _ in first })
    // An abstract entity has no objects. In another version of the model it may have some.
    var known = Dictionary(
      zip(entities, model.entities).filter { !$1.isAbstract }.map { entity, compiled in
        (entity.id, entity.syncEntity(in: compiled, of: model, unique: unique[compiled.number].map(\.constraint)))
      },
      uniquingKeysWith: { first, _ in first })
    for link in links {
      known[link.entity] = .link(
        isSymmetric: link.isSymmetric, denying: link.denyingEnds(in: model), capacities: link.capacities(in: model))
    }
    syncModel = SyncModel(
      entities: known, leavesReferences: model.entities.contains { $0.relationships.contains { $0.deleteRule == .noAction } })
  }

  /// Returns the position in ``links`` of the relationship whose links have an entity, or nil if the model does not have it.
  func linkPosition(_ entity: EntityID) -> Int? { linkPositions[entity] }

  /// Returns the value that identifies an entity in a column.
  func column(ofEntity number: Int) -> Slot { .int(Int64(bitPattern: entities[number].id.value)) }

  /// Returns the object of columns, or nil if the model does not have its entity.
  func object(entity: Int64, key: Int64) -> ObjectReference? {
    number(of: EntityID(UInt64(bitPattern: entity))).map { ObjectReference(entity: $0, key: key) }
  }

  /// Returns the number of an entity, or nil if the model does not have it.
  package func number(of entity: EntityID) -> Int? { numbers[entity] }
}

extension StableIdentifier {
  /// The first 8 bytes of the digest.
  var number: UInt64 { digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

extension CompiledSlot {
  /// Whether the value is synchronized: it is stored, not computed, and not the second side of a one-to-one relationship.
  fileprivate func isSynchronized(in model: CompiledModel) -> Bool {
    if isTransient || isDerived { return false }
    guard let relationship, let inverse = model.inverse(of: relationship), !inverse.isToMany else { return true }
    // An object that requires the other one must not be left alone when that is deleted elsewhere.
    let isInverseOptional = model.entities[inverse.sourceEntity].slots[inverse.index].isOptional
    return isOptional == isInverseOptional ? relationship.id <= inverse.id : !isOptional
  }
}

extension MergeRule {
  fileprivate init(_ rule: SyncMergeRule) {
    self =
      switch rule {
      case .latest: .latest
      case .firstWriter: .firstWriter
      case .max: .max
      case .min: .min
      case .union: .union
      case .counter: .counter
      case .custom: .custom
      }
  }
}
