import Foundation
import ObjectModel

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
