public import Foundation
import ObjectContext
import ObjectStore

/// The type of a batch insert's result.
public enum NSBatchInsertRequestResultType: UInt, Sendable {
  /// Whether the request succeeded.
  case statusOnly
  /// The IDs of the inserted objects.
  case objectIDs
  /// The number of inserted objects.
  case count
}

/// A request that atomically inserts rows without creating objects.
///
/// The context's merge policy resolves violations of uniqueness constraints. With ``NSMergePolicy/mergeByPropertyObjectTrump``, the stored
/// objects take the row's values. With ``NSMergePolicy/overwrite``, they are replaced. With ``NSMergePolicy/mergeByPropertyStoreTrump`` and
/// ``NSMergePolicy/rollback``, the rows are skipped. With ``NSMergePolicy/error``, the request fails.
open class NSBatchInsertRequest: NSPersistentStoreRequest {
  /// The entity's name.
  public let entityName: String
  /// The entity.
  public let entity: NSEntityDescription?
  /// The rows: dictionaries of values by property name.
  public var objectsToInsert: [[String: Any]]?
  /// A closure that fills a row and returns false, or returns true if there are no more rows.
  public var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
  /// A closure that fills an object without a context and returns false, or returns true if there are no more rows.
  public var managedObjectHandler: ((NSManagedObject) -> Bool)?
  /// The type of the result.
  public var resultType = NSBatchInsertRequestResultType.statusOnly

  private init(
    _ name: String, _ entity: NSEntityDescription?, _ objects: [[String: Any]]? = nil, _ dictionary: ((NSMutableDictionary) -> Bool)? = nil,
    _ object: ((NSManagedObject) -> Bool)? = nil
  ) {
    (entityName, self.entity, objectsToInsert, dictionaryHandler, managedObjectHandler) = (name, entity, objects, dictionary, object)
  }

  /// Creates a request that inserts rows given as dictionaries.
  public convenience init(entityName: String, objects dictionaries: [[String: Any]]) { self.init(entityName, nil, dictionaries) }
  /// Creates a request that inserts rows given as dictionaries.
  public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
    self.init(entity.name ?? "", entity, dictionaries)
  }
  /// Creates a request that inserts rows that a closure fills one at a time.
  public convenience init(entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.init(entityName, nil, nil, handler)
  }
  /// Creates a request that inserts rows that a closure fills one at a time.
  public convenience init(entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.init(entity.name ?? "", entity, nil, handler)
  }
  /// Creates a request that inserts rows that a closure fills one at a time through an object's properties.
  public convenience init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entityName, nil, nil, nil, handler)
  }
  /// Creates a request that inserts rows that a closure fills one at a time through an object's properties.
  public convenience init(entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entity.name ?? "", entity, nil, nil, handler)
  }

  /// The batch insert request type.
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

  /// Returns a row with objects replaced by their IDs.
  private static func row(_ values: [String: Any]) -> [String: Any] {
    values.mapValues { ManagedValue.unlinked(ManagedValue.taken($0)) ?? NSNull() }
  }
}

extension NSManagedObject {
  /// Returns the rows that a closure fills through the properties of an object of the class.
  fileprivate class func rows(
    filledBy handler: @escaping (NSManagedObject) -> Bool, _ onConflict: BatchConflictPolicy
  ) -> BatchInsertRequest {
    BatchInsertRequest(Self.self, onConflict: onConflict) { handler($0) }
  }
}

/// The result of a batch insert.
open class NSBatchInsertResult: NSPersistentStoreResult {
  /// The type of the result.
  public let resultType: NSBatchInsertRequestResultType
  /// The result: a `Bool` for success, an array of ``NSManagedObjectID``s, or the number of objects as an `Int`.
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
