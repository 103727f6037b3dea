@_spi(Generated) import CipherData
import Foundation
import XCTest

/// Composites, raw values, validation rules and large values in generated classes.
final class TypedValuesTests: XCTestCase {
  private func context(
    _ model: ManagedObjectModel, _ classes: ManagedObjectClasses
  ) async throws -> (PersistentContainer, ManagedObjectContext) {
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: model, classes: classes, persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return (container, container.newBackgroundContext())
  }

  func testCompositesAreStructsThatNest() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Keywords(context: context)
    object.from = Data()
    object.list = []
    object.token = Token(rawValue: UUID())
    // A new object has the parts' default values, in the optional composite too.
    XCTAssertEqual(object.required, Outer(object: Inner(in: ""), maybe: Inner(in: "")))
    XCTAssertEqual(Outer(object: Inner(in: "")).slot, 7)
    XCTAssertEqual(Inner(in: "").cost, Decimal(string: "1.25"))
    XCTAssertEqual(Inner(in: "").at, Date(timeIntervalSinceReferenceDate: 1.5))
    object.required = Outer(
      slot: 1, object: Inner(in: "a", at: nil, cost: 2), maybe: Inner(in: "b", at: Date(timeIntervalSinceReferenceDate: 9)), tint: .blue,
      self_made: [1, 2])
    try context.save()
    let objectID = object.objectID
    context.reset()
    let found = try XCTUnwrap(context.existingObject(with: objectID) as? Keywords)
    XCTAssertEqual(found.required.maybe?.in, "b")
    XCTAssertEqual(found.required.self_made, [1, 2])
    XCTAssertEqual(found.required.tint, .blue)
    XCTAssertEqual(try found.value(forKey: "required.object.cost") as? Decimal, 2)
    // Only differing values are changes.
    found.required.maybe?.at = nil
    found.required.slot = 1
    XCTAssertEqual(found.changedValues().keys.sorted(), ["required.maybe.at"])
    found.required.maybe = nil
    XCTAssertNil(try found.value(forKey: "required.maybe"))
    XCTAssertNil(found.required.maybe)
    XCTAssertEqual(found.required.object.in, "a")
    try context.save()
    let request = Keywords.all.where {
      $0.required.object.in == "a" && $0.required.maybe == nil && $0.required.maybe.at == nil && $0.required.tint == .blue
        && $0.required.slot < 2 && $0.required.self_made != nil
    }
    XCTAssertEqual(try context.fetch(request), [found])
    let tints: [Tint?] = try context.fetch(Keywords.all.select { ($0.required.slot, $0.required.tint, $0.required.maybe.in) }).map { $0.1 }
    XCTAssertEqual(tints, [.blue])
  }

  func testRowsOfABatchInsertionTakeWholeComposites() async throws {
    let (container, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    func insert(_ mood: Mood, _ maybe: Inner?) throws {
      var isDone = false
      let request = BatchInsertRequest(Keywords.self, onConflict: .error) { row in
        if isDone { return true }
        isDone = true
        row.from = Data()
        row.list = []
        row.token = Token(rawValue: UUID())
        row.mood = mood
        row.tint = .blue
        row.required = Outer(slot: 3, object: Inner(in: "a", at: nil), maybe: maybe)
        return false
      }
      _ = try context.execute(request)
    }
    try insert(.glad, nil)
    try insert(.sad, Inner(in: "b"))
    withExtendedLifetime(container) {}
    let found = try context.fetch(Keywords.all.sorted { $0.mood.descending })
    XCTAssertEqual(found.map(\.required.slot), [3, 3])
    // An optional composite set to nil has no default values.
    XCTAssertNil(found[0].required.maybe)
    XCTAssertNil(found[0].required.object.at)
    XCTAssertEqual(found[1].required.maybe, Inner(in: "b"))
    XCTAssertEqual(found.map(\.tint), [.blue, .blue])
  }

  func testFoundationPredicateKeyPathsReachIntoComposites() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let predicate = try FetchPredicate(
      #Predicate<Keywords> { $0.required.object.in == "x" && $0.switch?.the_rest == 3 && $0.required.maybe?.in == "y" })
    XCTAssertEqual(
      predicate,
      try FetchPredicate(format: "#required.object.#in == 'x' AND switch.#'the rest' == 3 AND #required.maybe.#in == 'y'"))
    XCTAssertEqual(try context.count(for: Keywords.all.where(predicate)), 0)
  }

  func testRawValuesHaveTheirTypes() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Keywords(context: context)
    object.from = Data()
    object.list = []
    object.required.object.in = "x"
    XCTAssertNil(object.mood)
    XCTAssertNil(object.token)
    XCTAssertEqual(object.tint, .red)
    let token = Token(rawValue: UUID())
    object.token = token
    object.mood = .glad
    object.tint = .blue
    XCTAssertEqual(try object.value(forKey: "mood") as? Int16, 1)
    try context.save()
    let request = Keywords.all.where { $0.mood == .glad && $0.tint != .red && $0.token == token && $0.mood != nil && $0.tint.isIn([.blue]) }
      .sorted { $0.tint }
    XCTAssertEqual(try context.fetch(request), [object])
    XCTAssertEqual(try context.count(for: Keywords.all.where { $0.mood == nil || $0.mood.rawValue < 0 }), 0)
    let moods: [Mood?] = try context.fetch(Keywords.all.select { ($0.mood, $0.tint) }).map { $0.0 }
    XCTAssertEqual(moods, [.glad])
    // Values that another version of the application stored match no case.
    try object.setValue(Int16(5), forKey: "mood")
    try object.setValue("mauve", forKey: "tint")
    XCTAssertNil(object.mood)
    XCTAssertEqual(object.tint, .default)
    try context.save()
    XCTAssertEqual(try context.fetch(Keywords.all.select { $0.mood }), [nil])
    object.mood = .beyond
    XCTAssertThrowsError(try context.save()) { XCTAssertTrue("\($0)".contains("mood"), "\($0)") }
    let blue = Tint.blue
    XCTAssertEqual(try FetchPredicate(#Predicate<Keywords> { $0.tint == blue }), try FetchPredicate(format: "tint == 'blue'"))
  }

  func testCustomRulesReceiveTypedValues() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Keywords(context: context)
    object.from = Data()
    object.list = []
    object.required.object.in = "x"
    object.token = Token(rawValue: UUID())
    object.loudly = "  a "
    object.list = ["", "b"]
    object.custom = Money(cents: 0)
    let below = Below(context: context)
    below.age = -5
    try context.save()
    XCTAssertEqual(object.loudly, "a")
    XCTAssertEqual(below.age, 0)
    XCTAssertEqual(object.list, ["b"])
    XCTAssertNil(object.custom)
    object.token = .zero
    XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is Keywords.Quiet, "\($0)") }
    object.token = Token(rawValue: UUID())
    object.loudly = "   "
    try context.save()
    XCTAssertNil(object.loudly)
    object.loudly = "shout"
    XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is Keywords.Quiet, "\($0)") }
    XCTAssertEqual(Set.keysWithCustomValidation.sorted(), ["custom", "list", "loudly", "token"])
    XCTAssertEqual(String.keysWithCustomValidation, [])
  }

  func testLargeValuesCanBeStreamed() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Keywords(context: context)
    object.from = Data()
    object.list = []
    object.required.object.in = "x"
    object.token = Token(rawValue: UUID())
    XCTAssertNil(object.largeStreamValue)
    object.largeStream = "a property's own name"
    object.largeStreamValue = ExternalData(Data(repeating: 7, count: 200_000))
    try context.save()
    XCTAssertEqual(object.large?.count, 200_000)
    var count = 0
    if let value = object.largeStreamValue {
      for try await chunk in value.chunks { count += chunk.count }
    }
    XCTAssertEqual(count, 200_000)
    object.large = Data([1])
    XCTAssertEqual(try object.largeStreamValue?.data(), Data([1]))
    object.largeStreamValue = nil
    XCTAssertNil(object.large)
  }

  func testClashingStructNamesAreDistinguished() {
    // A struct gets another name if its name is that of a Swift type.
    XCTAssertEqual(StringValue.slotCount, 1)
    XCTAssertFalse(StringValue.self is any Hashable.Type)
  }

  func testOrderedMembersMoveTogether() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let owner = Keywords(context: context)
    let all = (0..<6).map { number in
      let object = Keywords(context: context)
      object.order = Int16(number)
      return object
    }
    func order() -> [Int16] { owner.class_of.map(\.order) }
    owner.insertIntoClass_of(Array(all[0..<3]), at: 0)
    XCTAssertEqual(order(), [0, 1, 2])
    owner.insertIntoClass_of([all[4], all[0], all[4]], at: 1)
    XCTAssertEqual(order(), [1, 4, 0, 2])
    owner.replaceClass_of(at: 1..<3, with: [all[5], all[3], all[2]])
    XCTAssertEqual(order(), [1, 5, 3, 2])
    owner.replaceClass_of(at: 0, with: all[2])
    XCTAssertEqual(order(), [2, 5, 3])
    XCTAssertNil(context.pendingError)
    let wrong: [() -> Void] = [
      { owner.replaceClass_of(at: 9, with: all[0]) }, { owner.replaceClass_of(at: Int.max, with: all[0]) },
      { owner.removeFromClass_of(at: IndexSet([0, 2, 7])) },
    ]
    for write in wrong {
      write()
      XCTAssertEqual(order(), [2, 5, 3])
      XCTAssertThrowsError(try context.save()) { XCTAssertTrue("\($0)".contains("class_of") || "\($0)".contains("position"), "\($0)") }
    }
    owner.removeFromClass_of(at: IndexSet([0, 2]))
    XCTAssertEqual(order(), [5])
    XCTAssertEqual(all.map { $0.repeat === owner }, [false, false, false, false, false, true])
  }

  func testPartsOfCompositesAndFetchedPropertiesHaveTypes() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Set(context: context)
    object.from = Data()
    object.list = []
    object.token = Token(rawValue: UUID())
    object.required.object.in = "x"
    XCTAssertEqual(object.switch?.the_rest, 3)
    object.switch?.case = "e"
    object.extra = "e"
    try context.save()
    XCTAssertEqual(object.case, [object])
    XCTAssertEqual(try context.count(for: Set.all.where { $0.switch.case == "e" && $0.switch.the_rest < 4 && $0.switch != nil }), 1)
    object.switch = nil
    XCTAssertNil(object.switch)
    try context.save()
    XCTAssertEqual(try context.count(for: Set.all.where { $0.switch == nil }), 1)
  }
}
