// NSPersistentHistoryTransaction: what the histories of stores tell, as objects.
public import Foundation
import ObjectContext
public import ObjectModel
package import ObjectStore

/// What was done to an object.
public enum NSPersistentHistoryChangeType: Int, Sendable {
  /// It was inserted.
  case insert
  /// It was changed.
  case update
  /// It was deleted.
  case delete
}

/// What was done to an object in a transaction.
public final class NSPersistentHistoryChange: NSObject, @unchecked Sendable {  // it never changes
  /// The place of the change in its transaction.
  public let changeID: Int64
  /// The object.
  public let changedObjectID: NSManagedObjectID
  /// What was done.
  public let changeType: NSPersistentHistoryChangeType
  /// Of a deletion the values that the model keeps.
  public let tombstone: [AnyHashable: Any]?
  /// The transaction.
  public private(set) weak var transaction: NSPersistentHistoryTransaction?
  private let names: [String]

  init(_ change: PersistentHistoryChange, of transaction: NSPersistentHistoryTransaction?) {
    changeID = Int64(change.id.index)
    changedObjectID = change.changedObjectID
    changeType =
      switch change.changeType {
      case .insert: .insert
      case .update: .update
      case .delete: .delete
      }
    tombstone = change.tombstone.map { kept in
      Dictionary(uniqueKeysWithValues: kept.names.compactMap { name in kept[name].map { (AnyHashable(name), $0 as Any) } })
    }
    names = change.updatedProperties
    self.transaction = transaction
  }

  /// Of an update the properties that were changed.
  public var updatedProperties: Set<NSPropertyDescription>? {
    guard changeType == .update else { return nil }
    let entity = UsedModels.entity(of: changedObjectID)
    return Set(names.compactMap { entity?.propertiesByName[$0] })
  }
}

/// What was written to a store at once.
public final class NSPersistentHistoryTransaction: NSObject, @unchecked Sendable {  // it never changes once it is made
  package let transaction: PersistentHistoryTransaction
  /// What was done; nil where it was not asked for.
  public private(set) var changes: [NSPersistentHistoryChange]?

  init(_ transaction: PersistentHistoryTransaction) {
    self.transaction = transaction
    super.init()
    changes = transaction.changes.map { $0.map { NSPersistentHistoryChange($0, of: self) } }
  }

  /// When it was written.
  public var timestamp: Date { transaction.timestamp }
  /// The transaction's number in its store.
  public var transactionNumber: Int64 { transaction.transactionNumber }
  /// The store's identifier.
  public var storeID: String { transaction.storeIdentifier }
  /// The program.
  public var bundleID: String { transaction.bundleID }
  /// The process.
  public var processID: String { transaction.processID }
  /// The name of the context that has saved.
  public var contextName: String? { transaction.contextName }
  /// The author that the context named.
  public var author: String? { transaction.author }
  /// The place behind it.
  public var token: NSPersistentHistoryToken { NSPersistentHistoryToken(transaction.token) }

  /// The transaction as a notification that ``NSManagedObjectContext/mergeChanges(fromContextDidSave:)`` takes.
  public func objectIDNotification() -> Notification {
    let set = transaction.changeSet
    var info: [AnyHashable: Any] = [:]
    if !set.inserted.isEmpty { info[AnyHashable(NSInsertedObjectIDsKey)] = Set(set.inserted) }
    if !set.updated.isEmpty { info[AnyHashable(NSUpdatedObjectIDsKey)] = Set(set.updated) }
    if !set.deleted.isEmpty { info[AnyHashable(NSDeletedObjectIDsKey)] = Set(set.deleted) }
    return Notification(name: NSManagedObjectContext.didSaveObjectIDsNotification, object: nil, userInfo: info)
  }
}
