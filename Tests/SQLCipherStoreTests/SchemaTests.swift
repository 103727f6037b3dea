import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// The tables and indexes of models.
final class SchemaTests: XCTestCase {
  private typealias Models = SpecificationModels

  func testAModelWithEveryKindOfRelationshipGetsItsTables() throws {
    let model = try Models.frozen([
      Models.entity("Author", [Models.text("name"), Models.toMany("books", "Book", "author")], unique: [["name"]]),
      Models.entity(
        "Book",
        [
          Models.text("title"), Models.attribute("price", .decimal), Models.attribute("rating", .double), Models.integer("pages"),
          Models.toOne("author", "Author", "books"), Models.toOne("shelf", "Shelf", "books"), Models.toMany("tags", "Tag", "books"),
        ]),
      Models.entity("Shelf", [Models.toMany("books", "Book", "shelf", ordered: true), Models.toMany("hidden", "Book")]),
      Models.entity("Tag", [Models.toMany("books", "Book", "tags")]),
    ])
    let store = try TestStore()
    try store.open(model).close()
    let ddl = try store.ddl().filter { !$0.contains("cipherdata_") }
    XCTAssertEqual(
      ddl,
      [
        #"CREATE TABLE "Author" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "name" TEXT)"#,
        #"CREATE TABLE "Book" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "title" TEXT, "price" BLOB, "rating" REAL, "#
          + #""pages" INTEGER, "author" INTEGER REFERENCES "Author" ("_pk") DEFERRABLE INITIALLY DEFERRED, "#
          + #""shelf" INTEGER REFERENCES "Shelf" ("_pk") DEFERRABLE INITIALLY DEFERRED, "shelf_order" INTEGER)"#,
        #"CREATE TABLE "Shelf" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL)"#,
        #"CREATE TABLE "Tag" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL)"#,
        #"CREATE TABLE "Book_tags" ("source" INTEGER NOT NULL REFERENCES "Book" ("_pk") DEFERRABLE INITIALLY DEFERRED, "#
          + #""target" INTEGER NOT NULL REFERENCES "Tag" ("_pk") DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY ("source", "target")) WITHOUT ROWID"#,
        #"CREATE TABLE "Shelf_hidden" ("source" INTEGER NOT NULL REFERENCES "Shelf" ("_pk") DEFERRABLE INITIALLY DEFERRED, "#
          + #""target" INTEGER NOT NULL REFERENCES "Book" ("_pk") DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY ("source", "target")) WITHOUT ROWID"#,
        #"CREATE INDEX "i_Book_tags_target" ON "Book_tags" ("target")"#,
        #"CREATE INDEX "i_Shelf_hidden_target" ON "Shelf_hidden" ("target")"#,
        #"CREATE UNIQUE INDEX "u_Author_name" ON "Author" ("name")"#, #"CREATE INDEX "i_Book_author" ON "Book" ("author")"#,
        #"CREATE INDEX "i_Book_shelf" ON "Book" ("shelf", "shelf_order")"#,
      ])
  }

  func testEntityHierarchyHasOneTableAndReferencesIncludeTheEntity() throws {
    let store = try TestStore()
    try store.open(Models.assets).close()
    let ddl = try store.ddl().filter { !$0.contains("cipherdata_") }
    XCTAssertEqual(
      ddl,
      [
        #"CREATE TABLE "Asset" ("_pk" INTEGER PRIMARY KEY, "_entity" INTEGER NOT NULL, "_version" INTEGER NOT NULL, "name" TEXT, "#
          + #""code" TEXT, "size" INTEGER, "pages" INTEGER, "recipient" TEXT, "width" INTEGER, "title" TEXT, "seconds" REAL, "#
          + #""title_2" INTEGER, "poster" INTEGER REFERENCES "Asset" ("_pk") DEFERRABLE INITIALLY DEFERRED, "start" INTEGER)"#,
        #"CREATE TABLE "Note" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "body" TEXT, "#
          + #""asset" INTEGER REFERENCES "Asset" ("_pk") DEFERRABLE INITIALLY DEFERRED, "asset_entity" INTEGER)"#,
        #"CREATE TABLE "Note_assets" ("source" INTEGER NOT NULL REFERENCES "Note" ("_pk") DEFERRABLE INITIALLY DEFERRED, "#
          + #""target" INTEGER NOT NULL REFERENCES "Asset" ("_pk") DEFERRABLE INITIALLY DEFERRED, "target_entity" INTEGER, "#
          + #"PRIMARY KEY ("source", "target")) WITHOUT ROWID"#,
        #"CREATE INDEX "i_Note_assets_target" ON "Note_assets" ("target")"#, #"CREATE UNIQUE INDEX "u_Asset_code" ON "Asset" ("code")"#,
        #"CREATE UNIQUE INDEX "u_Clip_start" ON "Asset" ("start") WHERE "_entity" = 6"#,
        #"CREATE INDEX "i_Asset_poster" ON "Asset" ("poster")"#, #"CREATE INDEX "i_Note_asset" ON "Note" ("asset")"#,
      ].sorted { ddl.firstIndex(of: $0) ?? 99 < ddl.firstIndex(of: $1) ?? 99 })
  }

  func testForeignKeysAreOmittedWhereKeysCanDangle() throws {
    var books = RelationshipDescription(name: "books", destination: "Book", inverse: "author", isToMany: true)
    books.deleteRule = .noAction
    let model = try Models.frozen([
      EntityDescription(name: "Author", properties: [.relationship(books)]),
      Models.entity("Book", [Models.toOne("author", "Author", "books"), Models.toOne("reviewer", "Author")]),
    ])
    let store = try TestStore()
    try store.open(model).close()
    XCTAssertFalse(try store.ddl().contains { $0.contains("REFERENCES") })
  }

  func testDeclaredIndexesAreCompoundAndDescending() throws {
    var entity = Models.entity("Book", [Models.text("title"), Models.integer("year")])
    entity.indexes = [
      FetchIndexDescription(
        name: "byYear", elements: [FetchIndexElement(property: "year", isAscending: false), FetchIndexElement(property: "title")])
    ]
    let store = try TestStore()
    try store.open(Models.frozen([entity])).close()
    XCTAssertEqual(try store.ddl().last, #"CREATE INDEX "i_Book_byYear" ON "Book" ("year" DESC, "title")"#)
  }

  func testPartialIndexesContainTheMatchingRows() throws {
    var entity = Models.entity("Book", [Models.text("title"), Models.integer("year"), Models.attribute("inPrint", .boolean)])
    func index(_ name: String, _ predicate: String) -> FetchIndexDescription {
      FetchIndexDescription(name: name, elements: [FetchIndexElement(property: "title")], partialIndexPredicate: predicate)
    }
    entity.indexes = [
      index("a", "year > 2000 AND title != \"it's\""), index("b", "inPrint == YES OR year IN {1, 2}"), index("c", "title != nil"),
      index("folded", "title CONTAINS[c] 'x'"),
    ]
    let store = try TestStore()
    let open = try store.open(Models.frozen([entity]))
    try open.insert("Book", ["title": .text("t"), "year": .int(2001)])
    XCTAssertEqual(
      try store.ddl().filter { $0.hasPrefix("CREATE INDEX") },
      [
        #"CREATE INDEX "i_Book_a" ON "Book" ("title") WHERE "Book"."year" > 2000 AND "Book"."title" IS NOT 'it''s'"#,
        #"CREATE INDEX "i_Book_b" ON "Book" ("title") WHERE "Book"."inPrint" = 1 OR "Book"."year" IN (1, 2)"#,
        #"CREATE INDEX "i_Book_c" ON "Book" ("title") WHERE "Book"."title" IS NOT NULL"#,
      ], "one by a function of ours is left out")
  }

  func testPartialIndexWithAnInvalidPredicateIsSkipped() throws {
    for predicate in ["titel == 'x'", "title ==", "title == %@", "", "title.length.x > 1", "FUNCTION(title, 'x')"] {
      var entity = Models.entity("Book", [Models.text("title")])
      entity.indexes = [
        FetchIndexDescription(name: "a", elements: [FetchIndexElement(property: "title")], partialIndexPredicate: predicate),
        FetchIndexDescription(name: "b", elements: [FetchIndexElement(property: "title")]),
      ]
      let model = try Models.frozen([entity])
      let store = try TestStore()
      try store.open(model).close()
      XCTAssertEqual(
        try store.ddl().filter { $0.hasPrefix("CREATE INDEX") }, [#"CREATE INDEX "i_Book_b" ON "Book" ("title")"#], predicate)
      let warnings = IndexFormats.warnings(in: model)
      XCTAssertEqual(warnings.map(\.propertyName), ["a"], predicate)
      XCTAssertTrue(warnings.allSatisfy { $0.entityName == "Book" && $0.reason.hasSuffix("the index is left out") }, "\(warnings)")
    }
  }

  func testIndexCoveredByAUniquenessConstraintIsNotDuplicated() throws {
    var entity = Models.entity("Book", [Models.text("title"), Models.integer("year")], unique: [["title", "year"]])
    entity.indexes = [
      FetchIndexDescription(name: "byTitle", elements: [FetchIndexElement(property: "title", isAscending: false)]),
      FetchIndexDescription(name: "byYear", elements: [FetchIndexElement(property: "year")]),
    ]
    let store = try TestStore()
    try store.open(Models.frozen([entity])).close()
    XCTAssertEqual(
      try store.ddl().filter { $0.contains("INDEX") },
      [#"CREATE UNIQUE INDEX "u_Book_title_year" ON "Book" ("title", "year")"#, #"CREATE INDEX "i_Book_byYear" ON "Book" ("year")"#])
  }

  func testReservedAndAmbiguousNamesAreReplaced() {
    var names = NameAllocator(reserved: ["cipherdata_metadata", "rowid"])
    XCTAssertEqual(names.take("Order"), "Order")
    XCTAssertEqual(names.take("ORDER"), "ORDER_2")
    XCTAssertEqual(names.take("order"), "order_3")
    XCTAssertEqual(names.take("sqlite_x"), "_sqlite_x")
    XCTAssertEqual(names.take("SQLite_X"), "_SQLite_X_2")
    XCTAssertEqual(names.take("rowid"), "rowid_2")
    XCTAssertEqual(names.take("CipherData_Metadata"), "CipherData_Metadata_2")
    XCTAssertEqual(names.take("É"), "É")
    XCTAssertEqual(names.take("é"), "é", "SQLite folds ASCII letters only")
    XCTAssertEqual(names.take(""), "_")
    XCTAssertEqual(names.take("a\0b"), "a_b")
  }

  func testLayoutRoundTripsThroughTheMetadata() throws {
    let layout = TableLayout(model: Models.assets, entityNumbers: Models.assets.entities.map(\.number))
    let copy = try JSONDecoder().decode(TableLayout.self, from: JSONEncoder().encode(layout))
    XCTAssertEqual(copy, layout)
    XCTAssertNoThrow(try StoreSchema(model: Models.assets, layout: copy))
    XCTAssertThrowsError(try StoreSchema(model: Models.library, layout: copy))
  }
}
