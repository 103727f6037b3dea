// NSBatchInsertRequest: many new rows without objects.
public import Foundation
import ObjectContext
import ObjectStore

/// What a batch insertion returns.
public enum NSBatchInsertRequestResultType: UInt, Sendable {
  /// That it succeeded.
  case statusOnly
  /// Which objects there are now.
  case objectIDs
  /// How many.
  case count
}

/// The insertion of many rows without objects, all of them or none.
///
/// The merge policy of the context that executes it says what becomes of rows whose unique values are taken: with ``NSMergePolicy/mergeByPropertyObjectTrump`` the stored objects take their values,
/// with ``NSMergePolicy/overwrite`` they are replaced, with ``NSMergePolicy/mergeByPropertyStoreTrump`` and ``NSMergePolicy/rollback`` the rows are passed over, and with ``NSMergePolicy/error`` the request fails.
open class NSBatchInsertRequest: NSPersistentStoreRequest {
  /// The entity's name.
  public let entityName: String
  /// The entity.
  public let entity: NSEntityDescription?
  /// The rows: values by the names of properties.
  public var objectsToInsert: [[String: Any]]?
  /// Fills a row and returns false; returns true when there are no more.
  public var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
  /// Fills an object, which is in no context, and returns false; returns true when there are no more.
  public var managedObjectHandler: ((NSManagedObject) -> Bool)?
  /// What is returned.
  public var resultType = NSBatchInsertRequestResultType.statusOnly

  private init(
    _ name: String, _ entity: NSEntityDescription?, _ objects: [[String: Any]]? = nil, _ dictionary: ((NSMutableDictionary) -> Bool)? = nil,
    _ object: ((NSManagedObject) -> Bool)? = nil
  ) {
    (entityName, self.entity, objectsToInsert, dictionaryHandler, managedObjectHandler) = (name, entity, objects, dictionary, object)
  }

  /// Inserts rows given as dictionaries.
  public convenience init(entityName: String, objects dictionaries: [[String: Any]]) { self.init(entityName, nil, dictionaries) }
  /// Inserts rows given as dictionaries.
  public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
    self.init(entity.name ?? "", entity, dictionaries)
  }
  /// Inserts rows that a closure fills, one after the other.
  public convenience init(entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.init(entityName, nil, nil, handler)
  }
  /// Inserts rows that a closure fills, one after the other.
  public convenience init(entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.init(entity.name ?? "", entity, nil, handler)
  }
  /// Inserts rows that a closure fills by the properties of an object, one after the other.
  public convenience init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entityName, nil, nil, nil, handler)
  }
  /// Inserts rows that a closure fills by the properties of an object, one after the other.
  public convenience init(entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entity.name ?? "", entity, nil, nil, handler)
  }

  /// That rows are inserted.
  public override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }

  func value(in context: ManagedObjectContext, _ policy: NSMergePolicy) -> BatchInsertRequest {
    let onConflict: BatchConflictPolicy =
      switch policy.mergeType {
      case .errorMergePolicyType: .error
      case .mergeByPropertyObjectTrumpMergePolicyType: .update()
      case .overwriteMergePolicyType: .replace
      case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType: .ignore
      }
    var value = rows(in: context, onConflict)
    value.affectedStores = storeIdentifiers
    value.resultType =
      switch resultType {
      case .statusOnly: .statusOnly
      case .objectIDs: .objectIDs
      case .count: .count
      }
    return value
  }

  private func rows(in context: ManagedObjectContext, _ onConflict: BatchConflictPolicy) -> BatchInsertRequest {
    if let managedObjectHandler {
      let type = context.classes.type(of: entityName) as? NSManagedObject.Type ?? NSManagedObject.self
      return type.rows(filledBy: managedObjectHandler, onConflict).named(entityName)
    }
    if let dictionaryHandler {
      return BatchInsertRequest(entityName: entityName, onConflict: onConflict) { row in
        let filled = NSMutableDictionary()
        if dictionaryHandler(filled) { return true }
        row = Self.row(filled)
        return false
      }
    }
    return BatchInsertRequest(entityName: entityName, objects: (objectsToInsert ?? []).map(Self.row), onConflict: onConflict)
  }

  private static func row(_ values: NSDictionary) -> [String: Any] {
    var row: [String: Any] = [:]
    for (key, value) in values { row["\(key)"] = value }
    return Self.row(row)
  }

  /// Objects stand for their IDs.
  private static func row(_ values: [String: Any]) -> [String: Any] {
    values.mapValues { ManagedValue.unlinked(ManagedValue.taken($0)) ?? NSNull() }
  }
}

extension NSManagedObject {
  /// Rows that a closure fills by the properties of an object of the class.
  fileprivate class func rows(
    filledBy handler: @escaping (NSManagedObject) -> Bool, _ onConflict: BatchConflictPolicy
  ) -> BatchInsertRequest {
    BatchInsertRequest(Self.self, onConflict: onConflict) { handler($0) }
  }
}

/// What a batch insertion has done.
open class NSBatchInsertResult: NSPersistentStoreResult {
  /// What was asked for.
  public let resultType: NSBatchInsertRequestResultType
  /// Whether it succeeded, the IDs of the objects, or their number: a `Bool`, an array of ``NSManagedObjectID``s or an `Int`.
  public let result: Any?

  init(_ type: NSBatchInsertRequestResultType, _ result: BatchResult) {
    resultType = type
    self.result =
      switch type {
      case .statusOnly: true
      case .objectIDs: result.objectIDs
      case .count: result.count
      }
  }
}
