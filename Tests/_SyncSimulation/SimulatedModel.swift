import SyncCore

/// A random model: some entities with attributes, and required and optional to-one relationships between them, some of them one-to-one.
struct SimulatedModel {
  struct Reference {
    let property: PropertyID
    /// The number of the destination's entity.
    let destination: Int
    let isRequired: Bool
    /// Whether it is one-to-one.
    let isExclusive: Bool
  }

  struct Entity {
    let id: EntityID
    /// An attribute that identifies the object: no two insertions have the same value, and it never changes.
    let serial: PropertyID
    let attributes: [PropertyID]
    let references: [Reference]
  }
  let entities: [Entity]
  let syncModel: SyncModel

  /// - Parameter hasManyClaims: Whether most relationships are one-to-one.
  init(_ random: inout SimulationRandom, hasManyClaims: Bool) {
    var entities: [Entity] = []
    for number in 0..<(2 + random.number(below: hasManyClaims ? 1 : 3)) {
      let attributes = (0...random.number(below: 3)).map { PropertyID(UInt64(number * 100 + $0)) }
      var references: [Reference] = []
      for index in 0..<(number == 0 ? random.number(below: 2) : 1 + random.number(below: 2)) {
        // Only earlier entities are required, so that there can be a first object.
        let isRequired = number > 0 && random.chance(hasManyClaims ? 0.5 : 0.7)
        let destination = random.number(below: isRequired ? number : number + 1)
        references.append(
          Reference(
            property: PropertyID(UInt64(number * 100 + 50 + index)), destination: destination, isRequired: isRequired,
            isExclusive: random.chance(hasManyClaims ? 0.9 : 0.5)))
      }
      entities.append(
        Entity(
          id: EntityID(UInt64(number)), serial: PropertyID(UInt64(number * 100 + 49)), attributes: attributes, references: references))
    }
    self.entities = entities
    syncModel = SyncModel(
      entities: Dictionary(
        uniqueKeysWithValues: entities.map { entity in
          (
            entity.id,
            SyncModel.Entity(
              references: Dictionary(uniqueKeysWithValues: entity.references.map { ($0.property, $0.isRequired) }),
              exclusive: Set(entity.references.filter(\.isExclusive).map(\.property)))
          )
        }))
  }

  /// Returns an earlier version of the model, which lacks an entity.
  func earlierVersion(without number: Int) -> SyncModel {
    SyncModel(entities: syncModel.entities.filter { $0.key != entities[number].id })
  }

  func entity(_ id: EntityID) -> Entity { entities[Int(id.value)] }

  /// Returns which object a state or a change belongs to, or nil if it does not say.
  func serial(_ entity: EntityID, _ values: [PropertyID: FieldValue]) -> Int64? {
    if case .integer(let serial)? = values[self.entity(entity).serial] { serial } else { nil }
  }
}
