import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Snapshots contain an object's values at one time; values set in them become changes of a context.
public final class SnapshotSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testSnapshotKeepsTheOriginalValues", { $0.testSnapshotKeepsTheOriginalValues }),
        ("testUnsavedValuesAreInASnapshot", { $0.testUnsavedValuesAreInASnapshot }),
        ("testSnapshotOfADeletedRowThrows", { $0.testSnapshotOfADeletedRowThrows }),
        ("testSettersRecordChangedProperties", { $0.testSettersRecordChangedProperties }),
        ("testInvalidValuesAreRejectedImmediately", { $0.testInvalidValuesAreRejectedImmediately }),
        ("testEqualValuesAreEqualSnapshots", { $0.testEqualValuesAreEqualSnapshots }),
        ("testFetchOfSnapshotsCreatesNoObjects", { $0.testFetchOfSnapshotsCreatesNoObjects }),
        ("testFetchOfSnapshotsIncludesUnsavedChanges", { $0.testFetchOfSnapshotsIncludesUnsavedChanges }),
        ("testSnapshotRoundTripsThroughCoding", { $0.testSnapshotRoundTripsThroughCoding }),
        ("testEncodedFormIsStable", { $0.testEncodedFormIsStable }),
        ("testInvalidBytesAreDecodingErrors", { $0.testInvalidBytesAreDecodingErrors }),
        ("testCodedValuesOfEveryTypeRoundTrip", { $0.testCodedValuesOfEveryTypeRoundTrip }),
        ("testLargeValuesStayInTheStore", { $0.testLargeValuesStayInTheStore }),
        ("testCompositesAreSetByTheirParts", { $0.testCompositesAreSetByTheirParts }),
        ("testOnlySetPropertiesAreApplied", { $0.testOnlySetPropertiesAreApplied }),
        ("testChangesOnBothSidesFollowThePolicy", { $0.testChangesOnBothSidesFollowThePolicy }),
        ("testAConflictNamesItsPropertiesAndChangesNothing", { $0.testAConflictNamesItsPropertiesAndChangesNothing }),
        ("testUnsavedChangesOfTheContextConflict", { $0.testUnsavedChangesOfTheContextConflict }),
        ("testRulesAndResolversResolveConflicts", { $0.testRulesAndResolversResolveConflicts }),
        ("testNewerSnapshotUpdatesTheObject", { $0.testNewerSnapshotUpdatesTheObject }),
        ("testASnapshotWithoutAnIDInserts", { $0.testASnapshotWithoutAnIDInserts }),
        ("testRelationshipsAreAppliedWithTheirInverses", { $0.testRelationshipsAreAppliedWithTheirInverses }),
        ("testMembersAreMerged", { $0.testMembersAreMerged }),
        ("testOrderIsMergedWithNewMembers", { $0.testOrderIsMergedWithNewMembers }),
        ("testOrdersOfBothSidesAreMerged", { $0.testOrdersOfBothSidesAreMerged }),
        ("testRelationshipsToMissingObjectsAreRejected", { $0.testRelationshipsToMissingObjectsAreRejected }),
        ("testNestedContextsReadAndApplySnapshots", { $0.testNestedContextsReadAndApplySnapshots }),
        ("testPinnedContextsReadTheirGeneration", { $0.testPinnedContextsReadTheirGeneration }),
        ("testRandomEditsMatchTheTable", { $0.testRandomEditsMatchTheTable }),
      ] as [(String, (SnapshotSpecification) -> () throws -> Void)])
  }

  /// A stored book of an author with two tags and three chapters, and a context with it.
  func makeLibrary() throws -> (open: OpenStore, context: ManagedObjectContext, book: ManagedObject) {
    let open = try makeStore()
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Joyce", "born": Int64(1882)])
    let tags = try ["red", "blue"].map { try context.insert("Tag", ["name": $0]) }
    let chapters = try ["one", "two", "three"].map { try context.insert("Chapter", ["title": $0]) }
    let book = try context.insert(
      "Book",
      [
        "title": "Ulysses", "year": Int64(1922), "price": Decimal(string: "12.50"), "rating": 4.5, "inPrint": true,
        "published": Date(timeIntervalSinceReferenceDate: 8), "author": author, "tags": Set(tags), "chapters": chapters,
      ])
    try context.save()
    hold([author, book, try find("Book", "title", "Ulysses", in: context)])
    hold(tags)
    hold(chapters)
    return (open, context, book)
  }

  /// The names of objects by their IDs.
  func names(_ ids: [ManagedObjectID]?, _ key: String, in context: ManagedObjectContext) throws -> [String] {
    try XCTUnwrap(ids).map { try context.existingObject(with: $0).text(key) ?? "(none)" }
  }

  // MARK: Creation

  func testSnapshotKeepsTheOriginalValues() throws {
    let (open, _, book) = try makeLibrary()
    let context = open.newContext()
    let fault = context.object(with: book.objectID)
    let snapshot = try fault.snapshot(including: ["tags", "chapters"])
    XCTAssertEqual(snapshot.objectID, book.objectID)
    XCTAssertEqual(snapshot.id, book.objectID)
    XCTAssertEqual(snapshot.entityName, "Book")
    XCTAssertEqual(snapshot.version, try open.row(book.objectID)?.version)
    try fault.setValue("Dubliners", forKey: "title")
    try context.save()
    XCTAssertEqual(try snapshot["title"] as? String, "Ulysses", "a snapshot does not change")
    XCTAssertEqual(try snapshot["year"] as? Int64, 1922)
    XCTAssertEqual(try snapshot.value("price", as: Decimal.self), Decimal(string: "12.50"))
    XCTAssertEqual(try snapshot["inPrint"] as? Bool, true)
    XCTAssertNil(try snapshot["isbn"])
    XCTAssertNil(try snapshot["nothing"])
    XCTAssertEqual(try snapshot["author"] as? ManagedObjectID, book.object("author")?.objectID)
    XCTAssertNotNil(try snapshot["author"])
    XCTAssertEqual(try names(snapshot["chapters"] as? [ManagedObjectID], "title", in: context), ["one", "two", "three"])
    XCTAssertEqual(Set(try names(snapshot["tags"] as? [ManagedObjectID], "name", in: context)), ["red", "blue"])
    XCTAssertNil(try snapshot["shelves"], "it was not asked for")
    XCTAssertEqual(snapshot.keys.count, 11)
    XCTAssertFalse("\(snapshot)".contains("Ulysses"), "a printed form shows no values")
    XCTAssertThrowsError(try fault.snapshot(including: ["author"])) { XCTAssertEqual(($0 as? KeyValueError)?.code, .unknownRelationship) }
  }

  func testUnsavedValuesAreInASnapshot() throws {
    let (open, context, book) = try makeLibrary()
    try book.setValue("Exiles", forKey: "title")
    try book.setValue(nil, forKey: "rating")
    let green = try context.insert("Tag", ["name": "green"])
    try book.setValue([green] as Set, forKey: "tags")
    let snapshot = try book.snapshot(including: ["tags"])
    XCTAssertEqual(try snapshot["title"] as? String, "Exiles")
    XCTAssertNil(try snapshot["rating"])
    XCTAssertEqual(try snapshot["year"] as? Int64, 1922)
    XCTAssertEqual(try snapshot["tags"] as? [ManagedObjectID], [green.objectID])
    XCTAssertEqual(snapshot.version, try open.row(book.objectID)?.version, "its values began with that row")
    XCTAssertFalse(snapshot.hasChanges, "nothing was set in the snapshot")
    let new = try context.insert("Book", ["title": "new", "author": book.object("author")])
    let other = try new.snapshot()
    XCTAssertNil(other.objectID)
    XCTAssertEqual(other.version, 0)
    XCTAssertEqual(try other["title"] as? String, "new")
    XCTAssertEqual(try other["author"] as? ManagedObjectID, book.object("author")?.objectID)
    try book.setValue(try context.insert("Author", ["name": "new"]), forKey: "author")
    let temporary = try XCTUnwrap(book.snapshot()["author"] as? ManagedObjectID)
    XCTAssertTrue(temporary.isTemporaryID)
    XCTAssertEqual(temporary, book.object("author")?.objectID)
  }

  func testSnapshotOfADeletedRowThrows() throws {
    let (open, context, book) = try makeLibrary()
    let (reader, teller) = (open.newContext(), open.newContext())
    let (fault, reported) = (reader.object(with: book.objectID), teller.object(with: book.objectID))
    teller.shouldDeleteInaccessibleFaults = false
    let id = book.objectID
    let kept = try book.snapshot()
    context.delete(book)
    try context.save()
    for object in [fault, reported] { assertStoreError(.objectNotFound) { try object.snapshot() } }
    XCTAssertTrue(fault.isDeleted, "the fault counts as deleted")
    XCTAssertNotNil(teller.pendingError, "the next save throws")
    assertStoreError(.objectNotFound) { try book.snapshot() }
    var edited = kept
    try edited.setValue("back", forKey: "title")
    let other = open.newContext()
    let error = assertStoreError(.objectNotFound) { try other.apply(edited) }
    XCTAssertEqual(error?.objectID, id)
  }

  // MARK: Changes

  func testSettersRecordChangedProperties() throws {
    let (_, _, book) = try makeLibrary()
    let snapshot = try book.snapshot()
    var edited = snapshot
    try edited.setValue("Exiles", forKey: "title")
    try edited.setValue(7, forKey: "year")
    try edited.setValue(nil, forKey: "author")
    try edited.setValue([ManagedObjectID](), forKey: "tags")
    XCTAssertEqual(edited.changedKeys.sorted(), ["author", "tags", "title", "year"])
    XCTAssertEqual(try edited["title"] as? String, "Exiles")
    XCTAssertEqual(try edited["year"] as? Int64, 7)
    XCTAssertEqual(try edited.value("year", as: Int.self), 7)
    XCTAssertNil(try edited["author"])
    XCTAssertEqual(try edited["tags"] as? [ManagedObjectID], [])
    XCTAssertEqual(try snapshot["title"] as? String, "Ulysses", "it is a value")
    XCTAssertEqual(snapshot.changedKeys, [])
  }

  func testInvalidValuesAreRejectedImmediately() throws {
    let (_, _, book) = try makeLibrary()
    let snapshot = try book.snapshot(including: ["tags"])
    let cases: [(String, any Sendable, KeyValueError.Code)] = [
      ("nothing", 1, .unknownKey), ("title", 1, .wrongType), ("year", "x", .wrongType), ("author", "x", .wrongType),
      ("tags", "x", .wrongType), ("tags", book.objectID, .wrongType), ("year", UInt64.max, .outOfRange),
    ]
    for (key, value, code) in cases {
      var edited = snapshot
      XCTAssertThrowsError(try edited.setValue(value, forKey: key)) { XCTAssertEqual(($0 as? KeyValueError)?.code, code, key) }
      XCTAssertEqual(edited, snapshot)
    }
  }

  func testEqualValuesAreEqualSnapshots() throws {
    let (open, _, book) = try makeLibrary()
    let one = try book.snapshot(including: ["tags"])
    let reader = open.newContext()
    open.persistentStore.cache.removeAll()
    let other = try reader.existingObject(with: book.objectID).snapshot(including: ["tags"])
    XCTAssertEqual(one, other)
    XCTAssertEqual(Set([one, other]).count, 1)
    XCTAssertNotEqual(one, try book.snapshot(), "one has members, the other has none")
    var (left, right) = (one, other)
    try left.setValue(Double.nan, forKey: "rating")
    XCTAssertNotEqual(left, one)
    try right.setValue(Double.nan, forKey: "rating")
    XCTAssertEqual(left, left, "also with NaN")
    XCTAssertEqual(Set([left, right]).count, 1)
    try right.setValue("x", forKey: "isbn")
    XCTAssertNotEqual(left, right)
    try book.setValue(Double.nan, forKey: "rating")
    XCTAssertEqual(try book.snapshot(), try book.snapshot())
    XCTAssertNotEqual(try book.snapshot(), try reader.existingObject(with: book.objectID).snapshot())
  }

  // MARK: Fetching

  private func byTitle(_ predicate: FetchPredicate? = nil) -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate, sortDescriptors: [FetchSortDescriptor("title")])
  }

  private func titles(_ snapshots: [ObjectSnapshot]) throws -> [String?] { try snapshots.map { try $0.value("title", as: String.self) } }

  func testFetchOfSnapshotsCreatesNoObjects() throws {
    let (open, writer, book) = try makeLibrary()
    for number in 0..<20 { try writer.insert("Book", ["title": "book \(number + 10)", "author": book.object("author")]) }
    try writer.save()
    let context = open.newContext()
    let found = try context.fetch(byTitle(.compare("title", .greater, "book 12")), as: ObjectSnapshot.self)
    XCTAssertEqual(try titles(found), (13..<30).map { "book \($0)" })
    XCTAssertEqual(context.registeredObjects.count, 0)
    var request = byTitle()
    (request.fetchOffset, request.fetchLimit, request.fetchBatchSize) = (19, 2, 5)
    let last = try context.fetch(request, as: ObjectSnapshot.self, including: ["tags", "chapters"])
    XCTAssertEqual(try titles(last), ["book 28", "book 29"])
    request.fetchOffset = 0
    let first = try context.fetch(byTitle(.compare("title", .equal, "Ulysses")), as: ObjectSnapshot.self, including: ["tags", "chapters"])
    XCTAssertEqual(first, [try book.snapshot(including: ["tags", "chapters"])])
    XCTAssertEqual(context.registeredObjects.count, 0)
    XCTAssertThrowsError(try context.fetch(request, as: ObjectSnapshot.self, including: ["title"])) { error in
      XCTAssertEqual((error as? KeyValueError)?.code, .unknownRelationship)
    }
  }

  func testFetchOfSnapshotsIncludesUnsavedChanges() throws {
    let (open, writer, book) = try makeLibrary()
    for title in ["A", "B", "C"] { try writer.insert("Book", ["title": title, "author": book.object("author")]) }
    try writer.save()
    let context = open.newContext()
    let a = try find("Book", "title", "A", in: context)
    try a.setValue("Z", forKey: "title")
    context.delete(try find("Book", "title", "B", in: context))
    let tag = try find("Tag", "name", "red", in: context)
    let new = try context.insert("Book", ["title": "N", "tags": Set([tag])])
    let c = try find("Book", "title", "C", in: context)
    try tag.setValue(Set([new, c]), forKey: "books")
    let found = try context.fetch(byTitle(), as: ObjectSnapshot.self, including: ["tags"])
    XCTAssertEqual(try titles(found), ["C", "N", "Ulysses", "Z"])
    XCTAssertEqual(found.map(\.objectID), [c.objectID, nil, book.objectID, a.objectID])
    let red = tag.objectID
    XCTAssertEqual(
      try found.map { try ($0["tags"] as? [ManagedObjectID])?.contains(red) }, [true, true, false, false],
      "members that another object's change has put there count")
    var request = byTitle()
    request.includesPendingChanges = false
    XCTAssertEqual(try titles(context.fetch(request, as: ObjectSnapshot.self)), ["A", "B", "C", "Ulysses"])
  }

  // MARK: Coding

  private func coded(_ snapshot: ObjectSnapshot) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(snapshot)
  }

  func testSnapshotRoundTripsThroughCoding() throws {
    let (open, context, book) = try makeLibrary()
    var snapshot = try book.snapshot(including: ["tags", "chapters"])
    XCTAssertEqual(try JSONDecoder().decode(ObjectSnapshot.self, from: coded(snapshot)), snapshot)
    try snapshot.setValue("Exiles", forKey: "title")
    try snapshot.setValue(nil, forKey: "rating")
    try snapshot.setValue([ManagedObjectID](), forKey: "tags")
    let read = try JSONDecoder().decode(ObjectSnapshot.self, from: coded(snapshot))
    XCTAssertEqual(read, snapshot)
    XCTAssertEqual(read.changedKeys.sorted(), ["rating", "tags", "title"])
    let other = open.newContext()
    try other.apply(read)
    try other.save()
    context.refreshAllObjects()
    XCTAssertEqual(book.text("title"), "Exiles")
    XCTAssertNil(book["rating"])
    XCTAssertEqual(book.members("tags").count, 0)
    let new = try context.insert("Book", ["title": "new", "author": book.object("author")]).snapshot()
    XCTAssertEqual(try JSONDecoder().decode(ObjectSnapshot.self, from: coded(new)), new)
    try book.setValue(try context.insert("Author"), forKey: "author")
    XCTAssertThrowsError(try coded(book.snapshot())) { XCTAssertTrue($0 is EncodingError, "a temporary ID means nothing elsewhere") }
  }

  func testEncodedFormIsStable() throws {
    let (open, _, book) = try makeLibrary()
    var snapshot = try book.snapshot(including: ["tags"])
    try snapshot.setValue(nil, forKey: "isbn")
    try snapshot.setValue(Double.infinity, forKey: "rating")
    let layout = String(try open.entity("Book").layoutFingerprint, radix: 16)
    let tags = try XCTUnwrap(snapshot["tags"] as? [ManagedObjectID]).map { "\"\($0)\"" }
    let author = try XCTUnwrap(snapshot["author"] as? ManagedObjectID)
    XCTAssertEqual(
      String(decoding: try coded(snapshot), as: UTF8.self),
      """
      {"changes":{"isbn":null,"rating":"inf"},"entity":"Book","format":1,"id":"\(book.objectID)","layout":"\(layout)",\
      "members":{"tags":[\(tags.joined(separator: ","))]},"values":{"author":"\(author)","inPrint":true,"price":"12.5","published":8,\
      "rating":4.5,"title":"Ulysses","year":1922},"version":\(snapshot.version)}
      """)
  }

  func testInvalidBytesAreDecodingErrors() throws {
    let (_, _, book) = try makeLibrary()
    var snapshot = try book.snapshot(including: ["tags"])
    try snapshot.setValue("x", forKey: "title")
    let text = String(decoding: try coded(snapshot), as: UTF8.self)
    let mistakes = [
      ("\"format\":1", "\"format\":2"), ("\"entity\":\"Book\"", "\"entity\":\"Nobody\""), ("\"layout\":\"", "\"layout\":\"0"),
      ("\"id\":\"x-cipherdata", "\"id\":\"y-cipherdata"), ("/Book/p", "/Tag/p"), ("\"year\":1922", "\"year\":\"1922\""),
      ("\"year\":1922", "\"years\":1922"), ("\"price\":\"12.5\"", "\"price\":\"x\""), ("\"inPrint\":true", "\"inPrint\":1"),
      ("\"rating\":4.5", "\"rating\":\"4.5\""), ("\"tags\":[", "\"title\":["), ("\"author\":\"x-cipherdata", "\"author\":\"z"), ("{", ""),
    ]
    for (right, wrong) in mistakes {
      guard let place = text.range(of: right) else {
        XCTFail("there is no \(right) in \(text)")
        continue
      }
      let bad = Data(text.replacingCharacters(in: place, with: wrong).utf8)
      XCTAssertThrowsError(try JSONDecoder().decode(ObjectSnapshot.self, from: bad), wrong) { error in
        XCTAssertTrue(error is DecodingError, "\(wrong): \(error)")
      }
    }
  }

  func testCodedValuesOfEveryTypeRoundTrip() throws {
    let open = try makeStore(SpecificationModels.types)
    let context = open.newContext()
    var random = SeededGenerator(seed: 28)
    let entity = try open.entity("Sample")
    for _ in 0..<30 {
      let sample = try context.insertObject(entityName: "Sample")
      for slot in entity.slots where Int.random(in: 0..<4, using: &random) > 0 {
        let number = Int64.random(in: -30_000...30_000, using: &random)
        let value: any Sendable =
          switch slot.attributeType {
          case .integer16, .integer32, .integer64: number
          case .double: [Double.infinity, -0.0, Double(number) / 7].randomElement(using: &random) ?? 0
          case .float: Float(number) / 3
          case .boolean: number > 0
          case .decimal: Decimal(number) / 1000
          case .date: Date(timeIntervalSinceReferenceDate: Double(number) / 11)
          case .uuid: UUID()
          case .uri: URL(string: "a:\(number)")
          case .string: "é \(number) \u{65}\u{301} \"\\"
          default: Data("\(number)".utf8)
          }
        try sample.setValue(value, forKey: slot.name)
      }
      try context.save()
      let snapshot = try sample.snapshot()
      let read = try JSONDecoder().decode(ObjectSnapshot.self, from: coded(snapshot))
      XCTAssertEqual(read, snapshot)
      XCTAssertEqual(read.hashValue, snapshot.hashValue)
      let list = try PropertyListEncoder().encode(snapshot)
      XCTAssertEqual(try PropertyListDecoder().decode(ObjectSnapshot.self, from: list), snapshot)
      // Set from another snapshot's values.
      var copy = try ObjectSnapshot(entityName: "Sample", model: open.model.model)
      for key in snapshot.keys { try copy.setValue(snapshot[key], forKey: key) }
      let made = try context.apply(copy)
      for key in snapshot.keys {
        XCTAssertEqual(try "\(String(describing: made.value(forKey: key)))", try "\(String(describing: sample.value(forKey: key)))", key)
      }
    }
  }

  func testLargeValuesStayInTheStore() throws {
    let open = try makeStore(Self.films)
    let context = open.newContext()
    let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let film = try context.insert("Film", ["title": "A", "poster": bytes])
    try context.save()
    let reader = open.newContext()
    let snapshot = try reader.existingObject(with: film.objectID).snapshot()
    XCTAssertEqual(try snapshot.value("poster", as: ExternalData.self)?.count, bytes.count)
    XCTAssertEqual(try snapshot["poster"] as? Data, bytes)
    let read = try JSONDecoder().decode(ObjectSnapshot.self, from: coded(snapshot))
    XCTAssertEqual(try read["poster"] as? Data, bytes, "the coded form has the bytes")
    var edited = snapshot
    try edited.setValue("B", forKey: "title")
    let applied = try reader.apply(edited)
    XCTAssertEqual(Set(applied.changedValues().keys), ["title"])
    var second = try ObjectSnapshot(entityName: "Film", model: Self.films.model)
    try second.setValue(snapshot.value("poster", as: ExternalData.self), forKey: "poster")
    XCTAssertEqual(try reader.apply(second).value(forKey: "poster") as? Data, bytes, "one object's value is another's")
    var replaced = snapshot
    try replaced.setValue(ExternalData(Data([1, 2])), forKey: "poster")
    XCTAssertEqual(try replaced["poster"] as? Data, Data([1, 2]))
    try reader.apply(replaced)
    try reader.save()
    XCTAssertEqual(try open.newContext().existingObject(with: film.objectID).value(forKey: "poster") as? Data, Data([1, 2]))
  }

  private static let films: CompiledModel = SpecificationModels.compile(
    ManagedObjectModel {
      Entity("Film") {
        Attribute("title", .string)
        Attribute("poster", .binary).externalStorage()
        Attribute("shot", composite: "Place")
        Attribute("folded", .string).derived("canonical:(title)")
      }
      Composite("Place") {
        Attribute("city", .string)
        Attribute("street", composite: "Street")
      }
      Composite("Street") {
        Attribute("name", .string)
        Attribute("number", .integer32)
      }
    })

  func testCompositesAreSetByTheirParts() throws {
    let open = try makeStore(Self.films)
    let context = open.newContext()
    let film = try context.insert("Film", ["title": "A", "shot": ["city": "Cork", "street": ["name": "Main", "number": 3]]])
    try context.save()
    var snapshot = try film.snapshot()
    XCTAssertEqual((try snapshot["shot"] as? [String: any Sendable])?["city"] as? String, "Cork")
    XCTAssertEqual(try snapshot["shot.street.number"] as? Int32, 3)
    try snapshot.setValue(4, forKey: "shot.street.number")
    XCTAssertEqual(snapshot.changedKeys, ["shot.street.number"])
    try context.apply(snapshot)
    XCTAssertEqual(try film.value(forKey: "shot.street.number") as? Int32, 4)
    XCTAssertEqual(try film.value(forKey: "shot.city") as? String, "Cork")
    try snapshot.setValue(["city": "Oslo"] as [String: any Sendable], forKey: "shot")
    XCTAssertEqual((try snapshot["shot"] as? [String: any Sendable])?.count, 1)
    XCTAssertThrowsError(try snapshot.setValue("x", forKey: "folded")) { XCTAssertEqual(($0 as? KeyValueError)?.code, .readOnly) }
    XCTAssertThrowsError(try snapshot.setValue(["x": 1], forKey: "shot")) { XCTAssertEqual(($0 as? KeyValueError)?.code, .unknownKey) }
  }
}
