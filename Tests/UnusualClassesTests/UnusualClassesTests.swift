import CipherData
import CipherDataEngine
import Foundation
import XCTest

/// Generated classes of a model whose names are keywords, invalid identifiers, or names of Swift's types.
final class UnusualClassesTests: XCTestCase {
  private func context(
    _ model: ManagedObjectModel, _ classes: ManagedObjectClasses
  ) async throws -> (PersistentContainer, ManagedObjectContext) {
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: model, classes: classes, persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return (container, container.newBackgroundContext())
  }

  func testUnusualNamesAndTypesWork() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    let object = Keywords(context: context)
    XCTAssertEqual(object.order, -7)
    XCTAssertEqual(object.default, 5)
    XCTAssertEqual(object.in, "a \"quoted\" \\(text) \n é 漢 👩‍👩‍👧")
    XCTAssertEqual(object._value, 0.1)
    XCTAssertEqual(object.newValue, Decimal(string: "-1.5"))
    XCTAssertEqual(object.temporary, 9)
    XCTAssertEqual(object.from, Data())
    XCTAssertEqual(object.list, [])
    XCTAssertNil(object.table)
    object.a_b = "ab"
    object.default = 6
    object._value = 2.5
    object.setValue = 1.5
    object._optionalValue = true
    object.newValue = 3
    object.id = UUID(uuidString: "6F1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001")
    object._toOne = Date(timeIntervalSinceReferenceDate: 5)
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
    XCTAssertEqual(found._optionalValue, true)
    XCTAssertEqual(found.id?.uuidString, "6F1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001")
    XCTAssertEqual(found._toOne, Date(timeIntervalSinceReferenceDate: 5))
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

  func testUnusualNamesAreInSnapshots() async throws {
    let (_, context) = try await context(OdditiesModel.managedObjectModel, OdditiesModel.classes)
    var draft = try Set.Snapshot()
    XCTAssertEqual(draft.default, 5)
    XCTAssertEqual(draft._value, 0.1)
    XCTAssertEqual(draft.tint, .red)
    draft.extra = "e"
    draft.from = Data([1])
    draft.list = ["x"]
    draft.token = Token(rawValue: UUID())
    draft.required.object.in = "y"
    draft.switch = Two_parts(case: "c")
    draft.mood = .glad
    draft.custom = Money(cents: 3)
    draft.id = UUID()
    draft._st__choice_ = "plain"
    draft._1st__choice_ = URL(string: "a:b")
    draft.a_b = "ab"
    let set = try context.apply(draft)
    set.addToOwners([set])
    set.repeat = set
    try context.save()
    let snapshot: Set.Snapshot = try set.snapshot(including: ["owners", "class of"])
    XCTAssertEqual(snapshot.extra, "e")
    XCTAssertEqual(snapshot.mood, .glad)
    XCTAssertEqual(snapshot.switch?.case, "c")
    XCTAssertEqual(snapshot.required.object.in, "y")
    XCTAssertEqual(snapshot.custom, Money(cents: 3))
    XCTAssertEqual(snapshot.list, ["x"])
    XCTAssertEqual(snapshot.id, draft.id)
    XCTAssertEqual(snapshot.owners, [set.objectID])
    XCTAssertEqual(snapshot.class_of, [set.objectID])
    XCTAssertEqual(snapshot.repeat, set.objectID)
    XCTAssertEqual(snapshot.a_b, "ab")
    XCTAssertEqual(snapshot._1st__choice_, URL(string: "a:b"))
    var edited = snapshot
    edited.switch = nil
    edited.required.slot = 8
    XCTAssertEqual(edited.changedKeys.sorted(), ["required.slot", "switch.case", "switch.the rest"])
    try context.apply(edited)
    XCTAssertNil(set.switch)
    XCTAssertEqual(set.required.slot, 8)
    let below = Below(context: context)
    below.name = "loud"
    let other: Below.Snapshot = try below.snapshot()
    XCTAssertEqual(other.name, "loud")
    let text = String(context: context)
    text.text = "x"
    XCTAssertEqual(try text.snapshot().text, "x")
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

  func testUnusualNamesCanBeQueried() throws {
    let request = Keywords.all.where {
      $0.default == 5 && $0.in == "x" && $0._toOne == nil && $0._value > 1 && $0.repeat.order == 2 && $0.list != nil && $0.a_b == "y"
      $0.größe < 3 && $0._1st__choice_ == "a:b" && $0.sets.any { $0.extra == "z" && $0.from == Data() } && $0.class_of.first.id == nil
    }
    let format = """
      (default == 5 AND #in == 'x' AND _toOne == nil AND _value > 1 AND repeat.order == 2 AND list != nil AND #'a b' == 'y') \
      AND (größe < 3 AND #'1st "choice"' == 'a:b' AND SUBQUERY(sets, $x1, $x1.extra == 'z' AND $x1.from == %@).@count > 0 \
      AND #'class of'[FIRST].id == nil)
      """
    XCTAssertEqual(request.predicate, try FetchPredicate(format: format, Data()))
    // Names that the query types themselves use.
    let taken = Keywords.all.where {
      $0._attribute == "a" && $0.fetchExpression == "b" && $0.isIn == "c" && $0.is == "d" && $0.matches == "e" && $0.objectCount == "f"
        && $0.is(Set.self) && $0.isIn([ManagedObjectID]())
    }
    XCTAssertEqual(
      taken.predicate,
      try FetchPredicate(
        format: """
          _attribute == 'a' AND fetchExpression == 'b' AND isIn == 'c' AND is == 'd' AND #matches == 'e' AND objectCount == 'f' \
          AND entity == CAST('Set', 'Entity') AND SELF IN {}
          """))
    let plain = String.all.where { $0.plain == nil && $0.extended.name == "x" && $0.extended.is(Below.self) }
    XCTAssertEqual(
      plain.predicate,
      try FetchPredicate(format: "plain == nil AND extended.name == 'x' AND extended.entity == CAST('Below', 'Entity')"))
  }

  func testEmbeddedModelEqualsTheModelFile() throws {
    let folder = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    let model = try ManagedObjectModel(contentsOf: folder.appendingPathComponent("Oddities.xcdatamodel"))
    let embedded = OdditiesModel.managedObjectModel
    XCTAssertEqual(try CompiledModel(embedded).checksum, try CompiledModel(model).checksum)
    XCTAssertNoThrow(try ManagedObjectModel(merging: [embedded, model]))
    XCTAssertEqual(embedded.versionIdentifiers, ["odd \"1\""])
    XCTAssertEqual(embedded.fetchRequestTemplates.map(\.fetchLimit), [3])
    XCTAssertEqual(embedded.configurations.map(\.entityNames), [["Plain"]])
  }
}
