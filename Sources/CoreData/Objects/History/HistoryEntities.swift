// HistoryEntities: what requests for histories are about, as entities.
import Foundation
import ObjectModel

/// The entities that conditions about histories name.
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
  /// A request for transactions, for ``NSPersistentHistoryChangeRequest/fetchHistory(withFetch:)``: its condition is about `author`, `contextName`, `timestamp`, `token` (the number), `bundleID`,
  /// `processID` and `storeID`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? { NSFetchRequest(entityName: "Transaction") }

  /// What a condition about transactions can name, as an entity, which no model has.
  public class var entityDescription: NSEntityDescription? {
    HistoryEntities.make(
      "Transaction",
      [
        ("author", .stringAttributeType), ("contextName", .stringAttributeType), ("timestamp", .dateAttributeType),
        ("token", .integer64AttributeType), ("bundleID", .stringAttributeType), ("processID", .stringAttributeType),
        ("storeID", .stringAttributeType),
      ])
  }

  /// What a condition about transactions can name, as an entity, which no model has; it is the same for all contexts.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? { entityDescription }
}

extension NSPersistentHistoryChange {
  /// A request for changes, for ``NSPersistentHistoryChangeRequest/fetchHistory(withFetch:)``: its condition is about `object` (the URI), `entity`, `changeType` (`insert`, `update`, `delete`) and `properties`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? { NSFetchRequest(entityName: "Change") }

  /// What a condition about changes can name, as an entity, which no model has.
  public class var entityDescription: NSEntityDescription? {
    HistoryEntities.make(
      "Change",
      [
        ("object", .URIAttributeType), ("entity", .stringAttributeType), ("changeType", .stringAttributeType),
        ("properties", .stringAttributeType),
      ])
  }

  /// What a condition about changes can name, as an entity, which no model has; it is the same for all contexts.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? { entityDescription }
}
