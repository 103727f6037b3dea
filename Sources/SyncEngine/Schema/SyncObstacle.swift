import ObjectModel
import ObjectStore

/// A part of a model that is not synchronized yet, so that a store with it is refused.
package struct SyncObstacle: Sendable, Hashable, CustomStringConvertible {
  package enum Reason: String, Sendable, Hashable, CaseIterable {
    case unique, colliding

    /// What the part of the model is.
    package var explanation: String {
      switch self {
      case .unique: "a uniqueness constraint over a computed value or an attribute with a merge rule"
      case .colliding: "a name whose digest equals that of another property"
      }
    }
  }

  package let entity: String
  /// The name of the property, or the names of the properties of a constraint.
  package let property: String
  package let reason: Reason

  package var description: String { "\(entity).\(property): \(reason.explanation)" }
}

extension SyncSchema {
  /// Throws ``SyncError`` with what stands in the way of synchronizing the model.
  package func check(path: String? = nil) throws(SyncError) {
    let obstacles = obstacles
    if !obstacles.isEmpty { throw SyncError(.unsupportedModel(obstacles.map(\.description)), path: path) }
  }

  /// What stands in the way of synchronizing the model, in the order of its entities; empty if it can be synchronized.
  package var obstacles: [SyncObstacle] { model.entities.flatMap(obstacles) }

  private func obstacles(_ entity: CompiledEntity) -> [SyncObstacle] {
    func obstacle(_ property: String, _ reason: SyncObstacle.Reason) -> SyncObstacle {
      SyncObstacle(entity: entity.name, property: property, reason: reason)
    }
    var found: [SyncObstacle] = []
    let inherited = entity.parent.map { model.entities[$0].uniquenessConstraints } ?? []
    let synchronized = SyncSchema.uniqueConstraints(of: entity, in: model, entities).map(\.declared.names)
    for constraint in entity.uniquenessConstraints where !inherited.contains(constraint) {
      if synchronized.contains(constraint.map { entity.slots[$0].name }) { continue }
      found.append(obstacle(constraint.map { entity.slots[$0].name }.joined(separator: ", "), .unique))
    }
    let synced = entities[entity.number]
    for (position, property) in synced.properties.enumerated() where synced.positionsByID[property.id] != position {
      found.append(obstacle(entity.slots[property.slot].name, .colliding))
    }
    return found
  }
}
