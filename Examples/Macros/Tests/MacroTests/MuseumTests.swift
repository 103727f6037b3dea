import CipherData
import Foundation
import XCTest

/// Properties of every kind behave as those of generated classes, in both stores.
final class MuseumTests: XCTestCase {
  private static func container(_ type: StoreType, _ folder: URL) async throws -> PersistentContainer {
    let description =
      type == .inMemory
      ? PersistentStoreDescription(type: .inMemory)
      : PersistentStoreDescription(url: folder.appendingPathComponent("Museum.store"), key: .passphrase("correct horse battery staple"))
    let container = try PersistentContainer(
      name: "Museum", managedObjectModel: Museum.declared(), classes: ManagedObjectClasses(Statue.self, Room.self, Part.self),
      persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  /// Runs `body` with a context of a new store of each kind. It is isolated to the main actor, because contexts cannot be sent.
  @MainActor private static func withEachStore(_ body: @MainActor (ManagedObjectContext) async throws -> Void) async throws {
    for type in [StoreType.inMemory, .sqlcipher] {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("MuseumTests-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let container = try await container(type, folder)
      try await body(container.viewContext)
      try container.close()
    }
  }

  @MainActor private static func statue(_ title: String, in context: ManagedObjectContext) -> Statue {
    let statue = Statue(context: context)
    statue.title = title
    statue.code = "AB\(title.utf8.count)\(statue.objectID.hashValue.magnitude)"
    statue.fate = .shown
    statue.site = Address(city: "Bath")
    statue.home = nil
    let room = Room(context: context)
    statue.room = room
    return statue
  }

  func testNewObjectsHaveTheInitialValues() async throws {
    try await Self.withEachStore { context in
      let statue = Statue(context: context)
      XCTAssertEqual(statue.title, "")
      XCTAssertEqual(statue.code, "AA0")
      XCTAssertEqual([Int(statue.rank), Int(statue.level), Int(statue.total)], [3, 0, 0])
      XCTAssertNil(statue.number)
      XCTAssertEqual(statue.weight, 1.5)
      XCTAssertEqual(statue.share, 0.25)
      XCTAssertTrue(statue.isShown)
      XCTAssertEqual(statue.binding, .soft)
      XCTAssertNil(statue.fate)
      XCTAssertEqual(statue.keywords, [:])
      XCTAssertEqual(statue.glow, Colour(red: 1, green: 1, blue: 1))
      XCTAssertEqual(statue.found, Point(latitude: 0, longitude: 0))
      XCTAssertEqual(statue.material, "stone")
      // Parts with default values make the composite non-nil.
      XCTAssertEqual(statue.home, Address(city: "", point: Point()))
    }
  }

  func testValuesOfEveryKindAreSaved() async throws {
    try await Self.withEachStore { context in
      let statue = Self.statue("Hermes", in: context)
      statue.link = URL(string: "https://example.org/a?b=1")
      statue.token = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
      statue.made = Date(timeIntervalSinceReferenceDate: 12.5)
      statue.price = Decimal(string: "12.34", locale: nil) ?? 0
      statue.binding = .hard
      statue.fate = .lent
      statue.keywords = ["a": 1]
      statue.colour = Colour(red: 1, green: 2, blue: 3)
      statue.glow = Colour(red: 9, green: 9, blue: 9)
      statue.paint = Colour(red: 4, green: 5, blue: 6)
      statue.scratch = 5
      statue.cached = "memory"
      statue.home = Address(
        street: "1 High Street", city: "York", fate: .lost, point: Point(latitude: 53.9, longitude: -1), binding: .hard, lines: ["x", "y"],
        colour: Colour(red: 7, green: 7, blue: 7), default: true, photo: Data(repeating: 3, count: 200_000))
      statue.found = Point(latitude: 1, longitude: 2)
      XCTAssertEqual(statue.glow.red, 9)
      XCTAssertEqual(statue.cached, "memory")
      XCTAssertEqual(statue.scratch as? Int64, 5)
      try context.save()
      let id = statue.objectID
      context.reset()
      let found = try XCTUnwrap(context.existingObject(with: id) as? Statue)
      XCTAssertEqual(found.link?.absoluteString, "https://example.org/a?b=1")
      XCTAssertEqual(found.token?.uuidString, "01020304-0506-0708-090A-0B0C0D0E0F10")
      XCTAssertEqual(found.made?.timeIntervalSinceReferenceDate, 12.5)
      XCTAssertEqual(found.price.description, "12.34")
      XCTAssertEqual(found.binding, .hard)
      XCTAssertEqual(found.fate, .lent)
      XCTAssertEqual(found.keywords, ["a": 1, "checked": 1])
      XCTAssertEqual(found.colour, Colour(red: 1, green: 2, blue: 3))
      XCTAssertEqual(try found.value(forKey: "paint") as? Colour, Colour(red: 4, green: 5, blue: 6))
      XCTAssertEqual(found.paint as? Colour, Colour(red: 4, green: 5, blue: 6))
      XCTAssertNil(found.cached)
      XCTAssertEqual(found.shout, "HERMES")
      XCTAssertEqual(
        found.home,
        Address(
          street: "1 High Street", city: "York", fate: .lost, point: Point(latitude: 53.9, longitude: -1), binding: .hard,
          lines: ["x", "y"],
          colour: Colour(red: 7, green: 7, blue: 7), default: true, photo: Data(repeating: 3, count: 200_000)))
      XCTAssertEqual(found.found, Point(latitude: 1, longitude: 2))
      XCTAssertEqual(found.site, Address(city: "Bath"))
      XCTAssertEqual(try found.value(forKey: "home.point.latitude") as? Double, 53.9)
    }
  }

  func testOnlyDifferingPartsCountAsChanges() async throws {
    try await Self.withEachStore { context in
      let statue = Self.statue("Hermes", in: context)
      statue.home = Address(street: "a", city: "York", point: Point(latitude: 1))
      try context.save()
      statue.home = statue.home
      XCTAssertFalse(context.hasChanges)
      statue.home?.point?.latitude = 2
      XCTAssertTrue(context.hasChanges)
      try context.save()
      statue.home?.point = nil
      try context.save()
      let id = statue.objectID
      context.reset()
      let found = try XCTUnwrap(context.existingObject(with: id) as? Statue)
      XCTAssertEqual(found.home, Address(street: "a", city: "York"))
      found.home = nil
      try context.save()
      context.refreshAllObjects()
      XCTAssertNil(found.home)
    }
  }

  func testPartsCanBeQueriedByKeyPath() async throws {
    try await Self.withEachStore { context in
      let (near, far, none) = (Self.statue("near", in: context), Self.statue("far", in: context), Self.statue("none", in: context))
      near.home = Address(city: "York", fate: .lost, point: Point(latitude: 50))
      far.home = Address(city: "Perth", point: Point(latitude: -30))
      none.home = nil
      try context.save()
      let south = Exhibit.all.where { $0[\.home][\.point][\.latitude] < 0 && $0[\.home][\.city] != "York" && $0[\.home][\.fate] == .shown }
      XCTAssertEqual(south.predicate, try FetchPredicate(format: "home.point.latitude < 0 AND home.city != 'York' AND home.fate == 0"))
      XCTAssertEqual(try context.fetch(south), [far])
      XCTAssertEqual(try context.fetch(Statue.all.where { $0[\.home] == nil }), [none])
      XCTAssertEqual(try context.fetch(Statue.all.where { $0[\.home][\.point] == nil }), [none])
      XCTAssertEqual(try context.count(for: Statue.all.where { $0[\.site][\.city] == "Bath" && $0[\.site][\.binding] == nil }), 3)
      XCTAssertEqual(try context.count(for: Exhibit.all.where { $0[\.home][\.lines] != nil && $0[\.keywords] != nil }), 2)
      XCTAssertEqual(try context.count(for: Room.all.where { $0[\.exhibits].any { $0[\.home][\.city] == "Perth" } }), 1)
      XCTAssertEqual(try context.fetch(Statue.all.select { $0[\.home][\.city] }.sorted { $0[\.title] }), ["Perth", "York", nil])
      let foundation = try FetchPredicate(#Predicate<Exhibit> { $0.home?.point?.latitude == 50 && $0.found.longitude == 0 })
      XCTAssertEqual(foundation, try FetchPredicate(format: "home.point.latitude == 50.0 AND found.longitude == 0.0"))
    }
  }

  func testFetchedPropertiesReturnObjects() async throws {
    try await Self.withEachStore { context in
      let (first, second) = (Self.statue("first", in: context), Self.statue("second", in: context))
      try context.save()
      XCTAssertEqual(first.peers, [second])
      XCTAssertEqual(first.room?.high, 1)
      XCTAssertEqual(Set(first.room?.everything ?? []), [first, second])
      let part = Part(context: context)
      part.name = "arm"
      part.statue = second
      XCTAssertEqual(part.wholes, [second])
      second.rank = 5
      try context.save()
      context.refresh(first, mergeChanges: true)
      XCTAssertEqual(first.peers, [])
    }
  }

  func testToManyRelationshipsHaveGeneratedMethods() async throws {
    try await Self.withEachStore { context in
      let statue = Self.statue("Hermes", in: context)
      let parts = (0..<5).map { number in
        let part = Part(context: context)
        part.name = "\(number)"
        return part
      }
      func names() -> String { statue.parts.map(\.name).joined() }
      statue.addToParts(parts[0])
      statue.addToParts([parts[1], parts[2]])
      statue.insertIntoParts(parts[3], at: 0)
      statue.insertIntoParts([parts[4], parts[0]], at: 1)
      XCTAssertEqual(names(), "34012")
      statue.removeFromParts(at: 0)
      statue.removeFromParts(at: [0, 2])
      XCTAssertEqual(names(), "02")
      statue.replaceParts(at: 1, with: parts[3])
      XCTAssertEqual(names(), "03")
      statue.replaceParts(at: 0..<2, with: [parts[1], parts[4]])
      XCTAssertEqual(names(), "14")
      statue.removeFromParts(parts[1])
      XCTAssertEqual(names(), "4")
      statue.removeFromParts([parts[4]])
      XCTAssertEqual(statue.parts, [])
      parts[0].addToPieces([parts[1], parts[2]])
      parts[0].addToPieces(parts[3])
      parts[0].removeFromPieces([parts[1]])
      parts[0].removeFromPieces(parts[2])
      XCTAssertEqual(parts[0].pieces, [parts[3]])
      XCTAssertIdentical(parts[3].whole, parts[0])
      let other = Self.statue("other", in: context)
      statue.addToAlike(other)
      XCTAssertEqual(other.alike, [statue])
    }
  }

  func testLargeValuesCanBeStreamed() async throws {
    try await Self.withEachStore { context in
      let statue = Self.statue("Hermes", in: context)
      statue.scanStream = ExternalData(Data(repeating: 7, count: 200_000))
      statue.model = Data([1, 2])
      XCTAssertEqual(try statue.modelStream?.data(), Data([1, 2]))
      try context.save()
      context.refreshAllObjects()
      let stream = try XCTUnwrap(statue.scanStream)
      var count = 0
      for try await chunk in stream.chunks { count += chunk.count }
      XCTAssertEqual(count, 200_000)
      statue.scanStream = nil
      XCTAssertNil(statue.scan)
    }
  }

  func testValidationRulesReceiveTypedValues() async throws {
    try await Self.withEachStore { context in
      let statue = Self.statue("  Hermes ", in: context)
      statue.rank = 0
      statue.number = 0
      try context.save()
      XCTAssertEqual(statue.title, "Hermes")
      XCTAssertEqual(statue.rank, 1)
      XCTAssertNil(statue.number)
      XCTAssertEqual(statue.keywords, ["checked": 1])
      statue.number = 7
      try context.save()
      XCTAssertEqual(statue.binding, .hard)
      statue.title = "forbidden"
      XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is Forbidden, "\($0)") }
      statue.title = String(repeating: "x", count: 81)
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.code, .stringTooLong) }
      statue.title = "Hermes"
      // A validation rule with the enumeration as its parameter rejects unknown raw values; without a rule they are accepted.
      try statue.setValue("leather", forKey: "binding")
      XCTAssertEqual(statue.binding, .soft)
      XCTAssertThrowsError(try context.save())
      statue.number = nil
      statue.binding = .soft
      try statue.setValue(9, forKey: "fate")
      try context.save()
      XCTAssertNil(statue.fate)
      XCTAssertEqual(try statue.value(forKey: "fate") as? Int64, 9)
      XCTAssertEqual(Statue.keysWithCustomValidation, ["title", "rank", "number", "binding", "keywords"])
      XCTAssertEqual(Part.keysWithCustomValidation, [])
    }
  }

  func testIdentifiableUsesTheObjectIDUnlessTheClassHasAnID() async throws {
    try await Self.withEachStore { context in
      let statue = Self.statue("Hermes", in: context)
      let room = try XCTUnwrap(statue.room)
      room.id = UUID()
      try context.save()
      func identity<Object: Identifiable>(of object: Object) -> AnyHashable { AnyHashable(object.id) }
      XCTAssertEqual(identity(of: statue), AnyHashable(statue.objectID))
      XCTAssertEqual(identity(of: room), AnyHashable(room.id))
      let id = statue.id
      XCTAssertEqual(try context.fetch(Exhibit.all.where(#Predicate { $0.id == id })), [statue])
      let number = room.id
      XCTAssertEqual(try context.fetch(Room.all.where(#Predicate { $0.id == number })), [room])
    }
  }
}
