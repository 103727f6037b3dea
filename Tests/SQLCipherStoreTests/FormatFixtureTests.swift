import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectContext
@testable import SQLCipherStore
@testable import StoreFiles
@testable import StoreKeys

/// Stores and key files of earlier versions of the library open with all their contents. See `Fixtures/README.md`.
final class FormatFixtureTests: XCTestCase {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures")
  private static let key = StoreKey.passphrase(SecretBytes(utf8: "fixture"), .cheapForTests())
  private static let rawKey = StoreKey.raw(SecretBytes([UInt8](repeating: 7, count: 32)))
  private static let recoveryKeys = [
    1: "67B9FS6B-6KD8YPER-J61BQQWC-M7JWZ1QA-SNH4ZTEZ-D8M0XG5G-ARSGP21E-3YNGF45M",
    3: "7RX9FP4S-6J5ZTQRD-Z6XK5H7R-JZGVTJ3G-KZW5WWNB-Q9786VPS-QTN7N7HN-T6HE0B7N",
    4: "HZFW706E-D6P38HAC-DD0XW0C3-H1AK98GQ-1F555ERZ-T45CHPFB-EQFBAD58-SRTVYYMN",
    2: "JZRZERVW-C93HTAFM-9BRGQ5N6-XXZ7Q5CJ-H274GCTX-11R423T7-XT98KKQ5-XSXG6R83",
  ]

  /// The first format whose fixture has stable IDs.
  private static let firstFormatWithStableIDs = 4

  /// All format versions. The last is that of a store with a history.
  private static let formats = 1...MetadataTable.formatVersionWithHistory

  /// The model that a format's fixture was written with.
  private static func model(_ format: Int) -> ManagedObjectModel {
    ManagedObjectModel(version: "formats") {
      Entity("Person") {
        Attribute("name", .string).required()
        Attribute("email", .string)
        if format > 1 { Attribute("bookCount", .integer64).derived("books.@count") }
        Relationship("books", toMany: "Book", inverse: "author").ordered()
        Unique("email")
      }
      Entity("Book") {
        Attribute("title", .string)
        Attribute("pages", .integer32)
        Attribute("price", .decimal)
        Attribute("weight", .double)
        Attribute("isRead", .boolean)
        Attribute("published", .date)
        Attribute("code", .uuid)
        Attribute("page", .uri)
        Attribute("cover", .binary)
        if format > 1 { Attribute("photo", .binary).externalStorage() }
        Relationship("author", to: "Person", inverse: "books")
        Relationship("tags", toMany: "Tag", inverse: "books")
        Index("byTitle", .ascending("title", collation: .caseAndDiacriticInsensitive))
        Index("words", fullText: "title")
      }
      Entity("Novel", parent: "Book") { Attribute("hero", .string) }
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("books", toMany: "Book", inverse: "tags")
      }
    }
  }

  private static let cover = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })
  private static let photo = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
  private static let code = UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF")

  private static func fill(_ context: ManagedObjectContext, format: Int) throws {
    let person = try context.make("Person", ["name": "Émile", "email": "emile@example.org"])
    let tags = [try context.make("Tag", ["name": "red"]), try context.make("Tag", ["name": "blue"])]
    var values: [String: Any] = [
      "title": "Ein Fisch \u{1f41f}", "pages": Int32(123), "price": try XCTUnwrap(Decimal(string: "12.34")), "weight": 0.5, "isRead": true,
      "published": Date(timeIntervalSinceReferenceDate: 1_000_000), "code": try XCTUnwrap(code),
      "page": try XCTUnwrap(URL(string: "https://example.org/fisch")), "cover": cover, "tags": Set(tags),
    ]
    if format > 1 { values["photo"] = photo }
    let first = try context.make("Book", values)
    let second = try context.make("Novel", ["title": "Der Roman", "hero": "Effi", "tags": Set([tags[1]])])
    try person.setValue([second, first], forKey: "books")
  }

  private func check(_ context: ManagedObjectContext, format: Int, more books: Int = 0) throws {
    let person = try context.one("Person")
    XCTAssertEqual(person["name"] as? String, "Émile")
    XCTAssertEqual(person["email"] as? String, "emile@example.org")
    let titles = ((try person.value(forKey: "books") as? [ManagedObject]) ?? []).map { $0["title"] as? String }
    XCTAssertEqual(titles.prefix(2), ["Der Roman", "Ein Fisch \u{1f41f}"])
    let fish = try context.one("Book", "title", "Ein Fisch \u{1f41f}")
    XCTAssertEqual(fish["pages"] as? Int32, 123)
    XCTAssertEqual(fish["price"] as? Decimal, Decimal(string: "12.34"))
    XCTAssertEqual(fish["weight"] as? Double, 0.5)
    XCTAssertEqual(fish["isRead"] as? Bool, true)
    XCTAssertEqual(fish["published"] as? Date, Date(timeIntervalSinceReferenceDate: 1_000_000))
    XCTAssertEqual(fish["code"] as? UUID, Self.code)
    XCTAssertEqual(fish["page"] as? URL, URL(string: "https://example.org/fisch"))
    XCTAssertEqual(fish["cover"] as? Data, Self.cover)
    XCTAssertEqual((try fish.value(forKey: "tags") as? Set<ManagedObject>)?.compactMap { $0["name"] as? String }.sorted(), ["blue", "red"])
    XCTAssertEqual(try context.one("Novel")["hero"] as? String, "Effi")
    if format > 1 {
      XCTAssertEqual(fish["photo"] as? Data, Self.photo)
      XCTAssertEqual(person["bookCount"] as? Int64, Int64(2 + books))
    }
    XCTAssertEqual(try fish.stableID != nil, format >= Self.firstFormatWithStableIDs)
    if let id = try fish.stableID { XCTAssertEqual(try context.object(forStableID: id), fish) }
    // Through the indexes.
    for condition in ["title ==[cd] 'EIN FISCH \u{1f41f}'", "title SEARCH 'fisch'", "ANY tags.name == 'red'"] {
      let request = FetchRequest<ManagedObject>(entityName: "Book", predicate: try FetchPredicate(format: condition))
      XCTAssertEqual(try context.fetch(request).map(\.objectID), [fish.objectID], condition)
    }
  }

  /// Copies a format's store to a temporary folder.
  private func copy(_ format: Int) throws -> (folder: TemporaryFolder, description: PersistentStoreDescription) {
    let folder = try TemporaryFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: Self.folder.path) where name.contains("format\(format).store") {
      try FileManager.default.copyItem(at: Self.folder.appendingPathComponent(name), to: folder.url.appendingPathComponent(name))
    }
    return (folder, PersistentStoreDescription(url: folder.file("format\(format).store"), key: Self.key))
  }

  private func open(
    _ description: PersistentStoreDescription, format: Int, _ body: (ManagedObjectContext) throws -> Void
  ) throws {
    let store = try OpenStore(description, model: CompiledModel(Self.model(format)))
    do { try body(ManagedObjectContext(coordinator: store.coordinator)) } catch {
      try? store.close()
      throw error
    }
    try store.close()
  }

  /// Every format needs a fixture, to prove that it is still readable.
  func testEveryFormatHasItsStoreAndKeyFile() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    for format in Self.formats {
      XCTAssertTrue(names.contains("format\(format).store") && names.contains("format\(format).store.keys"), "format \(format)")
    }
    // The first bytes of key files and of files of large values contain their versions.
    func versions(of files: [URL], magic: String) throws -> Set<UInt16> {
      Set(
        try files.map { file in
          let bytes = [UInt8](try Data(contentsOf: file).prefix(10))
          XCTAssertEqual(bytes.prefix(8), ArraySlice(magic.utf8), file.path)
          return UInt16(bytes[8]) | UInt16(bytes[9]) << 8
        })
    }
    let keyFiles = names.filter { $0.hasSuffix(".keys") }.map(Self.folder.appendingPathComponent(_:))
    XCTAssertEqual(try versions(of: keyFiles, magic: "CipherDK"), Set(1...KeyFile.version))
    let supports = names.filter { $0.hasSuffix("_SUPPORT") }.map(Self.folder.appendingPathComponent(_:))
    let largeValues = try supports.flatMap { support in
      try FileManager.default.contentsOfDirectory(atPath: support.path).map(support.appendingPathComponent(_:))
    }
    XCTAssertEqual(try versions(of: largeValues, magic: "CipherDX"), Set(1...ExternalFileFormat.version))
  }

  func testStoreOfEveryFormatIsReadWithoutConversion() async throws {
    for format in Self.formats {
      var (folder, description) = try copy(format)
      let url = folder.file("format\(format).store")
      let before = try Data(contentsOf: url)
      description.isReadOnly = true
      if MetadataTable.hasHistory(format: format) {
        try open(description, format: format) { context in
          let store = context.persistentStoreCoordinator.persistentStores[0].incrementalStore as? any HistoryStore
          let ids = try XCTUnwrap(store?.historyIDs())
          XCTAssertNotNil(ids.id(of: StableIdentifier(text: "Person/books")))
        }
      }
      try open(description, format: format) { try check($0, format: format) }
      let file = try await SQLCipherStoreFile.unlock(at: url, key: Self.key)
      let information = try await file.information()
      XCTAssertEqual(information.formatVersion, format)
      XCTAssertEqual(information.modelVersionIdentifiers, ["formats"])
      let model = try await file.readModel()
      XCTAssertEqual(model.entities.map(\.name).sorted(), ["Book", "Novel", "Person", "Tag"])
      XCTAssertEqual(try Data(contentsOf: url), before, "format \(format)")
    }
  }

  func testStoreOfEveryFormatIsUpgradedWhenWritten() async throws {
    for format in Self.formats {
      let (folder, description) = try copy(format)
      try open(description, format: format) { context in
        try check(context, format: format)
        XCTAssertNotNil(context.persistentStoreCoordinator.persistentStores.first?.metadata.lineageIdentifier)
        let book = try context.make("Book", ["title": "Noch eins"])
        try book.setValue(try context.one("Person"), forKey: "author")
        try context.save()
      }
      try open(description, format: format) { try check($0, format: format, more: 1) }
      let file = try await SQLCipherStoreFile.unlock(at: folder.file("format\(format).store"), key: Self.key)
      let information = try await file.information()
      // A store with a history keeps it, in the format of stores with a history.
      XCTAssertEqual(
        information.formatVersion,
        MetadataTable.hasHistory(format: format) ? MetadataTable.formatVersionWithHistory : MetadataTable.formatVersion)
      XCTAssertNotNil(information.lineageIdentifier)
      let findings = try await file.verify(.full)
      XCTAssertEqual(findings, [], "format \(format)")
    }
  }

  func testTheHistoryOfAStoreOfEveryFormatIsReadAndContinues() throws {
    for format in MetadataTable.firstFormatVersionWithHistory...MetadataTable.formatVersionWithHistory {
      try assertHistoryIsReadAndContinues(format)
    }
  }

  private func assertHistoryIsReadAndContinues(_ format: Int) throws {
    let (folder, description) = try copy(format)
    defer { withExtendedLifetime(folder) {} }
    try open(description, format: format) { context in
      let transactions = try context.execute(.fetchHistory(after: nil)).transactions
      XCTAssertEqual(transactions.map(\.kind), [.save, .save])
      XCTAssertEqual(transactions.map(\.author), [nil, "editor"])
      let inserted = try XCTUnwrap(transactions.first?.changes)
      XCTAssertEqual(
        inserted.filter { $0.changeType == .insert }.map(\.changedObjectID.entityName).sorted(),
        ["Book", "Novel", "Person", "Tag", "Tag", "Tag"])
      let fish = try XCTUnwrap(inserted.first { $0.newValues?["title"] as? String == "Ein Fisch \u{1f41f}" }?.newValues)
      XCTAssertEqual(fish["price"] as? Decimal, Decimal(string: "12.34"))
      XCTAssertEqual(fish["cover"] as? Data, Self.cover)
      XCTAssertEqual(fish.largeValue("photo")?.size, Int64(Self.photo.count))
      XCTAssertEqual(fish.largeValue("photo")?.digest, [UInt8](ContentDigest.sha256(Self.photo)))
      let edited = try XCTUnwrap(transactions.last?.changes)
      let person = try XCTUnwrap(edited.first { $0.changedObjectID.entityName == "Person" && $0.changeType == .update })
      XCTAssertEqual(person.updatedProperties, ["name"])
      XCTAssertEqual(person.oldValues?["name"] as? String, "Emil")
      XCTAssertEqual(person.newValues?["name"] as? String, "Émile")
      let gone = try XCTUnwrap(edited.first { $0.changeType == .delete })
      XCTAssertEqual(gone.oldValues?["name"] as? String, "gone")
      let removed = edited.flatMap(\.links).filter { !$0.isAdded }.map(\.relationship)
      XCTAssertEqual(removed, format >= Self.firstFormatWithStableIDs ? ["tags"] : [])
      // Without the links, those of any book may have changed.
      let changes = try XCTUnwrap(transactions.last?.changeSet)
      XCTAssertEqual(changes.unlistedRelationships.isEmpty, format >= Self.firstFormatWithStableIDs)
      XCTAssertEqual(changes.listsRemovedLinks, format >= Self.firstFormatWithStableIDs)
      // Identities are equal in stores of all formats.
      let ids = try XCTUnwrap((context.persistentStoreCoordinator.persistentStores[0].incrementalStore as? any HistoryStore)?.historyIDs())
      for (identifier, isEntity) in [("Person", true), ("Novel/hero", false), ("Person/books", false), ("Book/tags", false)] {
        let id = try XCTUnwrap(ids.id(of: StableIdentifier(text: identifier)), identifier)
        XCTAssertEqual(ids.property(id) == nil, isEntity, identifier)
        XCTAssertEqual(ids.identifier(of: id)?.text, identifier)
      }
      // The history continues.
      let token = try XCTUnwrap(transactions.last?.token)
      try context.one("Tag", "name", "red").setValue("green", forKey: "name")
      try context.save()
      XCTAssertEqual(try context.execute(.fetchHistory(after: token)).transactions.map(\.changes?.count), [1])
    }
  }

  /// A reader that has a store open when another process upgrades its format continues, and reads the history that it writes.
  func testOpenReadersAdoptAnUpgradedFormat() throws {
    var (folder, description) = try copy(MetadataTable.firstFormatVersionWithHistory)
    defer { withExtendedLifetime(folder) {} }
    let model = try CompiledModel(Self.model(MetadataTable.firstFormatVersionWithHistory))
    let writing = description
    description.isReadOnly = true
    let reader = try OpenStore(description, model: model)
    let readers = try reader.coordinator.execute(.fetchHistory(after: nil)).transactions.count
    let writer = try OpenStore(writing, model: model)
    try writer.insert("Tag", ["name": .text("new")])
    XCTAssertEqual(try reader.coordinator.execute(.fetchHistory(after: nil)).transactions.count, readers + 1)
    XCTAssertEqual(try reader.count("Tag"), 3)
    try writer.close()
    try reader.close()
  }

  func testEverySlotOfEveryKeyFileOpens() async throws {
    for format in Self.formats {
      let (folder, _) = try copy(format)
      let url = folder.file("format\(format).store")
      XCTAssertEqual(try SQLCipherStoreFile.keySlots(at: url).map(\.kind), [.passphrase, .rawKey, .recovery])
      let recoveryKey = try XCTUnwrap(Self.recoveryKeys[format], "name the recovery key of the store of format \(format)")
      for key in [Self.key, Self.rawKey, try XCTUnwrap(StoreKey.recoveryKey(recoveryKey))] {
        let findings = try await SQLCipherStoreFile.unlock(at: url, key: key).verify(.full)
        XCTAssertEqual(findings, [], "format \(format), \(key)")
      }
      // Slots can be added and removed.
      let file = try await SQLCipherStoreFile.unlock(at: url, key: Self.key)
      let slot = try await file.changeKey(from: Self.key, to: .passphrase(SecretBytes(utf8: "other"), .cheapForTests()))
      XCTAssertEqual(slot.kind, .passphrase)
      _ = try await SQLCipherStoreFile.unlock(at: url, key: .passphrase("other"))
    }
  }

  /// Writes the fixture of the current format if the environment requests it; see `Fixtures/README.md`.
  func testCurrentFormatFixtureIsWrittenOnRequest() async throws {
    guard let target = ProcessInfo.processInfo.environment["CIPHERDATA_WRITE_FIXTURES"] else { return }
    let format = MetadataTable.formatVersionWithHistory
    let url = URL(fileURLWithPath: target).appendingPathComponent("format\(format).store")
    var description = PersistentStoreDescription(url: url, key: Self.key)
    (description.historyTracking, description.historyLevel, description.tracksObjectIdentity) = (true, .values, true)
    try open(description, format: format) { context in
      try Self.fill(context, format: format)
      let person = try context.one("Person")
      let tag = try context.make("Tag", ["name": "gone", "books": Set([try context.one("Novel")])])
      try person.setValue("Emil", forKey: "name")
      try context.save()
      context.transactionAuthor = "editor"
      try person.setValue("Émile", forKey: "name")
      context.delete(tag)
      try context.save()
    }
    let file = try await SQLCipherStoreFile.unlock(at: url, key: Self.key)
    _ = try await file.addKey(Self.rawKey, label: "machine")
    print("The recovery key of format \(format): \(try await file.addRecoveryKey().text)")
  }
}
