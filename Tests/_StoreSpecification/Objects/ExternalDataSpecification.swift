import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Large binary values behave as bytes, wherever a store keeps them: they are read lazily, written from files and streams, and compared by
/// content.
public final class ExternalDataSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testLargeValueIsReadInFullAndInChunks", { $0.testLargeValueIsReadInFullAndInChunks }),
        ("testChangingAnotherPropertyPreservesTheValue", { $0.testChangingAnotherPropertyPreservesTheValue }),
        ("testAValueIsReplacedAndCleared", { $0.testAValueIsReplacedAndCleared }),
        ("testSaveMovesTheFileIntoTheStore", { $0.testSaveMovesTheFileIntoTheStore }),
        ("testMissingFileFailsTheSaveAndNothingIsSaved", { $0.testMissingFileFailsTheSaveAndNothingIsSaved }),
        ("testWriterCollectsChunks", { $0.testWriterCollectsChunks }),
        ("testValueCanBeAssignedToAnotherObject", { $0.testValueCanBeAssignedToAnotherObject }),
        ("testPredicatesCompareBytes", { $0.testPredicatesCompareBytes }),
        ("testDictionariesContainBytes", { $0.testDictionariesContainBytes }),
        ("testBatchRequestsWriteAndRemoveLargeValues", { $0.testBatchRequestsWriteAndRemoveLargeValues }),
        ("testRollbackDiscardsAPendingValue", { $0.testRollbackDiscardsAPendingValue }),
        ("testPendingValueSatisfiesARequiredAttribute", { $0.testPendingValueSatisfiesARequiredAttribute }),
        ("testSmallAndEmptyValuesRoundTrip", { $0.testSmallAndEmptyValuesRoundTrip }),
        ("testFailedTransactionLeavesValuesUnchanged", { $0.testFailedTransactionLeavesValuesUnchanged }),
        ("testReplacedValueConflicts", { $0.testReplacedValueConflicts }),
        ("testOnlyBinaryAttributesCanBeLargeValues", { $0.testOnlyBinaryAttributesCanBeLargeValues }),
      ] as [(String, (ExternalDataSpecification) -> () throws -> Void)])
  }

  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Film") {
        Attribute("title", .string)
        Attribute("poster", .binary).externalStorage()
        Attribute("cut", .binary).externalStorage()
        Attribute("year", .integer32)
      }
      Entity("Feature", parent: "Film") {
        Attribute("score", .binary).required().externalStorage()
      }
    }
    guard let compiled = try? CompiledModel(model) else { preconditionFailure("\(model.validationIssues())") }
    return compiled
  }()

  /// Bytes that depend on both numbers.
  private func bytes(_ count: Int, _ seed: UInt8 = 1) -> Data {
    var value = UInt32(seed) &* 2_654_435_761
    return Data(
      (0..<count).map { _ in
        value = value &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: value >> 24)
      })
  }

  private func film(_ title: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    context.refreshAllObjects()
    return try find("Film", "title", title, in: context)
  }

  func testLargeValueIsReadInFullAndInChunks() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let poster = bytes(300_000)
    let saved = try context.insert("Film", ["title": "A", "poster": poster, "cut": bytes(200_000, 2)])
    try context.save()
    XCTAssertEqual(try saved.value(forKey: "poster") as? Data, poster)
    let found = try film("A", store.newContext())
    let value = try XCTUnwrap(found.externalData(forKey: "poster"))
    XCTAssertEqual(try value.count, poster.count)
    XCTAssertEqual(try value.data(), poster)
    XCTAssertEqual(try found.value(forKey: "poster") as? Data, poster)
    XCTAssertEqual(try found.value(forKey: "cut") as? Data, bytes(200_000, 2))
    let reader = try value.makeReader()
    var pieces: [Data] = []
    while let piece = try reader.next() { pieces.append(piece) }
    XCTAssertEqual(pieces.reduce(Data(), +), poster)
    XCTAssertTrue(pieces.allSatisfy { $0.count <= ExternalData.chunkSize })
    XCTAssertNil(try reader.next())
    let collected = try waitFor { try await value.chunks.reduce(into: Data()) { $0.append($1) } }
    XCTAssertEqual(collected, poster)
  }

  func testChangingAnotherPropertyPreservesTheValue() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    try context.insert("Film", ["title": "A", "poster": bytes(300_000), "year": Int32(1)])
    try context.save()
    let found = try film("A", store.newContext())
    try found.setValue(Int32(2), forKey: "year")
    try XCTUnwrap(found.managedObjectContext).save()
    XCTAssertEqual(try found.value(forKey: "poster") as? Data, bytes(300_000))
    let again = try film("A", store.newContext())
    XCTAssertEqual(try again.value(forKey: "year") as? Int32, 2)
    XCTAssertEqual(try again.value(forKey: "poster") as? Data, bytes(300_000))
    // Setting an equal value writes nothing.
    try again.setValue(bytes(300_000), forKey: "poster")
    XCTAssertFalse(again.hasPersistentChangedValues)
  }

  func testAValueIsReplacedAndCleared() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let film = try context.insert("Film", ["title": "A", "poster": bytes(300_000)])
    try context.save()
    for value in [bytes(300_000, 2), bytes(10), bytes(400_000, 3), nil, bytes(200_000, 4)] {
      try film.setValue(value, forKey: "poster")
      try context.save()
      XCTAssertEqual(try film.value(forKey: "poster") as? Data, value)
      let found = try self.film("A", store.newContext())
      XCTAssertEqual(try found.value(forKey: "poster") as? Data, value)
      XCTAssertEqual(try found.externalData(forKey: "poster") == nil, value == nil)
    }
  }

  func testSaveMovesTheFileIntoTheStore() throws {
    let store = try makeStore(Self.model)
    let file = try makeFolder().appendingPathComponent("poster.png")
    for count in [0, 5, 70_000, 500_000] {
      let content = bytes(count, 7)
      try content.write(to: file)
      let context = store.newContext()
      let film = try context.insert("Film", ["title": "\(count)"])
      try film.setExternalData(ExternalData(contentsOf: file), forKey: "poster")
      XCTAssertEqual(try film.externalData(forKey: "poster")?.count, count)
      XCTAssertEqual(try film.value(forKey: "poster") as? Data, content)
      try context.save()
      try FileManager.default.removeItem(at: file)
      XCTAssertEqual(try film.value(forKey: "poster") as? Data, content)
      XCTAssertEqual(try self.film("\(count)", store.newContext()).externalData(forKey: "poster")?.data(), content)
    }
    assertStoreError(.storeNotFound) { try ExternalData(contentsOf: file) }
    assertStoreError(.invalidRequest) { try ExternalData(contentsOf: file.deletingLastPathComponent()) }
  }

  func testMissingFileFailsTheSaveAndNothingIsSaved() throws {
    let store = try makeStore(Self.model)
    let file = try makeFolder().appendingPathComponent("poster.png")
    try bytes(300_000).write(to: file)
    let context = store.newContext()
    let film = try context.insert("Film", ["title": "A"])
    try film.setExternalData(ExternalData(contentsOf: file), forKey: "poster")
    try FileManager.default.removeItem(at: file)
    assertStoreError(.io) { try context.save() }
    XCTAssertEqual(try store.count("Film"), 0)
    try bytes(300_000).write(to: file)
    try context.save()
    XCTAssertEqual(try self.film("A", store.newContext()).value(forKey: "poster") as? Data, bytes(300_000))
  }

  func testWriterCollectsChunks() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let film = try context.insert("Film", ["title": "A"])
    let writer = try film.makeExternalDataWriter()
    for number in 0..<10 { try writer.write(bytes(50_000, UInt8(number))) }
    let value = try writer.finish()
    assertStoreError(.invalidRequest) { try writer.write(Data([1])) }
    assertStoreError(.invalidRequest) { try writer.finish() }
    let whole = (0..<10).reduce(Data()) { $0 + bytes(50_000, UInt8($1)) }
    XCTAssertEqual(try value.data(), whole)
    try film.setExternalData(value, forKey: "poster")
    // One value for two objects: each gets its own copy.
    let second = try context.insert("Film", ["title": "B"])
    try second.setExternalData(value, forKey: "cut")
    try context.save()
    XCTAssertEqual(try self.film("A", store.newContext()).value(forKey: "poster") as? Data, whole)
    context.delete(film)
    try context.save()
    XCTAssertEqual(try self.film("B", store.newContext()).value(forKey: "cut") as? Data, whole)
    // Small values use the same writer as large ones.
    let small = try second.makeExternalDataWriter()
    try small.write(bytes(9))
    try second.setExternalData(small.finish(), forKey: "cut")
    try context.save()
    XCTAssertEqual(try self.film("B", store.newContext()).value(forKey: "cut") as? Data, bytes(9))
  }

  func testValueCanBeAssignedToAnotherObject() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let first = try context.insert("Film", ["title": "A", "poster": bytes(300_000)])
    try context.save()
    let second = try context.insert("Film", ["title": "B"])
    try second.setExternalData(first.externalData(forKey: "poster"), forKey: "poster")
    try first.setExternalData(first.externalData(forKey: "poster"), forKey: "cut")
    try context.save()
    try first.setValue(nil, forKey: "poster")
    try context.save()
    let found = try film("A", store.newContext())
    XCTAssertNil(try found.value(forKey: "poster"))
    XCTAssertEqual(try found.value(forKey: "cut") as? Data, bytes(300_000))
    XCTAssertEqual(try film("B", store.newContext()).value(forKey: "poster") as? Data, bytes(300_000))
  }

  func testPredicatesCompareBytes() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let (large, small) = (bytes(300_000), bytes(20))
    try context.insert("Film", ["title": "large", "poster": large, "cut": small])
    try context.insert("Film", ["title": "other", "poster": bytes(300_000, 2), "cut": bytes(300_000, 2)])
    try context.insert("Film", ["title": "small", "poster": small, "cut": large])
    try context.insert("Film", ["title": "none"])
    try context.save()
    func titles(_ predicate: FetchPredicate) throws -> [String] {
      var request = FetchRequest<ManagedObject>(entityName: "Film", predicate: predicate)
      request.sortDescriptors = [FetchSortDescriptor("title")]
      let answer = try store.newContext().texts("title", request)
      XCTAssertEqual(
        try store.newContext().all("Film").filter { try predicate.evaluate(with: $0) }.compactMap { $0.text("title") }.sorted(), answer)
      return answer
    }
    XCTAssertEqual(try titles(.compare("poster", .equal, large)), ["large"])
    XCTAssertEqual(try titles(.compare("poster", .equal, small)), ["small"])
    XCTAssertEqual(try titles(.compare("poster", .equal, bytes(300_000, 9))), [])
    XCTAssertEqual(try titles(FetchPredicate(format: "poster != %@", large)), ["none", "other", "small"])
    XCTAssertEqual(try titles(FetchPredicate(format: "poster == nil")), ["none"])
    XCTAssertEqual(try titles(FetchPredicate(format: "poster != nil")), ["large", "other", "small"])
    XCTAssertEqual(try titles(FetchPredicate(format: "poster == cut")), ["none", "other"])
    XCTAssertEqual(try titles(FetchPredicate(format: "poster IN %@", [large, small])), ["large", "small"])
  }

  func testDictionariesContainBytes() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    try context.insert("Film", ["title": "A", "poster": bytes(300_000)])
    try context.save()
    var specification = FetchSpecification(entityName: "Film")
    specification.propertiesToFetch = ["title", "poster"]
    let rows = try store.dictionaries(specification)
    XCTAssertEqual(rows.rows, [[.text("A"), .bytes(bytes(300_000))]])
  }

  func testBatchRequestsWriteAndRemoveLargeValues() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    _ = try context.execute(
      BatchInsertRequest(
        entityName: "Film", objects: (1...4).map { ["title": "\($0)", "poster": bytes(200_000, UInt8($0))] }))
    for number in 1...4 {
      XCTAssertEqual(try film("\(number)", store.newContext()).value(forKey: "poster") as? Data, bytes(200_000, UInt8(number)))
    }
    _ = try context.execute(
      BatchUpdateRequest(entityName: "Film", predicate: .compare("title", .equal, "2"), propertiesToUpdate: ["poster": bytes(200_000, 9)]))
    _ = try context.execute(BatchDeleteRequest(entityName: "Film", predicate: .compare("title", .equal, "3")))
    XCTAssertEqual(try film("2", store.newContext()).value(forKey: "poster") as? Data, bytes(200_000, 9))
    XCTAssertEqual(try film("4", store.newContext()).value(forKey: "poster") as? Data, bytes(200_000, 4))
    XCTAssertEqual(try store.count("Film"), 3)
  }

  func testRollbackDiscardsAPendingValue() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let film = try context.insert("Film", ["title": "A", "poster": bytes(300_000)])
    try context.save()
    try film.setExternalData(ExternalData(bytes(400_000, 2)), forKey: "poster")
    XCTAssertTrue(film.isUpdated)
    XCTAssertTrue(film.hasPersistentChangedValues)
    context.rollback()
    XCTAssertEqual(try film.value(forKey: "poster") as? Data, bytes(300_000))
    XCTAssertFalse(context.hasChanges)
  }

  func testPendingValueSatisfiesARequiredAttribute() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let feature = try context.insert("Feature", ["title": "A"])
    XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is ValidationError, "\($0)") }
    try feature.setExternalData(ExternalData(bytes(300_000)), forKey: "score")
    try context.save()
    XCTAssertEqual(try film("A", store.newContext()).value(forKey: "score") as? Data, bytes(300_000))
  }

  func testSmallAndEmptyValuesRoundTrip() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    for count in [0, 1, 16_383, 16_384, 65_536, 131_071, 131_072, 131_073, 1_048_576] {
      try context.insert("Film", ["title": "\(count)", "poster": bytes(count), "cut": Data()])
    }
    try context.save()
    for film in try store.newContext().all("Film") {
      let count = Int(film.text("title") ?? "") ?? -1
      XCTAssertEqual(try film.value(forKey: "poster") as? Data, bytes(count))
      XCTAssertEqual(try film.value(forKey: "cut") as? Data, Data())
      XCTAssertEqual(try film.externalData(forKey: "cut")?.data(), Data())
    }
  }

  func testFailedTransactionLeavesValuesUnchanged() throws {
    struct Stop: Error {}
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let film = try context.insert("Film", ["title": "A", "poster": bytes(300_000)])
    try context.save()
    XCTAssertThrowsError(
      try context.performTransaction {
        try film.setValue(bytes(300_000, 2), forKey: "poster")
        try context.save()
        try context.insert("Film", ["title": "B", "poster": bytes(300_000, 3)])
        try context.save()
        throw Stop()
      })
    XCTAssertEqual(try self.film("A", store.newContext()).value(forKey: "poster") as? Data, bytes(300_000))
    XCTAssertEqual(try store.count("Film"), 1)
  }

  func testReplacedValueConflicts() throws {
    for (policy, expected) in [
      (MergePolicy.mergeByPropertyStoreTrump, bytes(300_000, 2)), (.mergeByPropertyObjectTrump, bytes(300_000, 3)),
    ] {
      let store = try makeStore(Self.model)
      let context = store.newContext()
      context.mergePolicy = policy
      context.automaticallyMergesChangesFromParent = false
      let mine = try context.insert("Film", ["title": "A", "poster": bytes(300_000)])
      try context.save()
      let other = store.newContext()
      let theirs = try find("Film", "title", "A", in: other)
      try theirs.setValue(bytes(300_000, 2), forKey: "poster")
      try theirs.setValue(Int32(7), forKey: "year")
      try other.save()
      try mine.setValue(bytes(300_000, 3), forKey: "poster")
      try context.save()
      XCTAssertEqual(try mine.value(forKey: "poster") as? Data, expected)
      let found = try film("A", store.newContext())
      XCTAssertEqual(try found.value(forKey: "poster") as? Data, expected)
      XCTAssertEqual(try found.value(forKey: "year") as? Int32, 7)
    }
  }

  func testOnlyBinaryAttributesCanBeLargeValues() throws {
    let context = try makeStore(Self.model).newContext()
    let film = try context.insert("Film")
    for key in ["title", "nothing"] {
      XCTAssertThrowsError(try film.externalData(forKey: key)) { XCTAssertTrue($0 is KeyValueError, "\($0)") }
      XCTAssertThrowsError(try film.setExternalData(nil, forKey: key)) { XCTAssertTrue($0 is KeyValueError, "\($0)") }
    }
    XCTAssertNil(try film.externalData(forKey: "poster"))
  }
}
