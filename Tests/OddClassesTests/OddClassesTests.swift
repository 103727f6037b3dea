// OddClassesTests: generated classes of a model whose names are keywords, no identifiers, or those of Swift's own types.
import CipherData
import Foundation
import XCTest

final class OddClassesTests: XCTestCase {
  private func context(
    _ model: ManagedObjectModel, _ classes: ManagedObjectClasses
  ) async throws -> (PersistentContainer, ManagedObjectContext) {
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: model, classes: classes, persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return (container, container.newBackgroundContext())
  }

  func testOddNamesAndTypesWork() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Keywords(context: context)
    XCTAssertEqual(object.order, -7)
    XCTAssertEqual(object.default, 5)
    XCTAssertEqual(object.in, "a \"quoted\" \\(text) \n é 漢 👩‍👩‍👧")
    XCTAssertEqual(object.value, 0.1)
    XCTAssertEqual(object.newValue, Decimal(string: "-1.5"))
    XCTAssertEqual(object.temporary, 9)
    XCTAssertEqual(object.from, Data())
    XCTAssertEqual(object.list, [])
    XCTAssertNil(object.table)
    object.a_b = "ab"
    object.default = 6
    object.value = 2.5
    object.setValue = 1.5
    object.optionalValue = true
    object.newValue = 3
    object.id = UUID(uuidString: "6F1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001")
    object.toOne = Date(timeIntervalSinceReferenceDate: 5)
    object.from = Data([1])
    object.größe = 12
    object._st__choice_ = "plain"
    object._1st__choice_ = URL(string: "a:b")
    object.temporary = 10
    object.list = ["x", "y"]
    object.table = ["k": [1, 2]]
    object.raw = Data([7])
    object.custom = Money(cents: 5)
    object.token = Token(rawValue: UUID())
    object.required.object.in = "x"
    let other = Keywords(context: context)
    other.from = Data()
    other.list = []
    other.token = Token(rawValue: UUID())
    other.required.object.in = "x"
    other.repeat = object
    XCTAssertEqual(object.class_of, [other])
    let set = Set(context: context)
    set.extra = "e"
    set.addToOwners([object, other])
    XCTAssertEqual(object.sets, [set])
    set.from = Data()
    set.list = []
    set.token = Token(rawValue: UUID())
    set.required.object.in = "x"
    try context.save()
    let objectID = object.objectID
    context.reset()

    let found = try XCTUnwrap(context.existingObject(with: objectID) as? Keywords)
    XCTAssertEqual(found.default, 6)
    XCTAssertEqual(found.setValue, 1.5)
    XCTAssertEqual(found.optionalValue, true)
    XCTAssertEqual(found.id?.uuidString, "6F1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001")
    XCTAssertEqual(found.toOne, Date(timeIntervalSinceReferenceDate: 5))
    XCTAssertEqual(found.größe, 12)
    XCTAssertEqual(found.a_b, "ab")
    XCTAssertEqual(found._1st__choice_, URL(string: "a:b"))
    XCTAssertEqual(found._st__choice_, "plain")
    XCTAssertEqual(found.temporary, 9)
    XCTAssertEqual(found.list, ["x", "y"])
    XCTAssertEqual(found.table, ["k": [1, 2]])
    XCTAssertEqual(found.raw, Data([7]))
    XCTAssertEqual(found.custom, Money(cents: 5))
    XCTAssertEqual(found.sets.first?.extra, "e")
    XCTAssertEqual(try context.fetch(Set.fetchRequest()).count, 1)
  }

  func testExtensionsAndPlainObjectsHaveTheirClasses() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let below = Below(context: context)
    below.name = "loud"
    XCTAssertEqual(below.shout, "LOUD")
    let text = String(context: context)
    text.text = "x"
    text.extended = below
    text.plain = try context.insertObject(entityName: "Plain")
    XCTAssertEqual(below.strings, [text])
    try context.save()
    XCTAssertEqual(try context.fetch(Below.fetchRequest()).count, 1)
    XCTAssertEqual(try context.fetch(Extended.fetchRequest()).count, 1)
    XCTAssertTrue(type(of: text.plain) == ManagedObject?.self)
  }

  func testOddNamesCanBeAskedFor() throws {
    let request = Keywords.all.where {
      $0.default == 5 && $0.in == "x" && $0.toOne == nil && $0.value > 1 && $0.repeat.order == 2 && $0.list != nil && $0.a_b == "y"
      $0.größe < 3 && $0._1st__choice_ == "a:b" && $0.sets.any { $0.extra == "z" && $0.from == Data() } && $0.class_of.first.id == nil
    }
    let format = """
      (default == 5 AND #in == 'x' AND toOne == nil AND value > 1 AND repeat.order == 2 AND list != nil AND #'a b' == 'y') \
      AND (größe < 3 AND #'1st "choice"' == 'a:b' AND SUBQUERY(sets, $x1, $x1.extra == 'z' AND $x1.from == %@).@count > 0 \
      AND #'class of'[FIRST].id == nil)
      """
    XCTAssertEqual(request.predicate, try FetchPredicate(format: format, Data()))
    // Names that the types of queries have themselves.
    let taken = Keywords.all.where {
      $0.attribute == "a" && $0.fetchExpression == "b" && $0.isIn == "c" && $0.is == "d" && $0.meets == "e" && $0.objectCount == "f"
        && $0.is(Set.self) && $0.isIn([ManagedObjectID]())
    }
    XCTAssertEqual(
      taken.predicate,
      try FetchPredicate(
        format: """
          attribute == 'a' AND fetchExpression == 'b' AND isIn == 'c' AND is == 'd' AND meets == 'e' AND objectCount == 'f' \
          AND entity == CAST('Set', 'Entity') AND SELF IN {}
          """))
    let plain = String.all.where { $0.plain == nil && $0.extended.name == "x" && $0.extended.is(Below.self) }
    XCTAssertEqual(
      plain.predicate,
      try FetchPredicate(format: "plain == nil AND extended.name == 'x' AND extended.entity == CAST('Below', 'Entity')"))
  }

  func testTheEmbeddedModelIsTheFilesModel() throws {
    let folder = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    let model = try ManagedObjectModel(contentsOf: folder.appendingPathComponent("Oddities.xcdatamodel"))
    let embedded = OdditiesModel.managedObjectModel
    XCTAssertEqual(try CompiledModel(embedded).checksum, try CompiledModel(model).checksum)
    XCTAssertNoThrow(try ManagedObjectModel(merging: [embedded, model]))
    XCTAssertEqual(embedded.versionIdentifiers, ["odd \"1\""])
    XCTAssertEqual(embedded.fetchRequestTemplates.map(\.fetchLimit), [3])
    XCTAssertEqual(embedded.configurations.map(\.entityNames), [["Plain"]])
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

  func testCompositesAreStructsThatNest() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Keywords(context: context)
    object.from = Data()
    object.list = []
    object.token = Token(rawValue: UUID())
    // The parts' default values are the object's: the optional composite has some too.
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
    // Only what differs is a change.
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

  func testKeyPathsLeadIntoCompositesInFoundationsPredicates() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let predicate = try FetchPredicate(
      #Predicate<Keywords> { $0.required.object.in == "x" && $0.switch?.the_rest == 3 && $0.required.maybe?.in == "y" })
    XCTAssertEqual(
      predicate,
      try FetchPredicate(format: "#required.object.#in == 'x' AND switch.#'the rest' == 3 AND #required.maybe.#in == 'y'"))
    XCTAssertEqual(try context.count(for: Keywords.all.filter(predicate)), 0)
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
    // What another version of the application stored is none of the cases.
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

  func testRulesOfTheApplicationAreCalledWithTheirTypes() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Keywords(context: context)
    object.from = Data()
    object.list = []
    object.required.object.in = "x"
    object.token = Token(rawValue: UUID())
    object.loudly = "  a "
    let below = Below(context: context)
    below.age = -5
    try context.save()
    XCTAssertEqual(object.loudly, "a")
    XCTAssertEqual(below.age, 0)
    object.loudly = "   "
    try context.save()
    XCTAssertNil(object.loudly)
    object.loudly = "shout"
    XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is Keywords.Quiet, "\($0)") }
    XCTAssertEqual(Set.keysWithCustomValidation, ["loudly"])
    XCTAssertEqual(String.keysWithCustomValidation, [])
  }

  func testTwoNamesOfOneStructAreToldApart() {
    // A struct named like a type of Swift's gets another name.
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
    owner.replaceClass_of(at: 9, with: all[0])
    owner.replaceClass_of(at: Int.max, with: all[0])
    XCTAssertEqual(order(), [2, 5, 3])
    owner.removeFromClass_of(at: IndexSet([0, 2, 7]))
    XCTAssertEqual(order(), [5])
    XCTAssertEqual(all.map { $0.repeat === owner }, [false, false, false, false, false, true])
  }
}
