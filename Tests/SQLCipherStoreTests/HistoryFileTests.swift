import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// The history in an encrypted store's file: cost, format, and detection of switches.
final class HistoryFileTests: XCTestCase {
  private func tracked(_ store: TestStore, _ level: HistoryLevel? = nil, _ model: CompiledModel = SpecificationModels.library) throws
    -> OpenStore
  {
    var description = store.description
    description.historyTracking = true
    description.historyLevel = level
    return try OpenStore(description, model: model)
  }

  /// Returns all recorded transactions, including the start of the history.
  private func transactions(_ open: OpenStore) throws -> [PersistentHistoryTransaction] {
    var request = PersistentHistoryChangeRequest.fetchHistory(after: nil)
    request.transactionPredicate = try FetchPredicate(format: "kind != nil")
    return try open.coordinator.execute(request).transactions
  }

  private func value(_ sql: String, _ store: TestStore) throws -> Int64 {
    let connection = try Connection(opening: store.url.path, key: try store.databaseKey())
    defer { connection.close() }
    let statement = try connection.statement(sql: sql)
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : -1
  }

  // MARK: Transactions of earlier versions

  func testATransactionWhoseRowsHaveSeveralKindsIsFoundByItsFirstKind() throws {
    let store = try TestStore()
    let open = try tracked(store)
    try open.store.performTransaction {
      for name in ["1", "2"] { try open.insert("Tag", ["name": .text(name)]) }
    }
    try open.insert("Tag", ["name": .text("3")])
    // Earlier versions added the rows of a batch request to the transaction of a save before it.
    try store.execute("UPDATE cipherdata_history SET kind = 2 WHERE start IS NOT NULL")
    let all = try transactions(open)
    XCTAssertEqual(all.map { $0.changes?.count }, [0, 2, 1])
    for (kind, after, counts) in [("save", all[0], [1, 1]), ("batch", all[0], []), ("batch", all[1], [])] {
      var request = PersistentHistoryChangeRequest.fetchHistory(after: after)
      request.transactionPredicate = try FetchPredicate(format: "kind == %@", kind)
      XCTAssertEqual(try open.coordinator.execute(request).transactions.map { $0.changes?.count }, counts, kind)
    }
  }

  // MARK: Cost

  func testStoreWithoutHistoryHasNoOverhead() throws {
    let store = try TestStore()
    let open = try store.open()
    let tag = try open.insert("Tag", ["name": .text("red")])
    let pending = open.newSave()
    try pending.update(tag, ["name": .text("blue")])
    let statements = try store.statements { try pending.commit() }
    XCTAssertEqual(statements.count, 1, "\(statements)")
    XCTAssertFalse(try store.ddl().contains { $0.contains("history") })
    XCTAssertEqual(try value("SELECT format FROM cipherdata_metadata", store), 2)
  }

  func testSaveWithHistoryWritesOneAdditionalRow() throws {
    let store = try TestStore()
    let open = try tracked(store)
    let tag = try open.insert("Tag", ["name": .text("red")])
    let pending = open.newSave()
    try pending.update(tag, ["name": .text("blue")])
    let statements = try store.statements { try pending.commit() }
    XCTAssertEqual(statements.count, 2, "\(statements)")
    XCTAssertTrue(statements.last?.hasPrefix("INSERT INTO cipherdata_history VALUES") ?? false, "\(statements)")
    // Two thousand new rows are one history row of a few bytes.
    let context = open.newContext()
    try context.execute(BatchInsertRequest(entityName: "Chapter", objects: (1...2_000).map { _ in [:] }))
    XCTAssertEqual(try value("SELECT count(*) FROM cipherdata_history", store), 4)
    XCTAssertLessThan(try value("SELECT max(length(changes)) FROM cipherdata_history", store), 40)
  }

  func testValuesAreReadWithOneStatement() throws {
    let store = try TestStore()
    let open = try tracked(store, .values)
    let tags = try open.save { save in try (1...5).map { try save.insert("Tag", ["name": .text("\($0)")]) } }
    let pending = open.newSave()
    for (number, tag) in tags.enumerated() { try pending.update(tag, ["name": .text("new \(number)")]) }
    let statements = try store.statements { try pending.commit() }
    XCTAssertEqual(statements.filter { $0.hasPrefix("SELECT") }.count, 1, "\(statements)")
    XCTAssertEqual(statements.count, 7)
  }

  // MARK: Switching

  func testFormatNumberReflectsHistory() throws {
    let store = try TestStore()
    var open = try tracked(store)
    try open.insert("Tag", ["name": .text("red")])
    try open.close()
    XCTAssertEqual(try value("SELECT format FROM cipherdata_metadata", store), 4)
    XCTAssertEqual(try store.ddl().filter { $0.contains("cipherdata_history") && $0.hasPrefix("CREATE TABLE") }.count, 3)
    // Without the option the store keeps its state.
    open = try store.open()
    XCTAssertEqual(try open.persistentStore.historyLevel, .properties)
    try open.insert("Tag", ["name": .text("blue")])
    XCTAssertEqual(try transactions(open).map(\.kind), [.begin, .save, .save])
    try open.close()
    var description = store.description
    description.historyTracking = false
    open = try OpenStore(description, model: SpecificationModels.library)
    XCTAssertNil(try open.persistentStore.historyLevel)
    try open.close()
    XCTAssertEqual(try value("SELECT format FROM cipherdata_metadata", store), 2)
    XCTAssertFalse(try store.ddl().contains { $0.contains("cipherdata_history") })
    open = try store.open()
    XCTAssertEqual(try open.count("Tag"), 2)
    try open.close()
    open = try tracked(store, .values)
    try open.insert("Tag", ["name": .text("green")])
    XCTAssertEqual(try transactions(open).map(\.kind), [.begin, .save])
    XCTAssertEqual(try transactions(open).last?.changes?.first?.newValues?["name"] as? String, "green")
  }

  /// Checks what a library without history support reads: the format, the schema, the metadata's columns, and the layout except for unknown
  /// keys.
  func testDisablingHistoryRestoresTheOlderFormat() throws {
    let (plain, switched) = (try TestStore(), try TestStore())
    try plain.open().close()
    var open = try tracked(switched, .values)
    try open.insert("Tag", ["name": .text("red")])
    try open.close()
    XCTAssertEqual(try metadata(switched)["format"], "4")
    XCTAssertTrue(try metadata(switched)["layout"]?.contains("historyID") ?? false)
    var description = switched.description
    description.historyTracking = false
    open = try OpenStore(description, model: SpecificationModels.library)
    try open.insert("Book", ["title": .text("One")])
    try open.close()
    // Except for the empty new metadata column, the file equals that of a store without a history.
    func isMetadata(_ text: String) -> Bool { text.contains("cipherdata_metadata") }
    XCTAssertEqual(try switched.ddl().filter { !isMetadata($0) }.sorted(), try plain.ddl().filter { !isMetadata($0) }.sorted())
    var (old, new) = (try metadata(plain), try metadata(switched))
    XCTAssertEqual(new["format"], "2")
    XCTAssertEqual(new.removeValue(forKey: "side_tables"), "[]")
    XCTAssertEqual(Set(new.keys), Set(old.keys))
    let layouts = try [old, new].map { try JSONSerialization.jsonObject(with: Data(($0["layout"] ?? "").utf8)) }
    XCTAssertEqual(try withoutHistory(layouts[1]), try withoutHistory(layouts[0]))
    let bases = [old, new].map { $0["layout_basis"] ?? "" }
    XCTAssertEqual(bases[1], MetadataTable.indexesOnly + bases[0], "the layout is read, and the indexes are known")
    for name in ["layout", "layout_basis", "identifier"] { (old[name], new[name]) = (nil, nil) }
    XCTAssertEqual(new, old)
    // Such a library may rewrite the layout, without the history's identifiers.
    try switched.execute("UPDATE cipherdata_metadata SET layout = '\(try withoutHistory(layouts[1]))'")
    open = try tracked(switched)
    try open.insert("Tag", ["name": .text("blue")])
    XCTAssertEqual(try transactions(open).map(\.kind), [.begin, .save])
    XCTAssertEqual(try open.count("Tag"), 2)
    try open.close()
  }

  /// The metadata by column: texts verbatim, other values as SQL literals.
  private func metadata(_ store: TestStore) throws -> [String: String] {
    let connection = try Connection(opening: store.url.path, key: try store.databaseKey())
    defer { connection.close() }
    let columns = try connection.statement(sql: "PRAGMA table_info(cipherdata_metadata)")
    var names: [String] = []
    while try columns.step() { names.append(columns.text(1)) }
    columns.reset()
    var found: [String: String] = [:]
    for name in names {
      let statement = try connection.statement(sql: "SELECT quote(\(name)), \(name) FROM cipherdata_metadata")
      defer { statement.reset() }
      guard try statement.step() else { continue }
      let quoted = statement.text(0)
      found[name] = quoted.hasPrefix("'") ? statement.text(1) : quoted
    }
    return found
  }

  /// A layout's JSON with sorted keys, without the history's additions.
  private func withoutHistory(_ layout: Any) throws -> String {
    func cleared(_ value: Any) -> Any {
      if let list = value as? [Any] { return list.map(cleared) }
      guard let members = value as? [String: Any] else { return value }
      return members.filter { !["historyID", "inverseHistoryID", "history"].contains($0.key) }.mapValues(cleared)
    }
    return String(decoding: try JSONSerialization.data(withJSONObject: cleared(layout), options: [.sortedKeys]), as: UTF8.self)
  }

  func testOpenStoresDetectHistoryChanges() throws {
    let store = try TestStore()
    let (one, other) = (try store.open(), try store.open())
    try one.insert("Tag", ["name": .text("1")])
    let history = try XCTUnwrap(other.store as? any HistoryStore)
    try history.setHistory(HistorySettings())
    try one.insert("Tag", ["name": .text("2")])
    XCTAssertEqual(try transactions(other).map(\.kind), [.begin, .save])
    XCTAssertEqual(try transactions(one).map(\.kind), [.begin, .save])
    try history.setHistory(HistorySettings(level: .values))
    try one.insert("Tag", ["name": .text("3")])
    XCTAssertEqual(try transactions(other).last?.changes?.first?.newValues?["name"] as? String, "3")
    try history.setHistory(nil)
    try one.insert("Tag", ["name": .text("4")])
    XCTAssertNil(try one.persistentStore.historyLevel)
    XCTAssertEqual(try other.count("Tag"), 4)
    try history.setHistory(HistorySettings())
    try one.insert("Tag", ["name": .text("5")])
    XCTAssertEqual(try transactions(one).map { $0.changes?.count }, [0, 1])
    XCTAssertEqual(Set(try transactions(one).map(\.opening)).count, 2, "each opening is another one")
  }

  func testReadOnlyStoreKeepsItsHistorySetting() throws {
    let store = try TestStore()
    try store.open().insert("Tag", ["name": .text("1")])
    var description = store.description
    description.isReadOnly = true
    description.historyTracking = true
    let open = try OpenStore(description, model: SpecificationModels.library)
    XCTAssertNil(try open.persistentStore.historyLevel)
    XCTAssertThrowsError(try (open.store as? any HistoryStore)?.setHistory(HistorySettings()))
  }

  // MARK: Failures

  func testRestoredCopyRejectsLaterTokens() throws {
    let store = try TestStore()
    var open = try tracked(store)
    try open.insert("Tag", ["name": .text("1")])
    let common = try XCTUnwrap(open.coordinator.currentPersistentHistoryToken())
    try open.close()
    let bytes = try Data(contentsOf: store.url)
    open = try store.open()
    try open.insert("Tag", ["name": .text("2")])
    let later = try XCTUnwrap(open.coordinator.currentPersistentHistoryToken())
    try open.close()
    for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.url.path + name) }
    try bytes.write(to: store.url)
    open = try store.open()
    assertStoreError(.historyTokenUnknown) { try open.coordinator.execute(.fetchHistory(after: later)) }
    // Another row gets its number, with another mark.
    try open.insert("Tag", ["name": .text("3")])
    assertStoreError(.historyTokenUnknown) { try open.coordinator.execute(.fetchHistory(after: later)) }
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: common)).transactions.count, 1)
  }

  func testDamagedHistoryPreventsNeitherReadingNorSaving() throws {
    let store = try TestStore()
    var open = try tracked(store)
    for name in ["1", "2", "3"] { try open.insert("Tag", ["name": .text(name)]) }
    let all = try transactions(open)
    try open.close()
    try store.execute("UPDATE cipherdata_history SET changes = x'FF00FF' WHERE number = \(all[2].transactionNumber)")
    open = try store.open()
    let error = assertStoreError(.storeCorrupt) { try transactions(open) }
    XCTAssertTrue(error?.message.contains("record \(all[2].transactionNumber)") ?? false, error?.message ?? "")
    XCTAssertEqual(try open.count("Tag"), 3)
    try open.insert("Tag", ["name": .text("4")])
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: all[2])).transactions.count, 2)
    try open.close()
    try store.execute("UPDATE cipherdata_history SET kind = 77 WHERE number = \(all[1].transactionNumber)")
    open = try store.open()
    assertStoreError(.storeCorrupt) { try transactions(open) }
    try open.insert("Tag", ["name": .text("5")])
    // The history can be switched off and on again.
    let history = try XCTUnwrap(open.store as? any HistoryStore)
    try history.setHistory(nil)
    try history.setHistory(HistorySettings())
    XCTAssertEqual(try transactions(open).map(\.kind), [.begin])
  }

  func testHistoryIsDeletedInBatchesFromTheStart() throws {
    let store = try TestStore()
    let open = try tracked(store)
    for number in 1...1_200 { try open.insert("Tag", ["name": .text("\(number)")]) }
    let history = try XCTUnwrap(open.store as? any HistoryStore)
    XCTAssertTrue(try history.deleteHistory(before: 1_000, rowLimit: 500))
    XCTAssertEqual(try transactions(open).first?.transactionNumber, 502)
    let statements = try store.statements { _ = try open.coordinator.execute(.deleteHistory(before: nil)) }
    XCTAssertEqual(statements.filter { $0.hasPrefix("DELETE") }.count, 2)
    XCTAssertEqual(try transactions(open).count, 1)
  }

  func testVerificationReportsUnreadableRecords() throws {
    let store = try TestStore()
    let open = try tracked(store, .values)
    for number in 1...3 { try open.insert("Tag", ["name": .text("\(number)")]) }
    let number = try transactions(open)[2].transactionNumber
    try open.close()
    let url = store.url
    func findings() throws -> [String] {
      try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).findings(.quick).map(\.description) }
    }
    XCTAssertEqual(try findings(), [])
    // An unknown entity identifier, and bytes that are not a record.
    for bytes in ["01FF7F0101", "FF"] {
      try store.execute("UPDATE cipherdata_history SET changes = x'\(bytes)' WHERE number = \(number)")
      XCTAssertEqual(try findings(), ["the record \(number) of the history cannot be read"])
    }
  }

  func testPlaintextCopyOmitsHistoryByDefault() throws {
    let store = try TestStore()
    let open = try tracked(store, .values)
    try open.insert("Tag", ["name": .text("red")])
    try open.close()
    let (url, plain, complete) = (store.url, store.folder.file("plain"), store.folder.file("complete"))
    try waitFor {
      let file = try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key)
      try await file.exportPlaintext(to: plain)
      try await file.exportPlaintext(to: complete, includesHistory: true)
    }
    XCTAssertFalse(String(decoding: try Data(contentsOf: plain), as: UTF8.self).contains("cipherdata_history"))
    for (source, kinds) in [(plain, nil), (complete, [PersistentHistoryTransaction.Kind.begin, .save])] {
      let back = store.folder.file("back-\(source.lastPathComponent)")
      _ = try waitFor { try await SQLCipherStoreFile.importPlaintext(from: source, to: back, key: TestStore.key) }
      var description = store.description
      description.url = back
      let again = try OpenStore(description, model: SpecificationModels.library)
      XCTAssertEqual(try again.count("Tag"), 1)
      if let kinds {
        XCTAssertEqual(try transactions(again).map(\.kind), kinds)
      } else {
        XCTAssertNil(try again.persistentStore.historyLevel)
      }
      try again.close()
    }
  }

  func testRetentionRunsAfterSavesAndStopsAtConsumers() throws {
    let store = try TestStore()
    var description = store.description
    description.historyTracking = true
    description.historyRetention = .transactions(10)
    let open = try OpenStore(description, model: SpecificationModels.library)
    for number in 1...200 { try open.insert("Tag", ["name": .text("\(number)")]) }
    var all = try transactions(open)
    XCTAssertGreaterThanOrEqual(all.count, 10)
    XCTAssertLessThanOrEqual(all.count, 10 + HistoryPurge.interval + 2)
    XCTAssertEqual(all.last?.transactionNumber, 201)
    try open.coordinator.registerHistoryConsumer("slow", after: all[0].token)
    for number in 201...300 { try open.insert("Tag", ["name": .text("\(number)")]) }
    XCTAssertEqual(try transactions(open).first, all[0], "who has not read it yet still finds it")
    try open.coordinator.markHistoryConsumed(upTo: try XCTUnwrap(transactions(open).last).token, by: "slow")
    try open.coordinator.removeHistoryConsumer("slow")
    for number in 301...400 { try open.insert("Tag", ["name": .text("\(number)")]) }
    all = try transactions(open)
    XCTAssertLessThanOrEqual(all.count, 10 + HistoryPurge.interval + 2)
    try open.close()
    description.historyRetention = .age(3_600)
    let young = try OpenStore(description, model: SpecificationModels.library)
    try young.insert("Tag", ["name": .text("young")])
    XCTAssertEqual(try transactions(young).count, all.count + 1)
    try young.close()
    try store.execute("UPDATE cipherdata_history SET time = time - 7200")
    let old = try OpenStore(description, model: SpecificationModels.library)
    try old.insert("Tag", ["name": .text("new")])
    XCTAssertLessThanOrEqual(try transactions(old).count, 2, "the newest of the old ones may still be the newest when it is looked")
  }

  func testInsertingOneOfTenThousandOrderedMembersWritesLessThanAHundredBytes() throws {
    let store = try TestStore()
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Book") {
          Relationship("chapters", toMany: "Chapter", inverse: "book").ordered()
          Relationship("tags", toMany: "Tag", inverse: "books").ordered()
        }
        Entity("Chapter") { Relationship("book", to: "Book", inverse: "chapters") }
        Entity("Tag") { Relationship("books", toMany: "Book", inverse: "tags") }
      })
    let open = try tracked(store, .values, model)
    let context = open.newContext()
    let book = try context.insert("Book")
    for (name, entity) in [("chapters", "Chapter"), ("tags", "Tag")] {
      try book.setValue(try (0..<10_000).map { _ in try context.insert(entity) }, forKey: name)
    }
    try context.save()
    for (name, entity) in [("chapters", "Chapter"), ("tags", "Tag")] {
      let before = book.list(name)
      let added = try context.insert(entity)
      try book.setValue(Array(before.prefix(5_000) + [added] + before.suffix(5_000)), forKey: name)
      try context.save()
      let newest = try XCTUnwrap((open.store as? any HistoryStore)?.historyBounds()?.newest.number)
      var query = HistoryQuery()
      query.after = newest - 1
      let entries = try XCTUnwrap((open.store as? any HistoryStore)?.historyEntries(query, byteLimit: 1 << 20))
      XCTAssertLessThan(entries.map(\.changes.count).reduce(0, +), 100, name)
      let changes = try XCTUnwrap(transactions(open).last?.changes)
      let change = try XCTUnwrap(changes.first { $0.orders[name] != nil })
      XCTAssertEqual(change.order(before.map(\.objectID), of: name), book.list(name).map(\.objectID))
      XCTAssertEqual(change.orders[name], [.init(after: before[4_999].objectID, members: [added.objectID])])
    }
  }

  // MARK: Migrations

  private func library(_ version: String, @EntityBuilder _ book: () -> [any EntityComponent]) throws -> CompiledModel {
    let book = book()
    return try CompiledModel(
      ManagedObjectModel(version: version) {
        Entity("Book") { book }
        if version == "older" { Entity("Author") { Attribute("name", .string) } }
        Entity(version == "older" ? "Tag" : "Label") {
          Attribute("name", .string)
          Relationship("books", toMany: "Book", inverse: version == "older" ? "tags" : "labels")
        }.renamed(from: "Tag")
      })
  }

  func testRecordsAreReadWithTheNamesOfALaterModel() throws {
    let store = try TestStore()
    let older = try library("older") {
      Attribute("title", .string)
      Attribute("pages", .integer32)
      Relationship("tags", toMany: "Tag", inverse: "books")
    }
    let newer = try library("newer") {
      Attribute("name", .string).renamed(from: "title")
      Relationship("labels", toMany: "Label", inverse: "books").renamed(from: "tags")
    }
    var open = try tracked(store, .values, older)
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "red"])
    let book = try context.insert("Book", ["title": "One", "pages": 7 as Int32])
    try book.setValue(Set([tag]), forKey: "tags")
    try context.insert("Author", ["name": "Anna"])
    try context.save()
    let place = try XCTUnwrap(open.coordinator.currentPersistentHistoryToken())
    try open.close()

    open = try OpenStore(store.description, model: newer)
    let all = try transactions(open)
    XCTAssertEqual(all.map(\.kind), [.begin, .save, .migration])
    XCTAssertFalse(all[2].isWhole)
    let removed = all[2].schemaChanges.map { "\($0.kind) \($0.entityName) \($0.propertyName ?? "")" }
    XCTAssertEqual(Set(removed), ["objectsRemoved Author ", "propertyRemoved Book pages"])
    XCTAssertEqual(all[1].skippedChangeCount, 1, "the author's entity was removed")
    let changes = try XCTUnwrap(all[1].changes)
    let inserted = try XCTUnwrap(changes.first { $0.changedObjectID.entityName == "Book" && $0.changeType == .insert })
    XCTAssertEqual(inserted.newValues?["name"] as? String, "One")
    XCTAssertEqual(inserted.newValues?["pages"] as? Int64, 7, "what the model has no more has its last name")
    let links = changes.flatMap(\.links)
    XCTAssertEqual(links.map(\.relationship).map { ["labels", "books"].contains($0) }, [true])
    XCTAssertTrue(changes.contains { $0.changedObjectID.entityName == "Label" })
    // Later records use the new identifiers, and are read together with the old ones.
    let after = open.newContext()
    let found = try XCTUnwrap(after.all("Book").first)
    try found.setValue("Two", forKey: "name")
    try after.save()
    let last = try XCTUnwrap(open.coordinator.execute(.fetchHistory(after: place)).transactions.last)
    XCTAssertEqual(last.changes?.map(\.updatedProperties), [["name"]])
    XCTAssertEqual(last.changes?.first?.oldValues?["name"] as? String, "One")
  }
}
