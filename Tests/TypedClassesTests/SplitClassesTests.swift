import CipherData
import Foundation
import XCTest

/// A ship with generated properties. The application implements its life cycle.
class Vessel: _Vessel {
  private(set) var wasLaunched = false

  override func awakeFromInsert() {
    super.awakeFromInsert()
    wasLaunched = true
    built = Date(timeIntervalSinceReferenceDate: 1_000)
  }

  override class var keysWithCustomValidation: [String] { super.keysWithCustomValidation + keysWithTypedValidation }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    try validateTyped(&value, forKey: key)
    try super.validateValue(&value, forKey: key)
  }

  func validateName(_ value: inout String) throws { value = value.trimmingCharacters(in: .whitespaces) }
}

final class Tanker: _Tanker {
  override func awakeFromInsert() {
    super.awakeFromInsert()
    tons = 50_000
  }
}

final class Harbour: _Harbour {}

/// Classes that the application declares as subclasses of generated ones.
final class SplitClassesTests: XCTestCase {
  func testApplicationClassesInheritAndOverrideGeneratedProperties() async throws {
    let container = try SplitModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let (harbour, tanker) = (Harbour(context: context), Tanker(context: context))
    harbour.name = "Emden"
    tanker.name = "  Batillus "
    tanker.harbour = harbour
    // The overrides of the subclass, of its parent class, and of the generated superclass of that are called in turn.
    XCTAssertTrue(tanker.wasLaunched)
    XCTAssertEqual(tanker.tons, 50_000)
    XCTAssertEqual(tanker.built, Date(timeIntervalSinceReferenceDate: 1_000))
    try context.save()
    XCTAssertEqual(tanker.name, "Batillus")

    let other = container.newBackgroundContext()
    let vessels = try other.fetch(Vessel.all.where { $0.harbour.name == "Emden" }.sorted { $0.name })
    XCTAssertEqual(vessels.map(\.name), ["Batillus"])
    XCTAssertTrue(vessels[0] is Tanker)
    XCTAssertFalse(vessels[0].wasLaunched)
    XCTAssertEqual(try other.fetch(Harbour.all).map { $0.vessels.count }, [1])
    XCTAssertEqual(try vessels[0].snapshot().name, "Batillus")
  }
}
