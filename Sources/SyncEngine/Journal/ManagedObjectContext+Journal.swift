import Foundation
package import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore

extension ManagedObjectContext {
  /// Gives an object the values of an entry of the journal again, and saves the context. The save is sent like any other one.
  ///
  /// A deleted object is inserted again, as a new object with all values that it had. Objects that it requires are restored too, if they are
  /// deleted and the journal has them.
  /// - Parameter replica: The store of the journal.
  /// - Returns: The object that has the values now.
  /// - Throws: ``SyncError`` with `notRestorable` if the journal does not have the entry, or if the object, or one that it requires, is
  ///   deleted; errors of saving, such as those of validation. Nothing is changed then.
  package func restore(_ number: Int64, from replica: StoreReplica) throws -> ManagedObject {
    var restoration = JournalRestoration(self, replica)
    do {
      let object = try restoration.restore(number)
      try save()
      try replica.transaction {
        for (number, object) in restoration.restored { try replica.setRestored(number, in: object.objectID.reference) }
      }
      return object
    } catch {
      rollback()
      throw error
    }
  }
}

/// Changes of a context that restore values.
private struct JournalRestoration {
  private let context: ManagedObjectContext
  private let replica: StoreReplica
  /// The objects that have values of entries again.
  private(set) var restored: [Int64: ManagedObject] = [:]
  private var begun: Set<Int64> = []

  init(_ context: ManagedObjectContext, _ replica: StoreReplica) { (self.context, self.replica) = (context, replica) }

  mutating func restore(_ number: Int64) throws -> ManagedObject {
    guard let item = try replica.journal(number, includesRestored: true).first else {
      throw SyncError(.noJournalEntry(number), path: replica.path)
    }
    if item.restoredID != nil { throw SyncError(.restoredAlready(number), path: replica.path) }
    begun.insert(number)
    let object: ManagedObject
    if let existing = try item.objectID.flatMap({ try existingObject($0) }) {
      object = existing
      if let name = item.largePropertyNames.min() { throw SyncError(.largeValueLost(item.entityName, name), path: replica.path) }
      for name in item.propertyNames { try restore(name, item.values, in: object) }
    } else {
      guard let values = item.object else {
        throw SyncError(.deletedSince(item.entityName, item.stableID.uuidString.lowercased()), path: replica.path)
      }
      object = try context.insertObject(entityName: item.entityName)
      try context.assign(object, to: replica.store)
      for name in values.names { try restore(name, values, in: object) }
    }
    restored[number] = object
    return object
  }

  private func existingObject(_ id: ManagedObjectID) throws -> ManagedObject? {
    do { return try context.existingObject(with: id) } catch let error as StoreError where error.code == .objectNotFound { return nil }
  }

  private mutating func restore(_ name: String, _ values: RecordedValues, in object: ManagedObject) throws {
    let entity = object.compiledEntity
    guard let slot = entity.slots.first(where: { $0.name == name }) else { return }
    if slot.relationship == nil {
      if case .attribute(let value) = values.values[name] ?? .attribute(.null) { object.setSlotValue(value, at: slot.index) }
      return
    }
    var destination: ManagedObject?
    if case .object(let id?) = values.values[name] {
      destination = try existingObject(id) ?? replacement(of: id, isRequired: !slot.isOptional)
      if destination == nil, !slot.isOptional { throw SyncError(.destinationDeleted(entity.name, name), path: replica.path) }
    }
    try object.setValue(destination, forKey: name)
  }

  /// Returns the object that has the values of a deleted object again, or restores it if that is required.
  private mutating func replacement(of id: ManagedObjectID, isRequired: Bool) throws -> ManagedObject? {
    if let restored = try replica.restoredObject(of: id) { return try existingObject(restored) }
    guard let number = try replica.journalEntry(ofDeletedObject: id) else { return nil }
    if let object = restored[number] { return object }
    return isRequired && !begun.contains(number) ? try restore(number) : nil
  }
}

extension SyncError.Reason {
  fileprivate static func noJournalEntry(_ number: Int64) -> Self {
    Self(.notRestorable, "The journal has no entry \(number). List the entries to see their numbers.")
  }

  fileprivate static func restoredAlready(_ number: Int64) -> Self {
    Self(.notRestorable, "The values of entry \(number) were restored already.")
  }

  fileprivate static func deletedSince(_ entity: String, _ id: String) -> Self {
    Self(.notRestorable, "The object of the entity \(entity) with the stable ID \(id) was deleted since, so its values cannot be restored.")
  }

  fileprivate static func largeValueLost(_ entity: String, _ property: String) -> Self {
    Self(.notRestorable, "The value of \(entity).\(property) that has lost was large. The journal does not keep such values.")
  }

  fileprivate static func destinationDeleted(_ entity: String, _ property: String) -> Self {
    Self(.notRestorable, "The object requires \(entity).\(property), which is deleted, and the journal does not have that object.")
  }
}
