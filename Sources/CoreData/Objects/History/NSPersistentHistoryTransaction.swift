public import Foundation
import ObjectContext
public import ObjectModel
package import ObjectStore

/// The kind of a change to an object.
public enum NSPersistentHistoryChangeType: Int, Sendable {
  /// The object was inserted.
  case insert
  /// The object was updated.
  case update
  /// The object was deleted.
  case delete
}

/// A change to an object in a transaction.
public final class NSPersistentHistoryChange: NSObject, @unchecked Sendable {  // immutable
  /// The number of the change in its transaction.
  public let changeID: Int64
  /// The changed object.
  public let changedObjectID: NSManagedObjectID
  /// The kind of change.
  public let changeType: NSPersistentHistoryChangeType
  /// For a deletion, the values of the attributes that the model preserves.
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

  /// For an update, the changed properties.
  public var updatedProperties: Set<NSPropertyDescription>? {
    guard changeType == .update else { return nil }
    let entity = UsedModels.entity(of: changedObjectID)
    return Set(names.compactMap { entity?.propertiesByName[$0] })
  }
}

/// A transaction in the history of a store.
public final class NSPersistentHistoryTransaction: NSObject, @unchecked Sendable {  // immutable after creation
  package let transaction: PersistentHistoryTransaction
  /// The changes; nil if they were not fetched.
  public private(set) var changes: [NSPersistentHistoryChange]?

  init(_ transaction: PersistentHistoryTransaction) {
    self.transaction = transaction
    super.init()
    changes = transaction.changes.map { $0.map { NSPersistentHistoryChange($0, of: self) } }
  }

  /// The time of the commit.
  public var timestamp: Date { transaction.timestamp }
  /// The transaction's number in its store.
  public var transactionNumber: Int64 { transaction.transactionNumber }
  /// The store's identifier.
  public var storeID: String { transaction.storeIdentifier }
  /// The identifier of the program.
  public var bundleID: String { transaction.bundleID }
  /// The identifier of the process.
  public var processID: String { transaction.processID }
  /// The name of the context that saved.
  public var contextName: String? { transaction.contextName }
  /// The transaction author of the context.
  public var author: String? { transaction.author }
  /// The position after the transaction.
  public var token: NSPersistentHistoryToken { NSPersistentHistoryToken(transaction.token) }

  /// Returns a notification for ``NSManagedObjectContext/mergeChanges(fromContextDidSave:)``.
  public func objectIDNotification() -> Notification {
    let set = transaction.changeSet
    var info: [AnyHashable: Any] = [:]
    if !set.inserted.isEmpty { info[AnyHashable(NSInsertedObjectIDsKey)] = Set(set.inserted) }
    if !set.updated.isEmpty { info[AnyHashable(NSUpdatedObjectIDsKey)] = Set(set.updated) }
    if !set.deleted.isEmpty { info[AnyHashable(NSDeletedObjectIDsKey)] = Set(set.deleted) }
    return Notification(name: NSManagedObjectContext.didSaveObjectIDsNotification, object: nil, userInfo: info)
  }
}

/// The entities that predicates for history requests use.
private enum HistoryEntities {
  static func make(_ name: String, _ attributes: [(String, NSAttributeType)]) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = attributes.map { name, type in
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType) = (name, type)
      return attribute
    }
    return entity
  }
}

extension NSPersistentHistoryTransaction {
  /// A request for transactions, to be used with ``NSPersistentHistoryChangeRequest/fetchHistory(withFetch:)``.
  ///
  /// Its predicate can use `author`, `contextName`, `timestamp`, `token` (the number), `bundleID`, `processID` and `storeID`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? { NSFetchRequest(entityName: "Transaction") }

  /// The entity of transactions, for predicates. It belongs to no model.
  public class var entityDescription: NSEntityDescription? {
    HistoryEntities.make(
      "Transaction",
      [
        ("author", .stringAttributeType), ("contextName", .stringAttributeType), ("timestamp", .dateAttributeType),
        ("token", .integer64AttributeType), ("bundleID", .stringAttributeType), ("processID", .stringAttributeType),
        ("storeID", .stringAttributeType),
      ])
  }

  /// Returns the entity of transactions, for predicates. It belongs to no model and is the same for all contexts.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? { entityDescription }
}

extension NSPersistentHistoryChange {
  /// A request for changes, to be used with ``NSPersistentHistoryChangeRequest/fetchHistory(withFetch:)``.
  ///
  /// Its predicate can use `object` (the URI), `entity`, `changeType` (`insert`, `update`, `delete`) and `properties`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? { NSFetchRequest(entityName: "Change") }

  /// The entity of changes, for predicates. It belongs to no model.
  public class var entityDescription: NSEntityDescription? {
    HistoryEntities.make(
      "Change",
      [
        ("object", .URIAttributeType), ("entity", .stringAttributeType), ("changeType", .stringAttributeType),
        ("properties", .stringAttributeType),
      ])
  }

  /// Returns the entity of changes, for predicates. It belongs to no model and is the same for all contexts.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? { entityDescription }
}
