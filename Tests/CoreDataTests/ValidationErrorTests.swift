import CoreData
import Foundation
import XCTest

/// A class with its own validation, which throws `NSError`s as in applications.
class Parcel: NSManagedObject {
  static let domain = "ParcelDomain"
  @NSManaged var code: String?
  @NSManaged var weight: Int32

  override func validateForInsert() throws {
    try super.validateForInsert()
    try checkRules()
  }

  override func validateForUpdate() throws {
    try super.validateForUpdate()
    try checkRules()
  }

  override func validateForDelete() throws {
    try super.validateForDelete()
    if code == "sealed" { throw NSError(domain: Self.domain, code: 3) }
  }

  private func checkRules() throws {
    if code == "heavy", weight < 10 {
      throw NSError(domain: Self.domain, code: 1, userInfo: [NSLocalizedDescriptionKey: "a heavy parcel weighs 10 and more"])
    }
    if code == "lost" {
      throw NSError(
        domain: NSCocoaErrorDomain, code: NSValidationMultipleErrorsError,
        userInfo: [NSDetailedErrorsKey: [NSError(domain: Self.domain, code: 4), NSError(domain: Self.domain, code: 5)]])
    }
  }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    if key == "code", value as? String == "bad" { throw NSError(domain: Self.domain, code: 2) }
    try super.validateValue(&value, forKey: key)
  }

  override class var keysWithCustomValidation: [String] { ["code"] }
}

/// Validation errors have Core Data's codes and user info: the object, its property, and the errors of several properties.
final class ValidationErrorTests: XCTestCase {
  private static let model: NSManagedObjectModel? = {
    let contents = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift" userDefinedModelVersionIdentifier="">
        <entity name="Bounded" representedClassName="NSManagedObject" syncable="YES">
          <attribute name="count" optional="YES" attributeType="Integer 32" minValueString="2" maxValueString="9" usesScalarValueType="NO"/>
          <attribute name="ratio" optional="YES" attributeType="Double" minValueString="0.5" maxValueString="1.5" usesScalarValueType="NO"/>
          <attribute name="price" optional="YES" attributeType="Decimal" minValueString="1" maxValueString="100"/>
          <attribute name="due" optional="YES" attributeType="Date" minDateTimeInterval="0" maxDateTimeInterval="1000" usesScalarValueType="NO"/>
          <attribute name="label" optional="YES" attributeType="String" minValueString="2" maxValueString="5"/>
          <attribute name="pattern" optional="YES" attributeType="String" regularExpressionString="[a-z]+"/>
          <attribute name="number" attributeType="Integer 64" usesScalarValueType="NO"/>
          <relationship name="parts" optional="YES" toMany="YES" minCount="2" maxCount="3" deletionRule="Deny" destinationEntity="Part" inverseName="owner" inverseEntity="Part"/>
        </entity>
        <entity name="Parcel" representedClassName="CoreDataTests.Parcel" syncable="YES">
          <attribute name="code" optional="YES" attributeType="String"/>
          <attribute name="weight" optional="YES" attributeType="Integer 32" defaultValueString="0" usesScalarValueType="YES"/>
        </entity>
        <entity name="Part" representedClassName="NSManagedObject" syncable="YES">
          <attribute name="name" attributeType="String"/>
          <relationship name="owner" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Bounded" inverseName="parts" inverseEntity="Bounded"/>
          <relationship name="holder" maxCount="1" deletionRule="Nullify" destinationEntity="Holder" inverseName="held" inverseEntity="Holder"/>
        </entity>
        <entity name="Holder" representedClassName="NSManagedObject" syncable="YES">
          <relationship name="held" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Part" inverseName="holder" inverseEntity="Part"/>
        </entity>
      </model>
      """
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bounded-\(UUID().uuidString)")
    let bundle = folder.appendingPathComponent("Bounded.xcdatamodel")
    defer { try? FileManager.default.removeItem(at: folder) }
    try? FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
    try? Data(contents.utf8).write(to: bundle.appendingPathComponent("contents"))
    return NSManagedObjectModel(contentsOf: bundle)
  }()

  private func makeContext() throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try XCTUnwrap(Self.model))
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func insert(_ name: String, _ values: [String: Any] = [:], into context: NSManagedObjectContext) -> NSManagedObject {
    let object = NSEntityDescription.insertNewObject(forEntityName: name, into: context)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  /// Returns the error that `work` throws, caught as in applications.
  private func caught(_ work: () throws -> Void, file: StaticString = #filePath, line: UInt = #line) throws -> NSError {
    do { try work() } catch let error as NSError { return error }
    XCTFail("nothing is thrown", file: file, line: line)
    throw CancellationError()
  }

  /// Asserts the code, property and object of a validation error.
  private func assert(
    _ error: NSError?, _ code: Int, _ key: String?, of object: NSManagedObject, _ message: String = "", file: StaticString = #filePath,
    line: UInt = #line
  ) {
    XCTAssertEqual(error?.domain, NSCocoaErrorDomain, message, file: file, line: line)
    XCTAssertEqual(error?.code, code, message, file: file, line: line)
    XCTAssertEqual(error?.userInfo[NSValidationKeyErrorKey] as? String, key, message, file: file, line: line)
    XCTAssertTrue(error?.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === object, message, file: file, line: line)
  }

  func testAMissingValueNamesItsObjectAndProperty() throws {
    let context = try makeContext()
    let object = insert("Bounded", into: context)
    for throwing in [{ try context.save() }, { try object.validateForInsert() }] {
      let error = try caught(throwing)
      assert(error, NSValidationMissingMandatoryPropertyError, "number", of: object)
      XCTAssertNil(error.userInfo[NSDetailedErrorsKey])
      XCTAssertFalse(error.localizedDescription.isEmpty)
    }
    var nothing: Any?
    assert(
      try caught { try object.validateValue(&nothing, forKey: "number") }, NSValidationMissingMandatoryPropertyError, "number", of: object)
    object.setValue(1, forKey: "number")
    try context.save()
    object.setValue(nil, forKey: "number")
    for throwing in [{ try context.save() }, { try object.validateForUpdate() }] {
      assert(try caught(throwing), NSValidationMissingMandatoryPropertyError, "number", of: object)
    }
    // Objects outside of a context are validated the same way.
    let free = NSManagedObject(entity: object.entity, insertInto: nil)
    assert(try caught { try free.validateForInsert() }, NSValidationMissingMandatoryPropertyError, "number", of: free)
    let part = insert("Part", ["name": "wheel"], into: context)
    assert(try caught { try part.validateForInsert() }, NSValidationMissingMandatoryPropertyError, "holder", of: part)
  }

  func testEachValidationRuleHasAnErrorCode() throws {
    let context = try makeContext()
    let cases: [(key: String, value: Any, code: Int)] = [
      ("count", 1, NSValidationNumberTooSmallError), ("count", 10, NSValidationNumberTooLargeError),
      ("ratio", 0.25, NSValidationNumberTooSmallError), ("ratio", 2.0, NSValidationNumberTooLargeError),
      ("price", NSDecimalNumber(string: "0.5"), NSValidationNumberTooSmallError),
      ("price", NSDecimalNumber(string: "100.5"), NSValidationNumberTooLargeError),
      ("due", Date(timeIntervalSinceReferenceDate: -1), NSValidationDateTooSoonError),
      ("due", Date(timeIntervalSinceReferenceDate: 1001), NSValidationDateTooLateError),
      ("due", Date(timeIntervalSinceReferenceDate: .nan), NSValidationInvalidDateError),
      ("label", "a", NSValidationStringTooShortError), ("label", "abcdef", NSValidationStringTooLongError),
      ("pattern", "A1", NSValidationStringPatternMatchingError),
    ]
    for (key, value, code) in cases {
      let object = insert("Bounded", ["number": 1, key: value], into: context)
      var checked: Any? = value
      assert(try caught { try object.validateValue(&checked, forKey: key) }, code, key, of: object, "\(key) \(code)")
      assert(try caught { try object.validateForInsert() }, code, key, of: object, "\(key) \(code)")
      assert(try caught { try context.save() }, code, key, of: object, "\(key) \(code)")
      context.rollback()
    }
  }

  func testRelationshipErrorsHaveCodes() throws {
    let context = try makeContext()
    let holder = insert("Holder", into: context)
    let object = insert("Bounded", ["number": 1], into: context)
    let parts = (0..<4).map { insert("Part", ["name": "part \($0)", "holder": holder], into: context) }
    let cases: [(count: Int, code: Int)] = [
      (1, NSValidationRelationshipLacksMinimumCountError), (4, NSValidationRelationshipExceedsMaximumCountError),
    ]
    for (count, code) in cases {
      let members = NSSet(array: Array(parts.prefix(count)))
      var checked: Any? = members
      assert(try caught { try object.validateValue(&checked, forKey: "parts") }, code, "parts", of: object)
      object.setValue(members, forKey: "parts")
      assert(try caught { try context.save() }, code, "parts", of: object)
    }
    object.setValue(NSSet(array: Array(parts.prefix(2))), forKey: "parts")
    try context.save()
    context.delete(object)
    for throwing in [{ try object.validateForDelete() }, { try context.save() }] {
      assert(try caught(throwing), NSValidationRelationshipDeniedDeleteError, "parts", of: object)
    }
  }

  func testSeveralErrorsAreListedFlat() throws {
    let context = try makeContext()
    let one = insert("Bounded", ["count": 1, "label": "a"], into: context)
    let other = insert("Bounded", into: context)
    let alone = try caught { try one.validateForInsert() }
    XCTAssertEqual(alone.domain, NSCocoaErrorDomain)
    XCTAssertEqual(alone.code, NSValidationMultipleErrorsError)
    let own = try XCTUnwrap(alone.userInfo[NSDetailedErrorsKey] as? [NSError])
    XCTAssertEqual(
      own.map(\.code).sorted(),
      [NSValidationMissingMandatoryPropertyError, NSValidationNumberTooSmallError, NSValidationStringTooShortError])
    for error in own { XCTAssertTrue(error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === one) }
    let error = try caught { try context.save() }
    XCTAssertEqual(error.domain, NSCocoaErrorDomain)
    XCTAssertEqual(error.code, NSValidationMultipleErrorsError)
    XCTAssertNil(error.userInfo[NSValidationObjectErrorKey])
    let all = try XCTUnwrap(error.userInfo[NSDetailedErrorsKey] as? [NSError])
    XCTAssertEqual(all.count, 4)
    XCTAssertFalse(all.contains { $0.userInfo[NSDetailedErrorsKey] != nil })
    let ofOther = all.filter { $0.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === other }
    XCTAssertEqual(ofOther.count, 1)
    assert(ofOther.first, NSValidationMissingMandatoryPropertyError, "number", of: other)
  }

  func testErrorsOfCustomValidationAreUnchanged() throws {
    let context = try makeContext()
    let parcel = insert("Parcel", ["code": "heavy"], into: context)
    let error = try caught { try context.save() }
    XCTAssertEqual(error.domain, Parcel.domain)
    XCTAssertEqual(error.code, 1)
    XCTAssertEqual(error.localizedDescription, "a heavy parcel weighs 10 and more")
    parcel.setValue("bad", forKey: "code")
    for throwing in [{ try context.save() }, { try parcel.validateForInsert() }] {
      let error = try caught(throwing)
      XCTAssertEqual([error.domain, "\(error.code)"], [Parcel.domain, "2"])
    }
    parcel.setValue("sealed", forKey: "code")
    try context.save()
    context.delete(parcel)
    let denied = try caught { try context.save() }
    XCTAssertEqual([denied.domain, "\(denied.code)"], [Parcel.domain, "3"])
  }

  func testErrorsOfTheApplicationAndOfTheModelAreListedTogether() throws {
    let context = try makeContext()
    let object = insert("Bounded", into: context)
    _ = insert("Parcel", ["code": "heavy"], into: context)
    _ = insert("Parcel", ["code": "bad"], into: context)
    _ = insert("Parcel", ["code": "lost"], into: context)
    let error = try caught { try context.save() }
    XCTAssertEqual(error.domain, NSCocoaErrorDomain)
    XCTAssertEqual(error.code, NSValidationMultipleErrorsError)
    let all = try XCTUnwrap(error.userInfo[NSDetailedErrorsKey] as? [NSError])
    XCTAssertEqual(
      all.map { "\($0.domain) \($0.code)" }.sorted(),
      ["NSCocoaErrorDomain 1570", "ParcelDomain 1", "ParcelDomain 2", "ParcelDomain 4", "ParcelDomain 5"])
    assert(
      all.first { $0.domain == NSCocoaErrorDomain }, NSValidationMissingMandatoryPropertyError, "number", of: object)
    XCTAssertTrue(context.hasChanges)
  }

  func testNestedContextsReportTheirOwnObjects() throws {
    let context = try makeContext()
    let nested = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    nested.parent = context
    let object = insert("Bounded", into: nested)
    assert(try caught { try nested.save() }, NSValidationMissingMandatoryPropertyError, "number", of: object)
  }

  func testConflictErrorsContainTheirObjects() throws {
    try LibraryStack.with { stack in
      let identifier = UUID()
      let first = stack.book("Emma")
      first.identifier = identifier
      try stack.context.save()
      let second = stack.book("Clueless")
      second.identifier = identifier
      let error = try caught { try stack.context.save() }
      XCTAssertEqual(error.domain, NSCocoaErrorDomain)
      XCTAssertEqual(error.code, NSManagedObjectConstraintMergeError)
      let conflicts = try XCTUnwrap(error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict])
      XCTAssertEqual(conflicts.count, 1)
      XCTAssertEqual(conflicts.first?.constraint, ["identifier"])
      XCTAssertTrue(conflicts.first?.databaseObject === first)
      XCTAssertTrue(conflicts.first?.conflictingObjects.first === second)
      stack.context.delete(second)
      try stack.context.save()
      let other = stack.container.newBackgroundContext()
      let id = first.objectID
      try other.performAndWait {
        (other.object(with: id) as? Book)?.pages = 5
        try other.save()
      }
      first.pages = 7
      let merge = try caught { try stack.context.save() }
      XCTAssertEqual(merge.domain, NSCocoaErrorDomain)
      XCTAssertEqual(merge.code, NSManagedObjectMergeError)
      let found = try XCTUnwrap(merge.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict])
      XCTAssertTrue(found.first?.sourceObject === first)
      XCTAssertEqual(found.first?.objectSnapshot?["pages"] as? Int32, 7)
    }
  }
}
