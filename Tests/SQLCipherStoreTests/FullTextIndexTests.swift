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

/// Full-text indexes on disk: created, used, maintained, replaced, verified, and omitted from plaintext copies.
final class FullTextIndexTests: XCTestCase {
  private typealias Models = SpecificationModels

  private func model(_ indexes: [FetchIndexDescription]? = nil) throws -> CompiledModel {
    var book = Models.entity(
      "Book",
      [
        Models.text("title"), Models.text("summary"), Models.integer("year"), Models.toOne("author", "Author", "books"),
        Models.toMany("tags", "Tag", "books"),
      ])
    book.indexes = indexes ?? [words]
    var author = Models.entity("Author", [Models.text("bio"), Models.toMany("books", "Book", "author")])
    if indexes == nil { author.indexes = [FetchIndexDescription(name: "byBio", elements: [.fullText("bio")])] }
    var tag = Models.entity("Tag", [Models.text("name"), Models.toMany("books", "Book", "tags")])
    if indexes == nil { tag.indexes = [FetchIndexDescription(name: "byName", elements: [.fullText("name")])] }
    return try Models.frozen([book, author, tag])
  }

  private let words = FetchIndexDescription(name: "words", elements: [.fullText("title"), .fullText("summary")])

  private func fill(_ open: OpenStore) throws {
    try open.save { save in
      for number in 0..<20 {
        try save.insert(
          "Book",
          [
            "title": .text(number % 5 == 0 ? "Émile \(number)" : "Book \(number)"), "summary": .text("A text of number \(number)"),
            "year": .int(Int64(number)),
          ])
      }
    }
  }

  private func count(_ format: String, _ open: OpenStore) throws -> Int {
    try open.count(FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: format)))
  }

  private func explain(_ format: String, _ open: OpenStore) throws -> FetchExplanation.StorePart {
    try open.store.explain(FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: format)), in: open.scope)
  }

  private func isCovered(by store: TestStore) throws -> Bool { try store.ddl().contains { $0.hasPrefix("CREATE VIRTUAL TABLE") } }

  /// Returns whether the linked SQLCipher supports full-text indexes. If not, asserts that none is created and that fetches scan with a
  /// warning.
  private func canIndexWords() throws -> Bool {
    if LibraryVersion.hasFullText { return true }
    let store = try TestStore()
    let open = try store.open(model())
    try fill(open)
    XCTAssertFalse(try isCovered(by: store))
    XCTAssertEqual(try count("title SEARCH 'emile'", open), 4)
    XCTAssertEqual(try explain("title SEARCH 'emile'", open).warnings.map(\.kind), [.scan])
    try open.close()
    return false
  }

  func testTriggersMaintainTheFullTextTable() throws {
    guard try canIndexWords() else { return }
    let store = try TestStore()
    try store.open(model([words])).close()
    let function = "cd_words_\(TextWords.version)"
    let ours = try store.ddl().filter { $0.contains("f_Book_words\"") || $0.contains("v_Book_words") }
    XCTAssertEqual(
      ours,
      [
        "CREATE VIEW \"v_Book_words\" AS SELECT \"Book\".\"_pk\" AS rowid, \(function)(\"Book\".\"title\") AS c0,"
          + " \(function)(\"Book\".\"summary\") AS c1 FROM \"Book\"",
        "CREATE VIRTUAL TABLE \"f_Book_words\" USING fts4 (c0, c1, content=\"v_Book_words\", tokenize=simple, matchinfo=fts3)",
        "CREATE TRIGGER \"t_f_Book_words_insert\" AFTER INSERT ON \"Book\" BEGIN INSERT INTO \"f_Book_words\" (docid, c0, c1)"
          + " SELECT rowid, c0, c1 FROM \"v_Book_words\" WHERE rowid = new.\"_pk\"; END",
        "CREATE TRIGGER \"t_f_Book_words_delete\" BEFORE DELETE ON \"Book\" BEGIN DELETE FROM \"f_Book_words\" WHERE docid = old.\"_pk\"; END",
        "CREATE TRIGGER \"t_f_Book_words_leave\" BEFORE UPDATE OF \"title\", \"summary\" ON \"Book\""
          + " WHEN (old.\"title\" IS NOT new.\"title\" OR old.\"summary\" IS NOT new.\"summary\")"
          + " BEGIN DELETE FROM \"f_Book_words\" WHERE docid = old.\"_pk\"; END",
        "CREATE TRIGGER \"t_f_Book_words_enter\" AFTER UPDATE OF \"title\", \"summary\" ON \"Book\""
          + " WHEN (old.\"title\" IS NOT new.\"title\" OR old.\"summary\" IS NOT new.\"summary\")"
          + " BEGIN INSERT INTO \"f_Book_words\" (docid, c0, c1) SELECT rowid, c0, c1 FROM \"v_Book_words\" WHERE rowid = new.\"_pk\"; END",
      ])
  }

  func testSearchesUseTheFullTextIndex() throws {
    guard try canIndexWords() else { return }
    let store = try TestStore()
    let open = try store.open(model())
    try fill(open)
    let index = FetchExplanation.Index(origin: .fullText, entityName: "Book", name: "words", properties: ["title", "summary"])
    for (format, expected) in [
      ("title SEARCH 'emile'", 4), ("title SEARCH 'em*'", 4), ("SELF SEARCH 'emile text'", 4), ("{title, summary} SEARCH '7'", 1),
      ("title SEARCH 'emile -5'", 3), ("title SEARCH 'emile' AND year > 5", 2), ("title SEARCH 'emile OR 7'", 5),
      ("summary SEARCH '\"number 1*\"'", 11), ("title SEARCH '7' OR summary SEARCH '7'", 1),
    ] {
      XCTAssertEqual(try count(format, open), expected, format)
      let part = try explain(format, open)
      let indexes = FetchExplanation(stores: [part]).indexes
      XCTAssertTrue(indexes.contains(index), "\(format): \(part)")
      XCTAssertEqual(part.warnings, [], format)
      XCTAssertFalse(part.statements.contains { $0.text.contains("cd_search") }, format)
    }
    let both = try XCTUnwrap(explain("{title, summary} SEARCH '7'", open).statements.last).text
    XCTAssertTrue(both.hasSuffix(" WHERE (t0.\"_pk\" IN (SELECT docid FROM \"f_Book_words\" WHERE \"f_Book_words\" MATCH ?1))"), both)
    let authored = try explain("author.bio SEARCH 'poet'", open)
    XCTAssertTrue("\(authored)".contains("f_Author_byBio"), "\(authored)")
    XCTAssertEqual(authored.warnings, [])
    let tagged = try explain("ANY tags.name SEARCH 'red'", open)
    XCTAssertTrue("\(tagged)".contains("f_Tag_byName"), "\(tagged)")
    XCTAssertEqual(tagged.warnings, [])
    // An index cannot find rows by absent words.
    XCTAssertEqual(try explain("NOT title SEARCH 'emile'", open).warnings.map(\.kind), [.scan])
    XCTAssertEqual(
      FetchExplanation.Index(origin: .fullText, entityName: "Book", name: "words", properties: ["title"]).description,
      "full-text index “words” of Book (title)")
  }

  func testExplanationReportsAScanWithoutTheFullTextIndex() throws {
    let store = try TestStore()
    let open = try store.open(model([]))
    try fill(open)
    XCTAssertEqual(try count("title SEARCH 'emile -5'", open), 3)
    let part = try explain("title SEARCH 'emile'", open)
    XCTAssertTrue(part.statements.last?.text.contains("cd_search(t0.\"title\", ?1)") ?? false, "\(part)")
    XCTAssertEqual(part.warnings.map(\.message), ["the table of Book is scanned: no full-text index is over title"])
    XCTAssertEqual(part.warnings.first?.properties, ["title"])
  }

  func testQueriesWithOneStructureShareAPlan() throws {
    let store = try TestStore()
    let open = try store.open(model())
    try fill(open)
    let statements = try store.statements {
      XCTAssertEqual(try count("title SEARCH 'emile'", open), 4)
      XCTAssertEqual(try count("title SEARCH '\"book 7\"'", open), 1)
    }
    XCTAssertEqual(statements.count, 2)
    XCTAssertEqual(Set(statements).count, 1, "\(statements)")
  }

  func testFullTextIndexAddsNoStatementToASave() throws {
    func statements(_ indexes: [FetchIndexDescription]) throws -> [String] {
      let store = try TestStore()
      let open = try store.open(model(indexes))
      return try store.statements { try fill(open) }
    }
    XCTAssertEqual(try statements([words]).count, try statements([]).count)
  }

  func testIndexIsAddedAndRemovedWithTheModel() throws {
    guard try canIndexWords() else { return }
    let store = try TestStore()
    let without = try store.open(model([]))
    try fill(without)
    try without.close()
    XCTAssertFalse(try isCovered(by: store))
    let with = try store.open(model([words]))
    XCTAssertEqual(try count("title SEARCH 'emile'", with), 4)
    XCTAssertEqual(try explain("title SEARCH 'emile'", with).warnings, [])
    try with.insert("Book", ["title": .text("Émile again")])
    XCTAssertEqual(try count("title SEARCH 'emile'", with), 5)
    try with.close()
    let other = try store.open(model([FetchIndexDescription(name: "words", elements: [.fullText("summary")])]))
    XCTAssertEqual(try count("summary SEARCH '\"number 1\"'", other), 1)
    XCTAssertEqual(try count("title SEARCH 'emile'", other), 5)
    try other.close()
    // Its tables have the same schema but index other text.
    let third = try store.open(model([FetchIndexDescription(name: "words", elements: [.fullText("title")])]))
    XCTAssertEqual(try count("title SEARCH 'emile'", third), 5)
    XCTAssertEqual(try explain("title SEARCH 'emile'", third).warnings, [])
    try third.close()
    try store.open(model([])).close()
    XCTAssertFalse(try isCovered(by: store))
    XCTAssertFalse(try store.ddl().contains { $0.contains("cd_words") || $0.contains("f_Book") })
  }

  func testReadOnlyStoreWorksWithoutTheFullTextIndex() throws {
    let store = try TestStore()
    let open = try store.open(model([]))
    try fill(open)
    try open.close()
    var description = store.description
    description.isReadOnly = true
    let reader = try OpenStore(description, model: model([words]))
    XCTAssertEqual(try count("title SEARCH 'emile'", reader), 4)
    try reader.close()
    try store.open(model([words])).close()
    let again = try OpenStore(description, model: model([words]))
    XCTAssertEqual(try count("title SEARCH 'emile'", again), 4)
    if LibraryVersion.hasFullText { XCTAssertEqual(try explain("title SEARCH 'emile'", again).warnings, []) }
  }

  func testFullTextIndexCanBeRemovedByAnotherProcess() throws {
    let store = try TestStore()
    let open = try store.open(model([words]))
    try fill(open)
    XCTAssertEqual(try count("title SEARCH 'emile'", open), 4)
    let other = try store.open(model([]))
    XCTAssertEqual(try count("title SEARCH 'emile'", open), 4)
    try open.insert("Book", ["title": .text("emile")])
    XCTAssertEqual(try count("title SEARCH 'emile'", open), 5)
    XCTAssertEqual(try count("title SEARCH 'emile -5'", other), 4)
  }

  func testFullTextIndexOfOtherRulesIsReplaced() throws {
    guard try canIndexWords() else { return }
    let store = try TestStore()
    let open = try store.open(model([words]))
    try fill(open)
    try open.close()
    // The index as a library with other rules would have written it.
    try store.execute("UPDATE cipherdata_metadata SET layout_basis = layout_basis || 'x'")
    try store.execute("DROP TABLE \"f_Book_words\"")
    let again = try store.open(model([words]))
    XCTAssertEqual(try count("title SEARCH 'emile'", again), 4)
  }

  func testFullVerificationChecksTheFullTextIndex() async throws {
    guard try canIndexWords() else { return }
    let store = try TestStore()
    let open = try store.open(model([words]))
    try fill(open)
    try open.close()
    let file = try await SQLCipherStoreFile.unlock(at: store.url, key: TestStore.key)
    let healthy = try await file.verify(.full)
    XCTAssertEqual(healthy, [])
    try store.execute("INSERT INTO \"f_Book_words\" (docid, c0) VALUES (9999, 'stray')")
    let findings = try await file.verify(.full)
    XCTAssertEqual(findings.count, 1, "\(findings)")
    XCTAssertTrue(findings.first?.contains("f_Book_words") ?? false, "\(findings)")
  }

  func testPlaintextCopiesHaveNoFullTextIndex() async throws {
    guard try canIndexWords() else { return }
    let store = try TestStore()
    let open = try store.open(model())
    try fill(open)
    try open.close()
    let file = try await SQLCipherStoreFile.unlock(at: store.url, key: TestStore.key)
    let plain = store.folder.file("plain.sqlite")
    try await file.exportPlaintext(to: plain)
    let back = store.folder.file("back.store")
    _ = try await SQLCipherStoreFile.importPlaintext(from: plain, to: back, key: .passphrase("back"))
    let copy = store.folder.file("copy.store")
    try await file.backUp(to: copy, key: .passphrase("copy"))
    let bytes = try Data(contentsOf: plain)
    XCTAssertNil(bytes.range(of: Data("cd_words".utf8)))
    XCTAssertNil(bytes.range(of: Data("CREATE VIRTUAL".utf8)))
    for (url, passphrase) in [(back, "back"), (copy, "copy")] {
      var description = PersistentStoreDescription(url: url, key: .passphrase(passphrase))
      description.durability = .fast
      let reopened = try OpenStore(description, model: model())
      XCTAssertEqual(try count("title SEARCH 'emile'", reopened), 4)
      XCTAssertEqual(try explain("title SEARCH 'emile'", reopened).warnings, [])
      try reopened.insert("Book", ["title": .text("emile")])
      XCTAssertEqual(try count("title SEARCH 'emile'", reopened), 5)
      try reopened.close()
      let file = try await SQLCipherStoreFile.unlock(at: url, key: .passphrase(passphrase))
      let findings = try await file.verify(.full)
      XCTAssertEqual(findings, [])
    }
  }

  func testFullTextIndexSupportsAnyName() throws {
    let name = "a \"b\" 'c' = (d), [é]"
    var entity = Models.entity("Wörter_1", [Models.text("text"), Models.text("content"), Models.text("docid"), Models.text("rowid")])
    entity.indexes = [
      FetchIndexDescription(name: name, elements: ["text", "content", "docid", "rowid"].map { .fullText($0) }),
      FetchIndexDescription(name: "x", elements: [.fullText("text")]),
      FetchIndexDescription(name: "x_segdir", elements: [.fullText("rowid")]),
    ]
    let store = try TestStore()
    let open = try store.open(Models.frozen([entity, Models.entity("f_Wörter_1_x", [Models.text("text")])]))
    try open.insert("Wörter_1", ["text": .text("one two"), "rowid": .text("three")])
    for key in ["text", "rowid", "SELF"] {
      let query = key == "text" ? "two" : "three"
      let predicate = FetchPredicate.comparison(
        FetchComparison(left: key == "SELF" ? .evaluatedObject : .keyPath(key), op: .search, right: .constant(.string(query))))
      XCTAssertEqual(try open.count(FetchSpecification(entityName: "Wörter_1", predicate: predicate)), 1, key)
    }
  }

  func testPartsOfCompositesAreSearched() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Composite("Address") {
          Attribute("city", .string)
          Attribute("street", .string)
        }
        Entity("Person") {
          Attribute("home", composite: "Address")
          Attribute("name", .string)
          Index("words", fullText: "home.city", "name")
        }
      })
    let store = try TestStore()
    let open = try store.open(model)
    try open.insert("Person", ["home.city": .text("Bad Homburg"), "home.street": .text("Am Bad"), "name": .text("Ada")])
    try open.insert("Person", ["home.city": .text("Ulm"), "home.street": .text("Badstraße"), "name": .text("Homburg")])
    for (format, expected) in [("home.city SEARCH 'homburg'", 1), ("SELF SEARCH 'homburg'", 2), ("home.street SEARCH 'bad*'", 2)] {
      XCTAssertEqual(
        try open.count(FetchSpecification(entityName: "Person", predicate: try FetchPredicate(format: format))), expected, format)
    }
  }

  func testIndexedWordsAreEncrypted() throws {
    let store = try TestStore()
    let open = try store.open(model([words]))
    try open.insert("Book", ["title": .text("Rhabarberkuchen mit Sahne")])
    try open.close()
    for suffix in ["", "-wal"] {
      guard let bytes = FileManager.default.contents(atPath: store.url.path + suffix) else { continue }
      XCTAssertNil(bytes.range(of: Data("rhabarberkuchen".utf8)))
    }
  }
}
