import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Indexes over folded texts: created, used, maintained, replaced, and omitted from plaintext copies.
final class StoredFunctionIndexTests: XCTestCase {
  private typealias Models = SpecificationModels

  private func model(_ collation: FetchIndexElement.Collation? = .caseAndDiacriticInsensitive) throws -> CompiledModel {
    var book = Models.entity(
      "Book",
      [Models.text("title"), Models.integer("year"), Models.toOne("author", "Author", "books"), Models.toMany("tags", "Tag", "books")])
    var tag = Models.entity("Tag", [Models.text("name"), Models.toMany("books", "Book", "tags")])
    if let collation {
      book.indexes = [FetchIndexDescription(name: "byTitle", elements: [.ascending("title", collation: collation)])]
      tag.indexes = [FetchIndexDescription(name: "byName", elements: [.ascending("name", collation: collation)])]
    }
    return try Models.frozen([book, tag, Models.entity("Author", [Models.text("name"), Models.toMany("books", "Book", "author")])])
  }

  private let titles = ["Émile", "emile", "EMILIA", "Straße", "STRASSE", "zebra", "e\u{301}mile", "ƛ\u{A7DC}", "", "αΣς"]

  private func fill(_ open: OpenStore) throws {
    try open.save { save in
      for title in titles { try save.insert("Book", ["title": .text(title)]) }
      try save.insert("Book", ["year": .int(1)])
      try save.insert("Tag", ["name": .text("Été")])
    }
  }

  private func count(_ format: String, _ open: OpenStore, entity: String = "Book") throws -> Int {
    try open.count(FetchSpecification(entityName: entity, predicate: try FetchPredicate(format: format)))
  }

  private func explain(_ format: String, _ open: OpenStore) throws -> FetchExplanation.StorePart {
    try open.store.explain(FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: format)), in: open.scope)
  }

  private func indexes(_ store: TestStore) throws -> [String] { try store.ddl().filter { $0.contains("INDEX") && $0.contains("cd_fold") } }

  func testFoldedIndexNamesTheFunctionVersion() throws {
    let store = try TestStore()
    try store.open(model()).close()
    XCTAssertEqual(
      try indexes(store),
      [
        "CREATE INDEX \"i_Book_byTitle\" ON \"Book\" (cd_fold_\(TextFolding.version)(\"title\", 3))",
        "CREATE INDEX \"i_Tag_byName\" ON \"Tag\" (cd_fold_\(TextFolding.version)(\"name\", 3))",
      ])
    XCTAssertEqual(TextFolding.version.split(separator: "_").count, 3)
  }

  /// A changed checksum means that folding yields different results: increment `rules` in ``TextFolding/version``, then update the checksum
  /// here.
  func testFoldingRulesMatchTheirVersion() throws {
    XCTAssertTrue(TextFolding.version.hasPrefix("1_"))
    var sum: UInt64 = 14_695_981_039_346_656_037
    for options in [ComparisonOptions.caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]] {
      // Letters and marks that every recent version of Unicode has.
      for value in [UInt32(0x20)..<0x250, 0x300..<0x370, 0x386..<0x3CF, 0x400..<0x460, 0x5B0..<0x5F0, 0x620..<0x660, 0x1E00..<0x1EFA]
        .joined()
      {
        guard let scalar = Unicode.Scalar(value) else { continue }
        for byte in TextFolding.fold("a\(scalar)b", options).utf8 { sum = (sum ^ UInt64(byte)) &* 1_099_511_628_211 }
      }
    }
    XCTAssertEqual(sum, 6_322_271_595_463_870_052)
  }

  func testConditionsUseTheFoldedIndex() throws {
    let store = try TestStore()
    let open = try store.open(model())
    try fill(open)
    let index = FetchExplanation.Index(origin: .declared, entityName: "Book", name: "byTitle", properties: ["title[cd]"])
    for (format, expected) in [
      ("title ==[cd] 'EMILE'", 3), ("title BEGINSWITH[cd] 'émil'", 4), ("title IN[cd] {'strasse', 'ZÉBRA'}", 3),
      ("title >=[cd] 'strasse' AND title <[cd] 'strassf'", 2), ("title BETWEEN[cd] {'EMILE', 'ÉMILIA'}", 4), ("title LIKE[cd] 'ÉM*'", 4),
      ("title LIKE[cd] 'ÉM*e'", 3), ("title LIKE[cd] 'zebra'", 1), ("title ==[cd] 'ασσ'", 1),
    ] {
      XCTAssertEqual(try count(format, open), expected, format)
      let part = try explain(format, open)
      XCTAssertEqual(part.statements.last?.plan.first?.index, index, "\(format): \(part)")
      XCTAssertEqual(part.warnings, [], format)
    }
    for format in ["title ==[c] 'x'", "title == 'x'", "title CONTAINS[cd] 'x'", "NOT title ==[cd] 'x'", "title ==[cdl] 'x'"] {
      XCTAssertEqual(try explain(format, open).warnings.map(\.kind), [.scan], format)
    }
    XCTAssertEqual(
      try explain("title ==[c] 'x'", open).warnings.first?.message, "the table of Book is scanned: no index begins with title[c]")
    // The members are found first.
    let tagged = try explain("ANY tags.name ==[cd] 'ete'", open)
    XCTAssertTrue("\(tagged)".contains("byName"), "\(tagged)")
    XCTAssertEqual(tagged.warnings, [])
  }

  func testCaseInsensitiveOrderUsesTheFoldedIndex() throws {
    let store = try TestStore()
    let open = try store.open(model(.caseInsensitive))
    try fill(open)
    var fetch = FetchSpecification(entityName: "Book")
    fetch.sortDescriptors = [FetchSortDescriptor("title", comparison: .caseInsensitive)]
    let steps = try XCTUnwrap(open.store.explain(fetch, in: open.scope).statements.last).plan
    XCTAssertEqual(steps.first?.access, .indexScan)
    XCTAssertEqual(steps.first?.index?.name, "byTitle")
    let other = try TestStore()
    let plain = try other.open(model(nil))
    defer { withExtendedLifetime(other) {} }
    try fill(plain)
    for ascending in [true, false] {
      for limit in [0, 1, 4, 7] {
        fetch.sortDescriptors[0].isAscending = ascending
        fetch.fetchLimit = limit
        XCTAssertEqual(try open.texts("title", fetch), try plain.texts("title", fetch))
      }
    }
  }

  func testUpdatesAndDeletionsMaintainTheFoldedIndex() throws {
    let store = try TestStore()
    let open = try store.open(model())
    let id = try open.insert("Book", ["title": .text("Ärger")])
    XCTAssertEqual(try count("title ==[cd] 'ARGER'", open), 1)
    try open.save { try $0.update(id, ["title": .text("Über")]) }
    XCTAssertEqual(try count("title ==[cd] 'ARGER'", open), 0)
    XCTAssertEqual(try count("title ==[cd] 'uber'", open), 1)
    try open.save { try $0.delete(id) }
    XCTAssertEqual(try count("title ==[cd] 'uber'", open), 0)
    try fill(open)
    try open.close()
    try checkSound(store)
  }

  private func checkSound(_ store: TestStore) throws {
    let url = store.url
    XCTAssertEqual(
      try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).verify(.full) }, [])
  }

  func testStoreGetsIndexesAddedToItsModelLater() throws {
    let store = try TestStore()
    let before = try store.open(model(nil))
    try fill(before)
    try before.close()
    let ddl = try store.ddl()
    let open = try store.open(model())
    XCTAssertEqual(try indexes(store).count, 2)
    XCTAssertEqual(try count("title ==[cd] 'EMILE'", open), 3)
    XCTAssertEqual(try explain("title ==[cd] 'EMILE'", open).warnings, [])
    try open.close()
    // Reopening changes nothing.
    let bytes = try Data(contentsOf: store.url)
    try store.open(model()).close()
    XCTAssertEqual(try Data(contentsOf: store.url), bytes)
    try store.open(model(nil)).close()
    XCTAssertEqual(try store.ddl(), ddl, "what the model does not have any more goes")
    try checkSound(store)
  }

  func testReadOnlyStoreWorksWithoutTheFoldedIndex() throws {
    let store = try TestStore()
    let before = try store.open(model(nil))
    try fill(before)
    try before.close()
    var description = store.description
    description.isReadOnly = true
    let open = try OpenStore(description, model: model())
    XCTAssertEqual(try count("title ==[cd] 'EMILE'", open), 3)
    XCTAssertEqual(try explain("title ==[cd] 'EMILE'", open).warnings.map(\.kind), [.scan])
    XCTAssertEqual(try indexes(store), [])
  }

  func testIndexOfAnotherFoldingVersionIsReplaced() throws {
    let store = try TestStore()
    let open = try store.open(model())
    try fill(open)
    try open.close()
    // The index as a version without case folding would have written it.
    let url = store.url
    let file = try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key) }
    let connection = try Connection(opening: url.path, key: try file.keyring.databaseKey())
    try connection.registerFunction(name: "cd_fold_0_9_1", argumentCount: 2) { $0.setResult(argument: 0) }
    try connection.execute(
      """
      DROP INDEX "i_Book_byTitle";
      CREATE INDEX "i_Book_byTitle" ON "Book" (cd_fold_0_9_1("title", 3));
      UPDATE cipherdata_metadata SET layout_basis = 'other'
      """)
    connection.close()
    XCTAssertEqual(try waitFor { try await file.verify(.full) }, [], "what cannot be checked is no damage")
    var description = store.description
    description.isReadOnly = true
    let reader = try OpenStore(description, model: model())
    XCTAssertEqual(try count("title ==[cd] 'EMILE'", reader), 3)
    XCTAssertEqual(try explain("title ==[cd] 'EMILE'", reader).warnings.map(\.kind), [.scan])
    try reader.close()
    let writer = try store.open(model())
    XCTAssertEqual(try explain("title ==[cd] 'EMILE'", writer).warnings, [])
    XCTAssertEqual(try count("title ==[cd] 'EMILE'", writer), 3)
    try writer.insert("Book", ["title": .text("éMILE")])
    XCTAssertEqual(try count("title ==[cd] 'EMILE'", writer), 4)
    XCTAssertFalse(try store.ddl().contains { $0.contains("cd_fold_0_9_1") })
  }

  func testFoldedIndexSurvivesCopiesRotationAndPlaintextExchange() throws {
    let store = try TestStore()
    var description = store.description
    let key = StoreKey.raw(SecretBytes([UInt8](repeating: 9, count: 32)))
    description.key = key
    let open = try OpenStore(description, model: model())
    try fill(open)
    try open.close()
    let (url, copy, plain, back) = (
      store.url, store.folder.file("copy.store"), store.folder.file("plain.sqlite"), store.folder.file("back.store")
    )
    try waitFor {
      let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
      try await file.rotateDataKey()
      try await file.backUp(to: copy)
      try await file.exportPlaintext(to: plain)
      _ = try await SQLCipherStoreFile.importPlaintext(from: plain, to: back, key: key, format: .sqlcipher3)
    }
    let text = String(decoding: try Data(contentsOf: plain), as: UTF8.self)
    XCTAssertTrue(text.contains("CREATE TABLE \"Book\""))
    XCTAssertTrue(text.contains("Straße"))
    for url in [url, copy, back] {
      var description = PersistentStoreDescription(url: url, key: key)
      description.durability = .fast
      let open = try OpenStore(description, model: model())
      XCTAssertEqual(try count("title ==[cd] 'EMILE'", open), 3)
      XCTAssertEqual(try explain("title ==[cd] 'EMILE'", open).warnings, [], url.lastPathComponent)
      try open.insert("Book", ["title": .text("EMILE")])
      XCTAssertEqual(try count("title ==[cd] 'EMILE'", open), 4)
      try open.close()
      XCTAssertEqual(try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key).verify(.full) }, [])
    }
  }

  func testPlaintextCopyHasNoFoldedIndex() throws {
    let store = try TestStore()
    let open = try store.open(model())
    try fill(open)
    try open.close()
    let (url, plain) = (store.url, store.folder.file("plain.sqlite"))
    try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).exportPlaintext(to: plain) }
    // A store of a connection without the library's functions accepts the tables, and writes to them.
    let other = store.folder.file("other.store")
    let keyring = try waitFor {
      try await PlaintextExchange.importPlaintext(
        from: plain.path, to: other.path, key: .databaseKey(SecretBytes([UInt8](repeating: 5, count: 32))))
    }
    let connection = try Connection(opening: other.path, key: try keyring.databaseKey())
    defer { connection.close() }
    try connection.execute("UPDATE \"Book\" SET \"title\" = 'x'; VACUUM")
    let statement = try connection.statement(sql: "SELECT count(*) FROM sqlite_master WHERE sql LIKE '%cd_fold%'")
    XCTAssertTrue(try statement.step())
    XCTAssertEqual(statement.int(0), 0)
  }
}
