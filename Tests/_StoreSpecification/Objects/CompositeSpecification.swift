import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Composite attributes are stored in parts, and their parts can be used wherever an attribute can.
public final class CompositeSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testCompositePartRoundTrips", { $0.testCompositePartRoundTrips }),
        ("testACompositeIsADictionaryOfItsParts", { $0.testACompositeIsADictionaryOfItsParts }),
        ("testPartsCanBeUsedInPredicatesSortsAndResults", { $0.testPartsCanBeUsedInPredicatesSortsAndResults }),
        ("testPartsCanBeUniquenessConstraints", { $0.testPartsCanBeUniquenessConstraints }),
        ("testACompositeIsValidatedAsAWhole", { $0.testACompositeIsValidatedAsAWhole }),
        ("testUnsavedPartsAreEvaluatedInMemory", { $0.testUnsavedPartsAreEvaluatedInMemory }),
        ("testEntireCompositeInAPredicateThrows", { $0.testEntireCompositeInAPredicateThrows }),
        ("testSettingAPartOfANilCompositeSetsRequiredDefaults", { $0.testSettingAPartOfANilCompositeSetsRequiredDefaults }),
        ("testANilCompositeIsNilForEveryReader", { $0.testANilCompositeIsNilForEveryReader }),
        ("testRequiredPartsOfRequiredPartsAreValidated", { $0.testRequiredPartsOfRequiredPartsAreValidated }),
        ("testBatchRequestsSetRequiredDefaults", { $0.testBatchRequestsSetRequiredDefaults }),
        ("testBatchUpdateOfOnePartSetsRequiredDefaults", { $0.testBatchUpdateOfOnePartSetsRequiredDefaults }),
        ("testBatchUpdateWithoutARequiredPartIsRejected", { $0.testBatchUpdateWithoutARequiredPartIsRejected }),
        ("testABatchInsertionMergesCompositesWithRequiredDefaults", { $0.testABatchInsertionMergesCompositesWithRequiredDefaults }),
        ("testMergedCompositeSetsRequiredDefaults", { $0.testMergedCompositeSetsRequiredDefaults }),
      ] as [(String, (CompositeSpecification) -> () throws -> Void)])
  }

  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Composite("Geo") {
        Attribute("latitude", .double).required()
        Attribute("longitude", .double).required()
      }
      Composite("Address") {
        Attribute("city", .string).required()
        Attribute("zip", .string)
        Attribute("place", composite: "Geo")
      }
      Entity("Person") {
        Attribute("name", .string)
        Attribute("home", composite: "Address")
        Relationship("friend", to: "Person", inverse: "friends")
        Relationship("friends", toMany: "Person", inverse: "friend")
        Index("byCity", on: "home.city")
        Unique("home.zip", "name")
      }
    }
    guard let compiled = try? CompiledModel(model) else { preconditionFailure("\(model.validationIssues())") }
    return compiled
  }()

  private func makePeople() throws -> (store: OpenStore, context: ManagedObjectContext) {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let ann = try context.insert("Person", ["name": "Ann", "home": ["city": "Ulm", "zip": "89073"]])
    let bob = try context.insert(
      "Person", ["name": "Bob", "home": ["city": "Bonn", "place": ["latitude": 50.7, "longitude": 7.1]], "friend": ann])
    let cat = try context.insert("Person", ["name": "Cat", "friend": ann])
    try context.save()
    hold([ann, bob, cat])
    return (store, context)
  }

  private func names(_ format: String, _ arguments: (any FetchConstantConvertible)?..., in context: ManagedObjectContext) throws -> [String]
  {
    var request = FetchRequest<ManagedObject>(entityName: "Person", predicate: try FetchPredicate(format: format, argumentArray: arguments))
    request.sortDescriptors = [FetchSortDescriptor("name")]
    return try context.texts("name", request)
  }

  func testCompositePartRoundTrips() throws {
    let (store, _) = try makePeople()
    let again = store.newContext()
    let bob = try find("Person", "name", "Bob", in: again)
    XCTAssertEqual(try bob.value(forKeyPath: "home.city") as? String, "Bonn")
    XCTAssertEqual(try bob.value(forKeyPath: "home.place.latitude") as? Double, 50.7)
    XCTAssertNil(try bob.value(forKeyPath: "home.zip"))
    XCTAssertEqual(try bob.value(forKeyPath: "friend.home.city") as? String, "Ulm")
    try bob.setValue("53111", forKeyPath: "home.zip")
    try bob.setValue("Neu-Ulm", forKeyPath: "friend.home.city")
    try again.save()
    let third = store.newContext()
    XCTAssertEqual(try names("home.zip == '53111' AND friend.home.city == 'Neu-Ulm'", in: third), ["Bob"])
  }

  func testACompositeIsADictionaryOfItsParts() throws {
    let (store, _) = try makePeople()
    let context = store.newContext()
    let bob = try find("Person", "name", "Bob", in: context)
    let home = try XCTUnwrap(try bob.value(forKey: "home") as? [String: Any])
    XCTAssertEqual(home["city"] as? String, "Bonn")
    XCTAssertEqual((home["place"] as? [String: Any])?["longitude"] as? Double, 7.1)
    XCTAssertNil(home["zip"])
    XCTAssertNil(try find("Person", "name", "Cat", in: context).value(forKey: "home"))
    // Parts that are missing in the dictionary become nil.
    try bob.setValue(["city": "Köln"], forKey: "home")
    XCTAssertNil(try bob.value(forKeyPath: "home.place"))
    XCTAssertEqual((try bob.committedValues(forKeys: ["home"])["home"] as? [String: Any])?["city"] as? String, "Bonn")
    try bob.setValue(nil, forKey: "home")
    XCTAssertNil(try bob.value(forKey: "home"))
    context.rollback()
    XCTAssertEqual(try bob.value(forKeyPath: "home.city") as? String, "Bonn")
    XCTAssertThrowsError(try bob.setValue(["city": "Köln", "planet": "Mars"], forKey: "home"))
    XCTAssertThrowsError(try bob.setValue(["city": 5], forKey: "home"))
    XCTAssertThrowsError(try bob.setValue("Köln", forKey: "home"))
    XCTAssertEqual(try bob.value(forKeyPath: "home.city") as? String, "Bonn", "nothing is changed by a value that does not fit")
  }

  func testPartsCanBeUsedInPredicatesSortsAndResults() throws {
    let (_, context) = try makePeople()
    XCTAssertEqual(try names("home.city BEGINSWITH[c] 'b'", in: context), ["Bob"])
    XCTAssertEqual(try names("home.place.latitude > 50", in: context), ["Bob"])
    XCTAssertEqual(try names("home.place.latitude == nil", in: context), ["Ann", "Cat"])
    XCTAssertEqual(try names("friend.home.city == %@", "Ulm", in: context), ["Bob", "Cat"])
    XCTAssertEqual(try names("ANY friends.home.city == 'Bonn'", in: context), ["Ann"])
    XCTAssertEqual(try names("friends.@max.home.place.latitude > 50", in: context), ["Ann"])
    XCTAssertEqual(try names("SUBQUERY(friends, $f, $f.home.city == 'Bonn').@count == 1", in: context), ["Ann"])
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.sortDescriptors = [FetchSortDescriptor("home.city", ascending: false), FetchSortDescriptor("name")]
    XCTAssertEqual(try context.texts("name", request), ["Ann", "Bob", "Cat"])
  }

  func testPartsCanBeUniquenessConstraints() throws {
    let (store, _) = try makePeople()
    let context = store.newContext()
    try context.insert("Person", ["name": "Ann", "home": ["city": "Blaustein", "zip": "89073"]])
    XCTAssertThrowsError(try context.save()) { error in
      XCTAssertEqual((error as? StoreError)?.code, .constraintConflict, "\(error)")
      XCTAssertEqual((error as? StoreError)?.constraintConflicts.first?.constraint, ["home.zip", "name"])
    }
  }

  func testACompositeIsValidatedAsAWhole() throws {
    let (store, _) = try makePeople()
    let context = store.newContext()
    let person = try context.insert("Person", ["name": "Dan"])
    XCTAssertNoThrow(try person.validateForInsert(), "an optional composite may have no value at all")
    try person.setValue("1", forKeyPath: "home.zip")
    XCTAssertThrowsError(try person.validateForInsert()) { XCTAssertEqual(($0 as? ValidationError)?.key, "home.city") }
    try person.setValue("Ulm", forKeyPath: "home.city")
    try person.setValue(1.5, forKeyPath: "home.place.latitude")
    XCTAssertThrowsError(try person.validateForInsert()) { XCTAssertEqual(($0 as? ValidationError)?.key, "home.place.longitude") }
    try person.setValue(2.5, forKeyPath: "home.place.longitude")
    XCTAssertNoThrow(try context.save())
  }

  func testUnsavedPartsAreEvaluatedInMemory() throws {
    let (_, context) = try makePeople()
    let cat = try find("Person", "name", "Cat", in: context)
    try cat.setValue(["city": "Bern"], forKey: "home")
    XCTAssertEqual(try names("home.city BEGINSWITH 'B'", in: context), ["Bob", "Cat"])
    XCTAssertEqual(try names("home.city == nil", in: context), [])
  }

  func testEntireCompositeInAPredicateThrows() throws {
    let (_, context) = try makePeople()
    XCTAssertThrowsError(try names("home == nil", in: context)) { XCTAssertTrue("\($0)".contains("Name one of its parts"), "\($0)") }
    XCTAssertThrowsError(try names("home.planet == 'Mars'", in: context)) { XCTAssertTrue("\($0)".contains("home.planet"), "\($0)") }
  }

  // MARK: Default values of required parts

  static let withDefaults: CompiledModel = {
    let model = ManagedObjectModel {
      Composite("Address") {
        Attribute("city", .string).required().initially("Ulm")
        Attribute("zip", .string)
        Attribute("floor", .integer16).required().initially(2)
        Attribute("note", .string).initially("bell")
      }
      Composite("Estate") {
        Attribute("label", .string)
        Attribute("main", composite: "Address").required()
        Attribute("annex", composite: "Address")
      }
      Composite("Plan") {
        Attribute("label", .string)
        Attribute("door", composite: "Door").required()
      }
      Composite("Door") { Attribute("width", .double).required() }
      Entity("Person") {
        Attribute("name", .string)
        Attribute("home", composite: "Address")
        Attribute("estate", composite: "Estate")
        Attribute("plan", composite: "Plan")
        Unique("name")
      }
    }
    guard let compiled = try? CompiledModel(model) else { preconditionFailure("\(model.validationIssues())") }
    return compiled
  }()

  /// Makes a saved person whose composites are nil, and reads it again.
  private func makeHomeless(_ store: OpenStore) throws -> (context: ManagedObjectContext, person: ManagedObject) {
    let context = store.newContext()
    try context.insert("Person", ["name": "Ann", "home": nil, "estate": nil])
    try context.save()
    let again = store.newContext()
    let person = try find("Person", "name", "Ann", in: again)
    hold([person])
    return (again, person)
  }

  private func dictionary(_ object: ManagedObject, _ key: String) throws -> NSDictionary? {
    (try object.value(forKey: key) as? [String: Any]).map { NSDictionary(dictionary: $0) }
  }

  func testSettingAPartOfANilCompositeSetsRequiredDefaults() throws {
    let store = try makeStore(Self.withDefaults)
    let (context, person) = try makeHomeless(store)
    try person.setValue("89073", forKeyPath: "home.zip")
    XCTAssertEqual(try dictionary(person, "home"), ["city": "Ulm", "zip": "89073", "floor": 2])
    person["estate.label"] = "north"
    XCTAssertEqual(try dictionary(person, "estate"), ["label": "north", "main": ["city": "Ulm", "floor": 2]])
    try person.setValue(["label": "south", "annex": ["zip": "1"]] as [String: Any], forKey: "estate")
    let south: NSDictionary = [
      "label": "south", "main": ["city": "Ulm", "floor": 2], "annex": ["city": "Ulm", "zip": "1", "floor": 2],
    ]
    XCTAssertEqual(try dictionary(person, "estate"), south)
    XCTAssertEqual(try names("home.city == 'Ulm' AND home.note == nil AND estate.annex.floor == 2", in: context), ["Ann"])
    try context.save()
    let again = try find("Person", "name", "Ann", in: store.newContext())
    XCTAssertEqual(try dictionary(again, "home"), ["city": "Ulm", "zip": "89073", "floor": 2])
    XCTAssertEqual(try dictionary(again, "estate"), south)
    // An existing value keeps its parts.
    try again.setValue("Bonn", forKeyPath: "home.city")
    try again.setValue(nil, forKeyPath: "home.zip")
    XCTAssertEqual(try dictionary(again, "home"), ["city": "Bonn", "floor": 2])
  }

  func testANilCompositeIsNilForEveryReader() throws {
    let store = try makeStore(Self.withDefaults)
    let (context, person) = try makeHomeless(store)
    func check(_ line: UInt = #line) throws {
      XCTAssertNil(try person.value(forKey: "home"), line: line)
      XCTAssertNil(person["home.city"], line: line)
      XCTAssertNil(try person.snapshot()["home"], line: line)
      XCTAssertNil(try person.snapshot()["home.city"], line: line)
      XCTAssertEqual(try names("home.city == nil AND home.floor == nil AND home.note == nil", in: context), ["Ann"], line: line)
      XCTAssertNoThrow(try person.validateForUpdate(), line: line)
    }
    try check()
    // Setting parts to nil does not create a composite.
    try person.setValue(nil, forKeyPath: "home.zip")
    try person.setValue([String: Any](), forKey: "home")
    try check()
    try person.setValue("1", forKeyPath: "home.zip")
    person["home"] = nil
    try check()
    try context.save()
    try check()
    try person.setValue(["city": nil, "zip": "2"] as [String: Any?], forKey: "home")
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "home.city", "\($0)") }
  }

  func testRequiredPartsOfRequiredPartsAreValidated() throws {
    let store = try makeStore(Self.withDefaults)
    let (context, person) = try makeHomeless(store)
    try person.setValue("flat", forKeyPath: "plan.label")
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "plan.door.width", "\($0)") }
    try person.setValue(0.9, forKeyPath: "plan.door.width")
    try context.save()
    XCTAssertEqual(try dictionary(person, "plan"), ["label": "flat", "door": ["width": 0.9]])
  }

  func testBatchRequestsSetRequiredDefaults() throws {
    let store = try makeStore(Self.withDefaults)
    let context = store.newContext()
    let rows: [[String: Any]] = [
      ["name": "Bob", "home": ["zip": "1"], "estate": ["label": "west"]], ["name": "Cat", "home": NSNull()], ["name": "Dan"],
    ]
    try context.execute(BatchInsertRequest(entityName: "Person", objects: rows))
    let (bob, cat) = (try find("Person", "name", "Bob", in: context), try find("Person", "name", "Cat", in: context))
    XCTAssertEqual(try dictionary(bob, "home"), ["city": "Ulm", "zip": "1", "floor": 2])
    XCTAssertEqual(try dictionary(bob, "estate"), ["label": "west", "main": ["city": "Ulm", "floor": 2]])
    XCTAssertNil(try dictionary(cat, "home"))
    XCTAssertEqual(
      try dictionary(find("Person", "name", "Dan", in: context), "home"), ["city": "Ulm", "floor": 2, "note": "bell"])
    let update = BatchUpdateRequest(
      entityName: "Person", predicate: try FetchPredicate(format: "name == 'Cat'"), propertiesToUpdate: ["home": ["zip": "3"]])
    XCTAssertEqual(try context.execute(update).count, 1)
    XCTAssertEqual(try dictionary(cat, "home"), ["city": "Ulm", "zip": "3", "floor": 2])
  }

  /// Sets parts of all objects that match a predicate.
  private func update(_ parts: [String: (any Sendable)?], where format: String = "TRUEPREDICATE", in context: ManagedObjectContext) throws
    -> Int
  {
    try context.execute(
      BatchUpdateRequest(entityName: "Person", predicate: try FetchPredicate(format: format), propertiesToUpdate: parts)
    ).count
  }

  /// Reads an object again, compares its composite, and checks that a later change of one part can be saved.
  private func expect(_ home: NSDictionary?, _ name: String, _ key: String = "home", in store: OpenStore, line: UInt = #line) throws {
    let context = store.newContext()
    let person = try find("Person", "name", name, in: context)
    XCTAssertEqual(try dictionary(person, key), home, line: line)
    XCTAssertNoThrow(try person.validateForUpdate(), line: line)
    guard home != nil, key == "home" else { return }
    try person.setValue("changed", forKeyPath: "home.note")
    XCTAssertNoThrow(try context.save(), line: line)
    try person.setValue(home?["note"], forKeyPath: "home.note")
    try context.save()
  }

  func testBatchUpdateOfOnePartSetsRequiredDefaults() throws {
    let store = try makeStore(Self.withDefaults)
    let (context, ann) = try makeHomeless(store)
    let full: [String: Any] = ["city": "Bonn", "zip": "9", "floor": 7]
    try context.insert("Person", ["name": "Bob", "home": full, "estate": nil])
    try context.save()
    XCTAssertNil(try dictionary(ann, "home"))
    XCTAssertEqual(try update(["home.zip": "1"], in: context), 2)
    XCTAssertEqual(try dictionary(ann, "home"), ["city": "Ulm", "zip": "1", "floor": 2], "a registered object takes the new values")
    try expect(["city": "Ulm", "zip": "1", "floor": 2], "Ann", in: store)
    try expect(["city": "Bonn", "zip": "1", "floor": 7], "Bob", in: store)
    // Values that the update sets itself are kept.
    XCTAssertEqual(try update(["home": nil], in: context), 2)
    try expect(nil, "Ann", in: store)
    XCTAssertEqual(try update(["home.city": "Bern", "home.note": "x"], in: context), 2)
    try expect(["city": "Bern", "note": "x", "floor": 2], "Ann", in: store)
    // Setting parts to nil does not create a composite.
    _ = try update(["home": nil], in: context)
    _ = try update(["home.zip": nil, "home.note": nil], in: context)
    try expect(nil, "Bob", in: store)
    // Computed values, which are nil for some objects.
    try find("Person", "name", "Bob", in: context).setValue("west", forKeyPath: "estate.label")
    try context.save()
    XCTAssertEqual(try update(["home.note": FetchExpression(format: "estate.label")], in: context), 2)
    try expect(nil, "Ann", in: store)
    try expect(["city": "Ulm", "note": "west", "floor": 2], "Bob", in: store)
    // Composites in composites.
    XCTAssertEqual(try update(["estate.annex.zip": "3"], where: "name == 'Ann'", in: context), 1)
    let estate: NSDictionary = ["main": ["city": "Ulm", "floor": 2], "annex": ["city": "Ulm", "zip": "3", "floor": 2]]
    try expect(estate, "Ann", "estate", in: store)
  }

  func testBatchUpdateWithoutARequiredPartIsRejected() throws {
    let store = try makeStore(Self.withDefaults)
    let (context, _) = try makeHomeless(store)
    func expectMissing(_ key: String, _ parts: [String: (any Sendable)?], line: UInt = #line) {
      XCTAssertThrowsError(try update(parts, in: context), line: line) { error in
        XCTAssertEqual((error as? BatchError)?.code, .missingValue, "\(error)", line: line)
        XCTAssertEqual((error as? BatchError)?.key, key, "\(error)", line: line)
      }
    }
    expectMissing("plan.door.width", ["plan.label": "flat"])
    try expect(nil, "Ann", "plan", in: store)
    XCTAssertEqual(try update(["plan.label": "flat", "plan.door.width": 0.9], in: context), 1)
    XCTAssertEqual(try update(["plan.label": "house"], in: context), 1)
    try expect(["label": "house", "door": ["width": 0.9]], "Ann", "plan", in: store)
    expectMissing("plan.door.width", ["plan.door.width": nil])
    expectMissing("home.city", ["home.city": nil, "home.zip": "1"])
    XCTAssertEqual(try update(["plan.label": nil, "plan.door.width": nil], in: context), 1)
    try expect(nil, "Ann", "plan", in: store)
    try expect(nil, "Ann", in: store)
  }

  func testABatchInsertionMergesCompositesWithRequiredDefaults() throws {
    let store = try makeStore(Self.withDefaults)
    let (context, _) = try makeHomeless(store)
    func merge(_ row: [String: Any], _ policy: BatchConflictPolicy = .update()) throws {
      var row = row
      row["name"] = "Ann"
      try context.execute(BatchInsertRequest(entityName: "Person", objects: [row], onConflict: policy))
    }
    func clear() throws { _ = try update(["home": nil], in: context) }
    try merge(["home.zip": "1"])
    try expect(["city": "Ulm", "zip": "1", "floor": 2], "Ann", in: store)
    try merge(["home.city": "Bonn", "home.floor": 5])
    try merge(["home.zip": "2"])
    try expect(["city": "Bonn", "zip": "2", "floor": 5], "Ann", in: store)
    try clear()
    try merge(["home.zip": "3", "home.note": "x"], .update(only: ["home.zip"]))
    try expect(["city": "Ulm", "zip": "3", "floor": 2], "Ann", in: store)
    try clear()
    try merge(["home.zip": NSNull()])
    try merge(["name": "Ann"])
    try expect(nil, "Ann", in: store)
    try merge(["home": ["zip": "4"]])
    try expect(["city": "Ulm", "zip": "4", "floor": 2], "Ann", in: store)
    try clear()
    for (row, key) in [(["plan.label": "flat"], "plan.door.width"), (["home.city": NSNull(), "home.zip": "5"], "home.city")]
      as [([String: Any], String)]
    {
      XCTAssertThrowsError(try merge(row)) { error in
        XCTAssertEqual((error as? BatchError)?.code, .missingValue, "\(error)")
        XCTAssertEqual((error as? BatchError)?.key, key, "\(error)")
      }
    }
    try expect(nil, "Ann", in: store)
  }

  func testMergedCompositeSetsRequiredDefaults() throws {
    let store = try makeStore(Self.withDefaults)
    let (context, person) = try makeHomeless(store)
    try person.setValue("1", forKeyPath: "home.zip")
    try context.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try person.setValue("2", forKeyPath: "home.zip")
    let other = store.newContext()
    try find("Person", "name", "Ann", in: other).setValue(nil, forKey: "home")
    try other.save()
    context.refresh(person, mergeChanges: true)
    try context.save()
    XCTAssertEqual(try dictionary(person, "home"), ["city": "Ulm", "zip": "2", "floor": 2])
  }
}
