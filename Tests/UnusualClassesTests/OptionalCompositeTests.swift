import CipherData
import Foundation
import XCTest

/// Optional composites in generated classes with required parts that have default values.
final class OptionalCompositeTests: XCTestCase {
  private func open() async throws -> (PersistentContainer, ManagedObjectContext) {
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: OdditiesModel.managedObjectModel, classes: OdditiesModel.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return (container, container.newBackgroundContext())
  }

  /// A saved object whose composite `home` is nil.
  private func makeHomeless(in context: ManagedObjectContext) throws -> Resident {
    let resident = Resident(context: context)
    XCTAssertEqual(resident.home, Address())
    resident.home = nil
    resident.estate = nil
    XCTAssertNil(resident.home)
    try context.save()
    context.refresh(resident, mergeChanges: false)
    XCTAssertNil(resident.home)
    XCTAssertNil(resident["home"])
    XCTAssertNil(try resident.snapshot().home)
    return resident
  }

  func testSettingAPartOfANilCompositeCreatesOneThatReadsAsStored() async throws {
    let (container, context) = try await open()
    let resident = try makeHomeless(in: context)
    try resident.setValue("89073", forKeyPath: "home.zip")
    let expected = Address(city: "Ulm", zip: "89073", floor: 2, note: nil)
    XCTAssertEqual(resident.home, expected)
    XCTAssertEqual(try resident.value(forKeyPath: "home.city") as? Swift.String, "Ulm")
    let unsaved = Resident.all.where { $0.home.city == "Ulm" && $0.home.floor == 2 && $0.home.note == nil }
    XCTAssertEqual(try context.fetch(unsaved), [resident])
    try context.save()
    context.reset()
    XCTAssertEqual(try context.fetch(unsaved).map(\.home), [expected])
    withExtendedLifetime(container) {}
  }

  func testAWholeStructAndADictionaryAreRead() async throws {
    let (container, context) = try await open()
    let resident = try makeHomeless(in: context)
    resident.home?.zip = "1"
    XCTAssertNil(resident.home)
    resident.home = Address(zip: "1")
    XCTAssertEqual(resident.home, Address(city: "Ulm", zip: "1", floor: 2, note: "bell"))
    resident.home?.zip = nil
    XCTAssertEqual(resident.home, Address())
    resident["home"] = ["zip": "2"]
    XCTAssertEqual(resident.home, Address(city: "Ulm", zip: "2", floor: 2, note: nil))
    try context.save()
    resident["home"] = nil
    XCTAssertNil(resident.home)
    try context.save()
    XCTAssertEqual(try context.fetch(Resident.all.where { $0.home == nil }), [resident])
    withExtendedLifetime(container) {}
  }

  func testARequiredCompositeWithinAnOptionalOneHasItsDefaults() async throws {
    let (container, context) = try await open()
    let resident = try makeHomeless(in: context)
    try resident.setValue("north", forKeyPath: "estate.label")
    let expected = Estate(label: "north", main: Address(note: nil), annex: nil)
    XCTAssertEqual(resident.estate, expected)
    try context.save()
    try resident.setValue("3", forKeyPath: "estate.annex.zip")
    XCTAssertEqual(resident.estate?.annex, Address(zip: "3", note: nil))
    try context.save()
    try resident.setValue(nil, forKeyPath: "estate.main.city")
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "estate.main.city", "\($0)") }
    resident.estate = nil
    try context.save()
    XCTAssertNil(resident.estate)
    withExtendedLifetime(container) {}
  }

  func testSnapshotsReadAndWriteAsObjectsDo() async throws {
    let (container, context) = try await open()
    let resident = try makeHomeless(in: context)
    var snapshot: ObjectSnapshot = try resident.snapshot()
    try snapshot.setValue("5", forKey: "home.zip")
    XCTAssertEqual(try snapshot["home.city"] as? Swift.String, "Ulm")
    try snapshot.setValue("east", forKey: "estate.label")
    _ = try context.apply(snapshot)
    XCTAssertEqual(resident.home, Address(zip: "5", note: nil))
    XCTAssertEqual(resident.estate?.main, Address(note: nil))
    try context.save()
    withExtendedLifetime(container) {}
  }
}
