import Foundation
package import SyncCore

/// Values that functions of the application could not merge.
extension StoreReplica {
  /// The records with such values, so that they are merged as soon as the functions can be used.
  private struct Unmerged: Codable {
    static let name = "unmerged"
    /// The greatest number of records. If there are more, all records are looked through.
    static let maximumCount = 1_000

    var ids: Set<UUID> = []
    var isComplete = true
  }

  package func noteUnmerged(_ value: UnmergedValue) throws {
    running.unmerged.insert(value)
    var unmerged = try storedUnmerged() ?? Unmerged()
    if !unmerged.isComplete || unmerged.ids.contains(value.id.uuid) { return }
    unmerged.isComplete = unmerged.ids.count < Unmerged.maximumCount
    if unmerged.isComplete { unmerged.ids.insert(value.id.uuid) }
    try store(try JSONEncoder().encode(unmerged), as: Unmerged.name)
  }

  private func storedUnmerged() throws -> Unmerged? {
    try storedValue(Unmerged.name).map { try JSONDecoder().decode(Unmerged.self, from: $0) }
  }

  /// Merges values again, if the application has registered functions: another program had none, or the functions have failed.
  func mergeAgain(batch: Int) throws {
    guard schema.syncModel.hasFunctions, let unmerged = try storedUnmerged() else { return }
    let isAnyRegistered = schema.syncModel.entities.contains { id, entity in
      entity.functions.keys.contains { schema.isFunctionRegistered(for: $0, of: id) }
    }
    if !isAnyRegistered { return }
    try removeValue(Unmerged.name)
    let state = try VisibleState(schema.syncModel, in: self, batch: batch)
    if unmerged.isComplete { try state.update(unmerged.ids.map { RecordID($0) }.sorted()) } else { try state.updateAll() }
  }
}

extension SyncModel {
  /// Returns the value that an object has for a field, apart from references.
  func shownValue(of field: Field, of entity: EntityID) -> FieldValue {
    field.rule == .custom ? value(of: field, of: entity) : field.value.resolved
  }
}
