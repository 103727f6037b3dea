import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// The store computes derived attributes on every kind of write, and objects have the correct values after their save.
public final class DerivedAttributeSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testATextIsFolded", { $0.testATextIsFolded }),
        ("testToOneCopiesAreUpdatedWithTheirSource", { $0.testToOneCopiesAreUpdatedWithTheirSource }),
        ("testCountsAreUpdatedWithTheMembers", { $0.testCountsAreUpdatedWithTheMembers }),
        ("testBothSpellingsOfAggregatesMeanTheSame", { $0.testBothSpellingsOfAggregatesMeanTheSame }),
        ("testEmptyCollectionsDeriveZeroOrNil", { $0.testEmptyCollectionsDeriveZeroOrNil }),
        ("testSumsAreExact", { $0.testSumsAreExact }),
        ("testOverflowingDerivedValueIsNil", { $0.testOverflowingDerivedValueIsNil }),
        ("testManyToManyIsCountedOnBothSides", { $0.testManyToManyIsCountedOnBothSides }),
        ("testDerivedAttributeCanDependOnAnother", { $0.testDerivedAttributeCanDependOnAnother }),
        ("testNowReturnsTheTimeOfTheSave", { $0.testNowReturnsTheTimeOfTheSave }),
        ("testSubentitiesInheritAndAreCounted", { $0.testSubentitiesInheritAndAreCounted }),
        ("testReferencesToDeletedObjectsDeriveNil", { $0.testReferencesToDeletedObjectsDeriveNil }),
        ("testCompositePartsCanBeSources", { $0.testCompositePartsCanBeSources }),
        ("testDerivedAttributesCannotBeSet", { $0.testDerivedAttributesCannotBeSet }),
        ("testARequiredDerivedAttributeNeedsNoValue", { $0.testARequiredDerivedAttributeNeedsNoValue }),
        ("testBatchRequestsUpdateDerivedAttributes", { $0.testBatchRequestsUpdateDerivedAttributes }),
        ("testBatchUpdateCannotSetDerivedAttributes", { $0.testBatchUpdateCannotSetDerivedAttributes }),
        ("testDerivedAttributesCanBeQueriedAndSortedBy", { $0.testDerivedAttributesCanBeQueriedAndSortedBy }),
        ("testDerivedValuesDoNotMarkOtherObjectsChanged", { $0.testDerivedValuesDoNotMarkOtherObjectsChanged }),
        ("testOtherContextsMergeDerivedAttributes", { $0.testOtherContextsMergeDerivedAttributes }),
        ("testAnOldSnapshotOverwritesNothing", { $0.testAnOldSnapshotOverwritesNothing }),
        ("testDerivedValuesOfManyRowsAreRefreshed", { $0.testDerivedValuesOfManyRowsAreRefreshed }),
        ("testFailedSaveLeavesDerivedValuesUnchanged", { $0.testFailedSaveLeavesDerivedValuesUnchanged }),
        ("testFoldedTextCanBeUnique", { $0.testFoldedTextCanBeUnique }),
        ("testDerivedTextsAreFullTextSearchable", { $0.testDerivedTextsAreFullTextSearchable }),
        ("testRandomGraphMatchesANaiveComputation", { $0.testRandomGraphMatchesANaiveComputation }),
      ] as [(String, (DerivedAttributeSpecification) -> () throws -> Void)])
  }

  static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Composite("Place") { Attribute("city", .string) }
      Entity("Country") { Attribute("name", .string) }
      Entity("Author") {
        Attribute("name", .string)
        Attribute("home", composite: "Place")
        Relationship("country", to: "Country")
        Relationship("books", toMany: "Book", inverse: "author").onDelete(.cascade)
        Attribute("nameKey", .string).derived("canonical:(name)")
        Attribute("cityKey", .string).derived("uppercase:(home.city)")
        Attribute("bookCount", .integer32).required().derived("books.@count")
        Attribute("priceSum", .decimal).derived("books.@sum.price")
        Attribute("pageSum", .integer64).derived("books.pages.@sum")
        Attribute("mostPages", .integer64).derived("books.@max.pages")
        Attribute("leastPages", .integer64).derived("books.pages.@min")
        Attribute("meanRating", .double).derived("books.rating.@avg")
        Attribute("wordSum", .integer64).derived("books.@sum.words")
        Attribute("firstTitle", .string).derived("books.@min.title")
        Attribute("saved", .date).derived("now()")
        Index("byCount", on: "bookCount")
      }
      Entity("Book") {
        Attribute("title", .string)
        Attribute("pages", .integer32)
        Attribute("price", .decimal)
        Attribute("rating", .double)
        Relationship("author", to: "Author", inverse: "books")
        Relationship("chapters", toMany: "Chapter", inverse: "book").ordered().onDelete(.cascade)
        Relationship("tags", toMany: "Tag", inverse: "books")
        Attribute("authorName", .string).derived("author.name")
        Attribute("authorCountry", .string).derived("author.country.name")
        Attribute("authorShout", .string).derived("uppercase:(authorName)")
        Attribute("authorKey", .string).derived("lowercase:(author.nameKey)")
        Attribute("authorCity", .string).derived("author.home.city")
        Attribute("words", .integer64).derived("chapters.@sum.words")
        Attribute("smallWords", .integer16).derived("chapters.@sum.words")
        Attribute("tagCount", .integer64).derived("tags.@count")
        Attribute("siblings", .integer64).derived("author.books.@count")
      }
      Entity("Novel", parent: "Book") {
        Attribute("genre", .string)
        Attribute("genreKey", .string).derived("canonical:(genre)")
      }
      Entity("Chapter") {
        Attribute("words", .integer64)
        Relationship("book", to: "Book", inverse: "chapters")
        Attribute("bookTitle", .string).derived("book.title")
      }
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("books", toMany: "Book", inverse: "tags").ordered()
        Attribute("bookCount", .integer64).derived("books.@count")
        Attribute("pages", .integer64).derived("books.@sum.pages")
      }
      Entity("List") {
        Relationship("items", toMany: "Book")
        Attribute("itemCount", .integer64).derived("items.@count")
        Attribute("ratingSum", .double).derived("items.rating.@sum")
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }()

  func make() throws -> (store: OpenStore, context: ManagedObjectContext) {
    let store = try makeStore(Self.model)
    return (store, store.newContext())
  }

  /// A stored value, bypassing all caches.
  func stored(_ store: OpenStore, _ object: ManagedObject, _ key: String) throws -> Slot {
    try XCTUnwrap(try store.value(object.objectID, key), "The object has no row.")
  }

  // MARK: Forms

  func testATextIsFolded() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Émile Zola"])
    XCTAssertNil(author.text("nameKey"), "nothing is computed before the save")
    try context.save()
    XCTAssertEqual(author.text("nameKey"), "emile zola")
    XCTAssertEqual(try stored(store, author, "nameKey"), .text("emile zola"))
    try author.setValue("ŠVEJK", forKey: "name")
    XCTAssertEqual(author.text("nameKey"), "emile zola")
    try context.save()
    XCTAssertEqual(author.text("nameKey"), "svejk")
    try author.setValue(nil, forKey: "name")
    try context.save()
    XCTAssertNil(author.text("nameKey"))
    XCTAssertEqual(try stored(store, author, "nameKey"), .null)
  }

  func testToOneCopiesAreUpdatedWithTheirSource() throws {
    let (store, context) = try make()
    let country = try context.insert("Country", ["name": "Chile"])
    let (ann, bob) = (try context.insert("Author", ["name": "Ann", "country": country]), try context.insert("Author", ["name": "Bob"]))
    let book = try context.insert("Book", ["title": "One", "author": ann])
    try context.save()
    XCTAssertEqual(book.text("authorName"), "Ann")
    XCTAssertEqual(book.text("authorCountry"), "Chile")
    try ann.setValue("Anna", forKey: "name")
    try country.setValue("Peru", forKey: "name")
    try context.save()
    XCTAssertEqual(book.text("authorName"), "Anna")
    XCTAssertEqual(book.text("authorCountry"), "Peru")
    try book.setValue(bob, forKey: "author")
    try context.save()
    XCTAssertEqual(book.text("authorName"), "Bob")
    XCTAssertNil(book.text("authorCountry"))
    try bob.setValue(country, forKey: "country")
    try context.save()
    XCTAssertEqual(book.text("authorCountry"), "Peru")
    try book.setValue(nil, forKey: "author")
    try context.save()
    XCTAssertEqual(try stored(store, book, "authorName"), .null)
    XCTAssertEqual(try stored(store, book, "authorCountry"), .null)
  }

  func testCountsAreUpdatedWithTheMembers() throws {
    let (store, context) = try make()
    let (ann, bob) = (try context.insert("Author", ["name": "Ann"]), try context.insert("Author", ["name": "Bob"]))
    let books = try (0..<3).map { try context.insert("Book", ["title": "\($0)", "author": ann]) }
    try context.save()
    XCTAssertEqual(ann["bookCount"] as? Int32, 3)
    XCTAssertEqual(bob["bookCount"] as? Int32, 0)
    try books[0].setValue(bob, forKey: "author")
    try context.save()
    XCTAssertEqual(ann["bookCount"] as? Int32, 2)
    XCTAssertEqual(bob["bookCount"] as? Int32, 1)
    XCTAssertEqual(books[1].integer("siblings"), 2)
    XCTAssertEqual(books[0].integer("siblings"), 1)
    context.delete(books[1])
    try context.save()
    XCTAssertEqual(ann["bookCount"] as? Int32, 1)
    context.delete(ann)
    try context.save()
    XCTAssertEqual(try stored(store, bob, "bookCount"), .int(1))
    XCTAssertEqual(try store.count("Book"), 1)
  }

  func testBothSpellingsOfAggregatesMeanTheSame() throws {
    let (_, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    for (title, pages, price, rating) in [("b", 100, "1.10", 4.0), ("a", 250, "2.25", 5.0), ("c", 40, "0.65", 1.5)] {
      try context.insert(
        "Book", ["title": title, "pages": pages, "price": Decimal(string: price), "rating": rating, "author": author])
    }
    try context.insert("Book", ["author": author])
    try context.save()
    XCTAssertEqual(author["priceSum"] as? Decimal, Decimal(string: "4.00"))
    XCTAssertEqual(author.integer("pageSum"), 390)
    XCTAssertEqual(author.integer("mostPages"), 250)
    XCTAssertEqual(author.integer("leastPages"), 40)
    XCTAssertEqual(author["meanRating"] as? Double, 3.5)
    XCTAssertEqual(author.text("firstTitle"), "a")
  }

  func testEmptyCollectionsDeriveZeroOrNil() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    try context.save()
    for (key, value) in [
      ("bookCount", .int(0)), ("priceSum", .bytes(DecimalCoding.encode(0))), ("pageSum", .int(0)), ("mostPages", .null),
      ("leastPages", .null),
      ("meanRating", .null), ("firstTitle", .null), ("wordSum", .int(0)),
    ] as [(String, Slot)] {
      XCTAssertEqual(try stored(store, author, key), value, key)
    }
    XCTAssertEqual(author["priceSum"] as? Decimal, 0)
    let list = try context.insert("List")
    try context.save()
    XCTAssertEqual(list["ratingSum"] as? Double, 0)
  }

  func testSumsAreExact() throws {
    let (store, context) = try make()
    let book = try context.insert("Book")
    let big = Int64(1) << 62
    let chapters = try [big, big - 1, 3].map { try context.insert("Chapter", ["words": $0, "book": book]) }
    try chapters[2].setValue(Int64(0), forKey: "words")
    try context.save()
    XCTAssertEqual(try stored(store, book, "words"), .int(.max))
    try chapters[2].setValue(Int64(1), forKey: "words")
    try context.save()
    XCTAssertEqual(try stored(store, book, "words"), .null, "64 bits do not hold it")
    try chapters[0].setValue(-big, forKey: "words")
    try context.save()
    XCTAssertEqual(try stored(store, book, "words"), .int(0))
    let author = try context.insert("Author")
    for _ in 0..<10 { try context.insert("Book", ["price": Decimal(string: "0.1"), "author": author]) }
    try context.save()
    XCTAssertEqual(author["priceSum"] as? Decimal, 1)
  }

  func testOverflowingDerivedValueIsNil() throws {
    let (store, context) = try make()
    let book = try context.insert("Book")
    let chapter = try context.insert("Chapter", ["words": Int64(32_767), "book": book])
    try context.save()
    XCTAssertEqual(try stored(store, book, "smallWords"), .int(32_767))
    try chapter.setValue(Int64(32_768), forKey: "words")
    try context.save()
    XCTAssertEqual(try stored(store, book, "smallWords"), .null)
    XCTAssertEqual(book.integer("words"), 32_768)
  }

  func testManyToManyIsCountedOnBothSides() throws {
    let (store, context) = try make()
    let tags = try ["x", "y"].map { try context.insert("Tag", ["name": $0]) }
    let books = try [10, 20, 30].map { try context.insert("Book", ["pages": $0, "tags": Set(tags)]) }
    let list = try context.insert("List", ["items": Set(books)])
    try context.save()
    XCTAssertEqual(tags.map { $0.integer("bookCount") }, [3, 3])
    XCTAssertEqual(tags.map { $0.integer("pages") }, [60, 60])
    XCTAssertEqual(books.map { $0.integer("tagCount") }, [2, 2, 2])
    XCTAssertEqual(list.integer("itemCount"), 3)
    try books[0].setValue([tags[1]], forKey: "tags")
    try books[1].setValue(Int32(25), forKey: "pages")
    context.delete(books[2])
    try context.save()
    XCTAssertEqual(tags.map { $0.integer("bookCount") }, [1, 2])
    XCTAssertEqual(tags.map { $0.integer("pages") }, [25, 35])
    XCTAssertEqual(books[0].integer("tagCount"), 1)
    XCTAssertEqual(list.integer("itemCount"), 2)
    context.delete(tags[1])
    try context.save()
    XCTAssertEqual(try books[..<2].map { try stored(store, $0, "tagCount") }, [.int(0), .int(1)])
    // Another order changes nothing.
    try tags[0].setValue(Array(tags[0].list("books").reversed()), forKey: "books")
    try context.save()
    XCTAssertEqual(tags[0].integer("pages"), 25)
  }

  func testDerivedAttributeCanDependOnAnother() throws {
    let (_, context) = try make()
    let author = try context.insert("Author", ["name": "Zoë"])
    let book = try context.insert("Book", ["author": author])
    let chapter = try context.insert("Chapter", ["words": Int64(5), "book": book])
    try context.save()
    XCTAssertEqual(book.text("authorShout"), "ZOË")
    XCTAssertEqual(book.text("authorKey"), "zoe")
    XCTAssertEqual(author.integer("wordSum"), 5)
    try author.setValue("Çelik", forKey: "name")
    try chapter.setValue(Int64(8), forKey: "words")
    try context.save()
    XCTAssertEqual(book.text("authorShout"), "ÇELIK")
    XCTAssertEqual(book.text("authorKey"), "celik")
    XCTAssertEqual(author.integer("wordSum"), 8)
    context.delete(chapter)
    try context.save()
    XCTAssertEqual(author.integer("wordSum"), 0)
  }

  func testNowReturnsTheTimeOfTheSave() throws {
    let (_, context) = try make()
    let before = Date()
    let author = try context.insert("Author", ["name": "Ann"])
    let other = try context.insert("Author", ["name": "Bob"])
    try context.save()
    let first = try XCTUnwrap(author["saved"] as? Date)
    XCTAssertEqual(other["saved"] as? Date, first, "one save has one time")
    XCTAssertGreaterThanOrEqual(first, before)
    XCTAssertLessThanOrEqual(first, Date())
    Thread.sleep(forTimeInterval: 0.01)
    try author.setValue("Anna", forKey: "name")
    try context.save()
    let second = try XCTUnwrap(author["saved"] as? Date)
    XCTAssertGreaterThan(second, first)
    XCTAssertEqual(other["saved"] as? Date, first)
    // A new book changes the author's derived values without saving the author itself.
    Thread.sleep(forTimeInterval: 0.01)
    try context.insert("Book", ["author": author])
    try context.save()
    XCTAssertEqual(author["bookCount"] as? Int32, 1)
    XCTAssertEqual(author["saved"] as? Date, second)
    var request = BatchUpdateRequest(
      entityName: "Author", predicate: .compare("name", .equal, "Bob"), propertiesToUpdate: ["name": "Bobby"])
    request.resultType = .count
    try context.execute(request)
    XCTAssertGreaterThan(try XCTUnwrap(other["saved"] as? Date), second)
  }

  func testSubentitiesInheritAndAreCounted() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    let novel = try context.insert("Novel", ["genre": "Crême", "author": author, "pages": 7])
    try context.insert("Book", ["author": author, "pages": 5])
    try context.save()
    XCTAssertEqual(novel.text("genreKey"), "creme")
    XCTAssertEqual(novel.text("authorName"), "Ann")
    XCTAssertEqual(author["bookCount"] as? Int32, 2)
    XCTAssertEqual(author.integer("pageSum"), 12)
    try novel.setValue("Ödön", forKey: "genre")
    try author.setValue("Anna", forKey: "name")
    try context.save()
    XCTAssertEqual(try stored(store, novel, "genreKey"), .text("odon"))
    XCTAssertEqual(try stored(store, novel, "authorName"), .text("Anna"))
  }

  func testReferencesToDeletedObjectsDeriveNil() throws {
    let (store, context) = try make()
    let country = try context.insert("Country", ["name": "Chile"])
    let author = try context.insert("Author", ["country": country])
    let book = try context.insert("Book", ["author": author])
    try context.save()
    XCTAssertEqual(book.text("authorCountry"), "Chile")
    // The relationship has no inverse, so the reference to the country is not nullified.
    context.delete(country)
    try context.save()
    XCTAssertEqual(try stored(store, book, "authorCountry"), .null)
  }

  func testCompositePartsCanBeSources() throws {
    let (_, context) = try make()
    let author = try context.insert("Author", ["home": ["city": "Ulm"]])
    let book = try context.insert("Book", ["author": author])
    try context.save()
    XCTAssertEqual(author.text("cityKey"), "ULM")
    XCTAssertEqual(book.text("authorCity"), "Ulm")
    try author.setValue("Bonn", forKeyPath: "home.city")
    try context.save()
    XCTAssertEqual(author.text("cityKey"), "BONN")
    XCTAssertEqual(book.text("authorCity"), "Bonn")
  }
}
