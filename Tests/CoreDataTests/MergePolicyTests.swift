import CoreData
import Foundation
import XCTest

/// Adds the counts of both sides, and leaves the rest to another policy.
class AddingPolicy: NSMergePolicy, @unchecked Sendable {
  var seen: [NSMergeConflict] = []

  override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    for conflict in list {
      seen.append(conflict)
      let stored = (conflict.persistedSnapshot ?? conflict.cachedSnapshot)?["count"] as? Int64 ?? 0
      let mine = conflict.sourceObject.value(forKey: "count") as? Int64 ?? 0
      conflict.sourceObject.setValue(stored + mine, forKey: "count")
    }
    try super.resolve(optimisticLockingConflicts: list)
  }
}

/// Stored objects keep the values that new ones have not set, as in many guides.
class KeepingPolicy: NSMergePolicy, @unchecked Sendable {
  override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    for conflict in list {
      guard let stored = conflict.databaseObject else { return try super.resolve(constraintConflicts: list) }
      let keys = stored.entity.attributesByName.keys
      for object in conflict.conflictingObjects {
        let changed = object.changedValues().keys
        for key in keys where !changed.contains(key) { object.setValue(stored.value(forKey: key), forKey: key) }
        if conflict.constraintValues["key"] as? String == "b" { object.setValue("\(conflict.constraint)", forKey: "note") }
      }
    }
    try super.resolve(constraintConflicts: list)
  }
}

/// Resolves nothing, or throws.
class PlainPolicy: NSMergePolicy, @unchecked Sendable {
  var refusal: CocoaError?
  override func resolve(mergeConflicts list: [Any]) throws { if let refusal { throw refusal } }
}

/// Merge policies of the application resolve conflicts between contexts and of unique values.
final class MergePolicyTests: XCTestCase {
  private static let model: NSManagedObjectModel = {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType) = (name, type)
      return attribute
    }
    let entity = NSEntityDescription()
    entity.name = "Counter"
    entity.properties = [
      attribute("key", .stringAttributeType), attribute("count", .integer64AttributeType), attribute("note", .stringAttributeType),
    ]
    entity.uniquenessConstraints = [["key"]]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    return model
  }()

  private let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
  private lazy var mine = context()
  private lazy var other = context()

  override func setUpWithError() throws {
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
  }

  private func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func insert(_ key: String, count: Int64 = 0, note: String? = nil, into context: NSManagedObjectContext) -> NSManagedObject {
    let counter = NSEntityDescription.insertNewObject(forEntityName: "Counter", into: context)
    counter.setValue(key, forKey: "key")
    counter.setValue(count, forKey: "count")
    if let note { counter.setValue(note, forKey: "note") }
    return counter
  }

  /// A counter that both contexts have changed, from 1 with the note "old".
  private func changedByBoth() throws -> (mine: NSManagedObject, theirs: NSManagedObject) {
    let counter = insert("a", count: 1, note: "old", into: mine)
    try mine.save()
    let theirs = other.object(with: counter.objectID)
    theirs.setValue(5, forKey: "count")
    theirs.setValue("theirs", forKey: "note")
    try other.save()
    counter.setValue(10, forKey: "count")
    return (counter, theirs)
  }

  private func stored() throws -> [String] {
    let context = context()
    let counters = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Counter"))
    // Objects without their context have no values.
    return withExtendedLifetime(context) {
      counters.map { counter in ["key", "count", "note"].map { "\(counter.value(forKey: $0) ?? "none")" }.joined(separator: " ") }.sorted()
    }
  }

  func testPoliciesSetValuesAndDelegateTheRestToTheirType() throws {
    let policy = AddingPolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
    let counter = try changedByBoth().mine
    mine.mergePolicy = policy
    try mine.save()
    XCTAssertEqual(try stored(), ["a 15 theirs"])
    XCTAssertEqual(counter.value(forKey: "count") as? Int64, 15)
    XCTAssertFalse(mine.hasChanges)
    let conflict = try XCTUnwrap(policy.seen.first)
    XCTAssertEqual(policy.seen.count, 1)
    XCTAssertTrue(conflict.sourceObject === counter)
    XCTAssertEqual(conflict.objectSnapshot?["count"] as? Int64, 10)
    XCTAssertEqual(conflict.objectSnapshot?["note"] as? String, "old")
    XCTAssertEqual(conflict.cachedSnapshot?["note"] as? String, "theirs")
    XCTAssertNil(conflict.persistedSnapshot)
    XCTAssertGreaterThan(conflict.newVersionNumber, conflict.oldVersionNumber)
  }

  func testUnresolvedConflictsAreSavedAsInMemory() throws {
    _ = try changedByBoth()
    mine.mergePolicy = PlainPolicy(merge: .errorMergePolicyType)
    try mine.save()
    XCTAssertEqual(try stored(), ["a 10 old"])
  }

  func testSavesRethrowErrorsOfMergePolicies() throws {
    let counter = try changedByBoth().mine
    let policy = PlainPolicy(merge: .rollbackMergePolicyType)
    policy.refusal = CocoaError(.userCancelled)
    mine.mergePolicy = policy
    XCTAssertThrowsError(try mine.save()) { XCTAssertEqual(($0 as NSError).code, CocoaError.userCancelled.rawValue) }
    XCTAssertEqual(try stored(), ["a 5 theirs"])
    XCTAssertEqual(counter.value(forKey: "count") as? Int64, 10)
    XCTAssertEqual(counter.changedValues().keys.sorted(), ["count"])
  }

  func testFailingMergePoliciesLeaveObjectsUnchanged() throws {
    let counter = try changedByBoth().mine
    mine.mergePolicy = AddingPolicy(merge: .errorMergePolicyType)
    XCTAssertThrowsError(try mine.save()) { error in
      XCTAssertEqual((error as NSError).code, NSManagedObjectMergeError)
      let conflicts = (error as NSError).userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
      XCTAssertTrue(conflicts?.first?.sourceObject === counter)
      XCTAssertTrue("\(error)".contains("AddingPolicy"), "\(error)")
    }
    XCTAssertEqual(counter.value(forKey: "count") as? Int64, 10)
    XCTAssertEqual(try stored(), ["a 5 theirs"])
  }

  func testStoredObjectsKeepValuesThatNewObjectsDidNotSet() throws {
    _ = insert("a", count: 1, note: "first", into: mine)
    _ = insert("b", count: 2, note: "second", into: mine)
    try mine.save()
    _ = insert("a", count: 7, into: other)
    _ = insert("b", count: 8, into: other)
    other.mergePolicy = KeepingPolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    try other.save()
    XCTAssertEqual(try stored(), ["a 7 first", "b 8 [\"key\"]"])
  }

  func testErrorsListDuplicateUniqueValues() throws {
    let counter = insert("a", count: 1, into: mine)
    try mine.save()
    let clashing = insert("a", count: 2, into: other)
    XCTAssertThrowsError(try other.save()) { error in
      XCTAssertEqual((error as NSError).code, NSManagedObjectConstraintMergeError)
      let conflict = ((error as NSError).userInfo["conflictList"] as? [NSConstraintConflict])?.first
      XCTAssertEqual(conflict?.constraint, ["key"])
      XCTAssertEqual(conflict?.constraintValues as? [String: String], ["key": "a"])
      XCTAssertEqual(conflict?.databaseObject?.objectID, counter.objectID)
      XCTAssertEqual(conflict?.databaseSnapshot?["count"] as? Int64, 1)
      XCTAssertTrue(conflict?.conflictingObjects.first === clashing)
      XCTAssertEqual(conflict?.conflictingSnapshots.first?["count"] as? Int64, 2)
    }
  }

  func testPoliciesCanDelegateConflictsToOthers() throws {
    final class Choosing: NSMergePolicy, @unchecked Sendable {
      override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
        for conflict in list {
          let policy: NSMergePolicy = conflict.sourceObject.value(forKey: "key") as? String == "a" ? .rollback : .overwrite
          try policy.resolve(optimisticLockingConflicts: [conflict])
        }
      }
    }
    _ = try changedByBoth()
    mine.mergePolicy = Choosing(merge: .errorMergePolicyType)
    try mine.save()
    XCTAssertEqual(try stored(), ["a 5 theirs"])
  }
}
