import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Derived attributes on disk: triggers, statements, changed models, other connections, copies.
final class DerivedAttributeTests: XCTestCase {
  private func model(
    key: String? = "canonical:(name)", count: String? = "books.@count", shout: String? = "uppercase:(nameKey)",
    author: String? = "author.name"
  ) throws -> CompiledModel {
    func attribute(_ name: String, _ type: AttributeType, _ expression: String?) -> Attribute {
      let attribute = Attribute(name, type)
      return expression.map { attribute.derived($0) } ?? attribute
    }
    return try CompiledModel(
      ManagedObjectModel {
        Entity("Author") {
          Attribute("name", .string)
          attribute("nameKey", .string, key)
          attribute("nameShout", .string, shout)
          attribute("bookCount", .integer64, count)
          Relationship("books", toMany: "Book", inverse: "author")
          Index("byKey", on: "nameKey")
          Index("byCount", on: "bookCount")
        }
        Entity("Book") {
          Attribute("title", .string)
          attribute("authorName", .string, author)
          Relationship("author", to: "Author", inverse: "books")
        }
      })
  }

  /// Reads a stored value in a separate snapshot.
  private func value(_ open: OpenStore, _ id: ManagedObjectID, _ key: String) throws -> Slot {
    let row = try open.rows(FetchSpecification(entityName: id.entityName)).first { $0.reference == id.reference }
    return try open.value(XCTUnwrap(row), key)
  }

  private func triggers(_ store: TestStore) throws -> [String] { try store.ddl().filter { $0.contains("TRIGGER") } }

  private func checkSound(_ store: TestStore) throws {
    let url = store.url
    XCTAssertEqual(try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).verify(.full) }, [])
  }

  // MARK: The file

  func testTriggersOnlyRecordAffectedRows() throws {
    let store = try TestStore()
    try store.open(model(key: nil, shout: nil, author: nil)).close()
    XCTAssertEqual(
      try triggers(store),
      [
        "CREATE TRIGGER \"t_Author_bookCount_1\" AFTER INSERT ON \"Author\" BEGIN "
          + "SELECT cd_derive('Author.bookCount: books.@count', 0, NEW.\"_pk\"); END",
        "CREATE TRIGGER \"t_Author_bookCount_2\" AFTER INSERT ON \"Book\" WHEN NEW.\"author\" IS NOT NULL BEGIN "
          + "SELECT cd_derive('Author.bookCount: books.@count', 0, NEW.\"author\"); END",
        "CREATE TRIGGER \"t_Author_bookCount_3\" AFTER DELETE ON \"Book\" WHEN OLD.\"author\" IS NOT NULL BEGIN "
          + "SELECT cd_derive('Author.bookCount: books.@count', 0, OLD.\"author\"); END",
        "CREATE TRIGGER \"t_Author_bookCount_4\" AFTER UPDATE OF \"author\" ON \"Book\" WHEN NEW.\"author\" IS NOT OLD.\"author\" BEGIN "
          + "SELECT cd_derive('Author.bookCount: books.@count', 0, OLD.\"author\"); "
          + "SELECT cd_derive('Author.bookCount: books.@count', 0, NEW.\"author\"); END",
      ])
    let plain = try TestStore()
    try plain.open(model(key: nil, count: nil, shout: nil, author: nil)).close()
    XCTAssertEqual(try triggers(plain), [])
  }

  func testStoreComputesDerivedAttributesAddedLater() throws {
    let store = try TestStore()
    let before = try store.open(model(key: nil, count: nil, shout: nil, author: nil))
    let author = try before.insert("Author", ["name": .text("Émile")])
    for _ in 0..<3 { try before.insert("Book", ["author": author.slot]) }
    let book = try before.insert("Book", ["author": author.slot])
    XCTAssertEqual(try value(before, author, "bookCount"), .null)
    try before.close()
    let ddl = try store.ddl()
    let open = try store.open(model())
    XCTAssertEqual(try value(open, author, "bookCount"), .int(4))
    XCTAssertEqual(try value(open, author, "nameKey"), .text("emile"))
    XCTAssertEqual(try value(open, author, "nameShout"), .text("EMILE"))
    XCTAssertEqual(try value(open, book, "authorName"), .text("Émile"))
    try open.save { try $0.delete(book) }
    XCTAssertEqual(try value(open, author, "bookCount"), .int(3))
    try open.close()
    let bytes = try Data(contentsOf: store.url)
    try store.open(model()).close()
    XCTAssertEqual(try Data(contentsOf: store.url), bytes, "the next opening changes nothing")
    let plain = try store.open(model(key: nil, count: nil, shout: nil, author: nil))
    XCTAssertEqual(try value(plain, author, "bookCount"), .int(3), "values stay")
    try plain.close()
    XCTAssertEqual(try store.ddl(), ddl)
    try checkSound(store)
  }

  func testChangedExpressionRecomputesDependentAttributes() throws {
    let store = try TestStore()
    let before = try store.open(model())
    let author = try before.insert("Author", ["name": .text("Émile")])
    try before.close()
    let kept = try triggers(store).filter { $0.contains("bookCount") }
    let open = try store.open(model(key: "lowercase:(name)"))
    XCTAssertEqual(try value(open, author, "nameKey"), .text("émile"))
    XCTAssertEqual(try value(open, author, "nameShout"), .text("ÉMILE"))
    XCTAssertEqual(try triggers(store).filter { $0.contains("bookCount") }, kept)
    try open.save { try $0.update(author, ["name": .text("Ödön")]) }
    XCTAssertEqual(try value(open, author, "nameShout"), .text("ÖDÖN"))
  }

  func testTriggersOfAnotherFoldingVersionAreReplacedAndValuesRecomputed() throws {
    let store = try TestStore()
    let before = try store.open(model())
    let author = try before.insert("Author", ["name": .text("Émile")])
    try before.close()
    // The triggers as a version without diacritic folding would have created them.
    let folded = try triggers(store).filter { $0.contains("(\(TextFolding.version))") }
    XCTAssertTrue(folded.contains { $0.contains("nameKey") } && folded.contains { $0.contains("nameShout") }, "\(folded)")
    let old = folded.map { trigger in
      let name = trigger.split(separator: "\"")[1]
      return "DROP TRIGGER \"\(name)\"; " + trigger.replacing("(\(TextFolding.version))", with: "(0_9_1)") + ";"
    }
    let url = store.url
    let file = try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key) }
    let connection = try Connection(opening: url.path, key: try file.keyring.databaseKey())
    try connection.registerFunction(name: "cd_derive", argumentCount: 3) { $0.setResultNull() }
    try connection.execute(
      """
      \(old.joined(separator: "\n"))
      UPDATE "Author" SET "nameKey" = 'émile';
      UPDATE cipherdata_metadata SET layout_basis = 'other'
      """)
    connection.close()
    let open = try store.open(model())
    XCTAssertEqual(try value(open, author, "nameKey"), .text("emile"))
    XCTAssertFalse(try store.ddl().contains { $0.contains("0_9_1") })
    try checkSound(store)
  }

  func testProcessWithOtherDerivationsCannotWrite() throws {
    let store = try TestStore()
    let old = try store.open(model())
    let author = try old.insert("Author", ["name": .text("Ann")])
    let new = try store.open(model(key: "uppercase:(name)"))
    XCTAssertThrowsError(try old.save { try $0.update(author, ["name": .text("Bob")]) }) { error in
      XCTAssertTrue("\(error)".contains("open it again"), "\(error)")
    }
    try new.save { try $0.update(author, ["name": .text("Bob")]) }
    XCTAssertEqual(try value(new, author, "nameShout"), .text("BOB"))
  }

  func testSecondCoordinatorUpdatesDerivedAttributes() throws {
    let store = try TestStore()
    let (one, two) = (try store.open(model()), try store.open(model()))
    let author = try one.insert("Author", ["name": .text("Ann")])
    let books = try (0..<4).map { _ in try two.insert("Book", ["author": author.slot]) }
    XCTAssertEqual(try value(one, author, "bookCount"), .int(4))
    try two.save { try $0.update(author, ["name": .text("Bob")]) }
    XCTAssertEqual(try value(one, books[3], "authorName"), .text("Bob"))
    try one.save { try $0.delete(books[0]) }
    XCTAssertEqual(try value(two, author, "bookCount"), .int(3))
    let changes = BatchDeleteRequest(entityName: "Book")
    guard case .batch(let done) = try one.store.execute(.batchDelete(changes), in: one.scope) else {
      return XCTFail("It is a batch request.")
    }
    XCTAssertEqual(done.refreshed, [author.reference])
    XCTAssertEqual(try value(two, author, "bookCount"), .int(0))
    try checkSound(store)
  }

  func testReadOnlyStoreReturnsStoredDerivedValues() throws {
    let store = try TestStore()
    let before = try store.open(model(count: nil))
    let author = try before.insert("Author", ["name": .text("Ann")])
    try before.close()
    var description = store.description
    description.isReadOnly = true
    let open = try OpenStore(description, model: model())
    XCTAssertEqual(try value(open, author, "bookCount"), .null)
    XCTAssertEqual(try value(open, author, "nameKey"), .text("ann"))
  }

  func testPlaintextCopyHasNoTriggersUntilReimported() throws {
    let store = try TestStore()
    let open = try store.open(model())
    let author = try open.insert("Author", ["name": .text("Ann")])
    try open.close()
    let (url, plain, back) = (store.url, store.folder.file("plain.sqlite"), store.folder.file("back.store"))
    let key = StoreKey.raw(SecretBytes([UInt8](repeating: 9, count: 32)))
    try waitFor {
      try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).exportPlaintext(to: plain)
      _ = try await SQLCipherStoreFile.importPlaintext(from: plain, to: back, key: key)
    }
    XCTAssertFalse(String(decoding: try Data(contentsOf: plain), as: UTF8.self).contains("CREATE TRIGGER"))
    var description = PersistentStoreDescription(url: back, key: key)
    description.durability = .fast
    let again = try OpenStore(description, model: model())
    let moved = try XCTUnwrap(again.ids(FetchSpecification(entityName: "Author")).first)
    XCTAssertEqual(moved.key, author.key)
    try again.insert("Book", ["author": moved.slot])
    XCTAssertEqual(try value(again, moved, "bookCount"), .int(1))
  }

  func testIndexesOnDerivedAttributesAreUsed() throws {
    let store = try TestStore()
    let open = try store.open(model())
    for number in 0..<50 { try open.insert("Author", ["name": .text("Ann \(number)")]) }
    for (format, index) in [("nameKey == 'ann 7'", "byKey"), ("bookCount > 3", "byCount")] {
      let part = try open.store.explain(
        FetchSpecification(entityName: "Author", predicate: try FetchPredicate(format: format)), in: open.scope)
      XCTAssertEqual(part.statements.last?.plan.first?.index?.name, index, format)
      XCTAssertEqual(part.warnings, [])
    }
    XCTAssertEqual(
      try open.count(FetchSpecification(entityName: "Author", predicate: try FetchPredicate(format: "nameKey == 'ann 7'"))), 1)
  }

  func testStoreClassWithoutDerivationSupportIsRejected() throws {
    let type = StoreType(rawValue: "DerivedAttributeTests.plain")
    PersistentStoreCoordinator.registerStoreClass(PlainStore.self, forStoreType: type)
    defer { PersistentStoreCoordinator.registerStoreClass(nil, forStoreType: type) }
    let (derived, plain) = (try model(), try model(key: nil, count: nil, shout: nil, author: nil))
    let error = assertStoreError(.unsupported) {
      try waitFor {
        try await PersistentStoreCoordinator(compiledModel: derived).addPersistentStore(with: PersistentStoreDescription(type: type))
      }
    }
    XCTAssertEqual(error?.entityName, "Author")
    XCTAssertTrue(error?.message.contains("Author.nameKey") ?? false, "\(String(describing: error))")
    XCTAssertNoThrow(
      try waitFor {
        try await PersistentStoreCoordinator(compiledModel: plain).addPersistentStore(with: PersistentStoreDescription(type: type))
      })
  }

  // MARK: Statements

  func testDerivationAddsFewStatementsToSavesAndNoneToReads() throws {
    let store = try TestStore()
    let open = try store.open(model())
    let context = ManagedObjectContext(coordinator: open.coordinator)
    let author = try context.insert("Author", ["name": "Ann"])
    try context.save()
    try context.insert("Book", ["author": author])
    try context.save()
    for count in [1, 100] {
      for _ in 0..<count { try context.insert("Book", ["author": author]) }
      let statements = try store.statements { try context.save() }.filter { !$0.contains("reserve") }
      // The books; their authors' names, computed and written; the author's count, computed and written; the rows that differ.
      let derived = statements.filter { !$0.hasPrefix("INSERT") && !$0.contains("SET \"authorName\"") }
      XCTAssertLessThanOrEqual(derived.count, 5, "\(derived)")
    }
    XCTAssertEqual(store.statements { XCTAssertEqual(author.integer("bookCount"), 102) }, [])
    XCTAssertEqual(try store.statements { try author.setValue("Bob", forKey: "name") }, [])
    // A text derived from the same row takes no extra statement.
    try context.save()
    try context.insert("Author", ["name": "Zoë"])
    let statements = try store.statements { try context.save() }
    XCTAssertEqual(statements.filter { !$0.hasPrefix("INSERT") && !$0.contains("bookCount") }, [])
  }

  func testModelWithoutDerivedAttributesHasNoOverhead() throws {
    let (plainStore, store) = (try TestStore(), try TestStore())
    let (plain, open) = (try plainStore.open(model(key: nil, count: nil, shout: nil, author: nil)), try store.open(model()))
    for name in ["a", "b"] {
      try plain.insert("Author", ["name": .text(name)])
      try open.insert("Author", ["name": .text(name)])
    }
    XCTAssertEqual(try plainStore.statements { try plain.insert("Author", ["name": .text("c")]) }.count, 1)
    // One more statement: it checks whether the book count of the new author still equals its initial value.
    XCTAssertEqual(try store.statements { try open.insert("Author", ["name": .text("c")]) }.count, 2)
  }
}

/// A store that does not support derived attributes.
private final class PlainStore: IncrementalStore {
  private let store: InMemoryStore

  init(configuration: StoreConfiguration) throws { store = try InMemoryStore(configuration: configuration) }

  func loadMetadata() throws -> StoreMetadata { try store.loadMetadata() }
  func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
    try store.execute(request, in: scope)
  }
  func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
    try store.newValuesForObjects(with: objectIDs, in: scope)
  }
  func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues {
    try store.newValues(forRelationship: relationship, forObjectsWith: objectIDs, in: scope)
  }
  func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
    try store.obtainPermanentIDs(for: objectIDs, in: scope)
  }
}
