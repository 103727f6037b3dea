import CoreData
import Foundation
import XCTest

/// Properties and methods declared with `@NSManaged` read and change the store's rows.
final class ManagedPropertyTests: XCTestCase {
  func testAttributesKeepTheirValues() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma", pages: 400)
      let (day, identifier) = (Date(timeIntervalSinceReferenceDate: 1_000), UUID())
      (book.cover, book.identifier, book.isRead, book.published) = (Data([1, 2]), identifier, true, day)
      (book.price, book.rating, book.state, book.added) = (NSDecimalNumber(string: "9.99"), 4.5, .lent, 2_000)
      try stack.context.save()
      stack.context.refreshAllObjects()
      XCTAssertTrue(book.isFault)
      XCTAssertEqual(book.title, "Emma")
      XCTAssertFalse(book.isFault)
      XCTAssertEqual(book.pages, 400)
      XCTAssertEqual(book.cover, Data([1, 2]))
      XCTAssertEqual(book.identifier, identifier)
      XCTAssertTrue(book.isRead)
      XCTAssertEqual(book.published, day)
      XCTAssertEqual(book.price, NSDecimalNumber(string: "9.99"))
      XCTAssertEqual(book.rating, 4.5)
      XCTAssertEqual(book.state, .lent)
      XCTAssertEqual(book.added, 2_000)
      XCTAssertEqual(book.value(forKey: "added") as? Date, Date(timeIntervalSinceReferenceDate: 2_000))
    }
  }

  func testOptionalAttributesAreCleared() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      (book.cover, book.price, book.rating, book.published) = (Data([1]), 1, 2, Date())
      try stack.context.save()
      (book.cover, book.price, book.rating, book.published) = (nil, nil, nil, nil)
      try stack.context.save()
      stack.context.refreshAllObjects()
      XCTAssertNil(book.cover)
      XCTAssertNil(book.price)
      XCTAssertNil(book.rating)
      XCTAssertNil(book.published)
      XCTAssertNotNil(book.identifier)
    }
  }

  func testPropertiesAreChangedInPlaceAndByKeyPaths() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      book.title?.append("!")
      book[keyPath: \.pages] += 3
      XCTAssertEqual(book.title, "Emma!")
      XCTAssertEqual(book.pages, 3)
      XCTAssertEqual([stack.book("A", pages: 2), book].map(\.pages), [2, 3])
    }
  }

  func testSubclassesInheritProperties() throws {
    try LibraryStack.with { stack in
      let comic = Comic(context: stack.context)
      (comic.title, comic.artist, comic.pages) = ("Persepolis", "Satrapi", 160)
      try stack.context.save()
      stack.context.reset()
      let request: NSFetchRequest<Book> = Book.fetchRequest()
      let found = try stack.context.fetch(request)
      XCTAssertEqual(found.count, 1)
      XCTAssertEqual((found.first as? Comic)?.artist, "Satrapi")
      XCTAssertEqual(found.first?.pages, 160)
    }
  }

  func testToOneAndToManyRelationshipsStayConsistent() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      let (emma, persuasion, third) = (stack.book("Emma"), stack.book("Persuasion"), stack.book("Lady Susan"))
      emma.author = author
      author.addToBooks(persuasion)
      author.addToBooks(NSSet(array: [third]))
      XCTAssertTrue(persuasion.author === author)
      XCTAssertEqual(author.books?.count, 3)
      XCTAssertEqual(author.books as? Set<Book>, [emma, persuasion, third])
      author.removeFromBooks(emma)
      author.removeFromBooks(NSSet(object: third))
      XCTAssertNil(emma.author)
      XCTAssertEqual(author.books, NSSet(object: persuasion))
      author.books = NSSet(array: [emma])
      XCTAssertNil(persuasion.author)
      emma.admirers = [author]
      XCTAssertEqual(author.favourites?.array as? [Book], [emma])
      emma.admirers?.remove(author)
      XCTAssertEqual(author.favourites?.count, 0)
    }
  }

  func testOrderedRelationshipsKeepTheirOrder() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      let books = ["a", "b", "c", "d"].map { stack.book($0) }
      func titles() -> [String] { (author.favourites?.array as? [Book] ?? []).map { $0.title ?? "" } }
      author.addToFavourites(NSOrderedSet(array: [books[0], books[1]]))
      author.insertIntoFavourites(books[2], at: 1)
      XCTAssertEqual(titles(), ["a", "c", "b"])
      author.replaceFavourites(at: 0, with: books[3])
      XCTAssertEqual(titles(), ["d", "c", "b"])
      author.removeFromFavourites(at: 1)
      XCTAssertEqual(titles(), ["d", "b"])
      author.insertIntoFavourites([books[0], books[2]], at: NSIndexSet(indexesIn: NSRange(location: 0, length: 2)))
      XCTAssertEqual(titles(), ["a", "c", "d", "b"])
      author.removeFromFavourites(at: NSIndexSet(indexesIn: NSRange(location: 1, length: 2)))
      XCTAssertEqual(titles(), ["a", "b"])
      author.removeFromFavourites(books[1])
      try stack.context.save()
      stack.context.refreshAllObjects()
      XCTAssertEqual(titles(), ["a"])
      author.favourites = NSOrderedSet(array: [books[3], books[2]])
      XCTAssertEqual(titles(), ["d", "c"])
    }
  }

  func testMutableSetsChangeTheRelationship() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      let (emma, persuasion) = (stack.book("Emma"), stack.book("Persuasion"))
      let books: NSMutableSet = author.mutableSetValue(forKey: "books")
      books.add(emma)
      books.addObjects(from: [persuasion])
      XCTAssertEqual(books.count, 2)
      XCTAssertTrue(emma.author === author)
      XCTAssertTrue(books.contains(persuasion))
      books.remove(emma)
      XCTAssertNil(emma.author)
      XCTAssertEqual(books.allObjects as? [Book], [persuasion])
      let favourites: NSMutableOrderedSet = author.mutableOrderedSetValue(forKey: "favourites")
      favourites.add(persuasion)
      favourites.insert(emma, at: 0)
      XCTAssertEqual(author.favourites?.array as? [Book], [emma, persuasion])
      favourites.removeObject(at: 1)
      favourites.replaceObject(at: 0, with: persuasion)
      XCTAssertEqual(favourites.array as? [Book], [persuasion])
      XCTAssertNil(stack.context.pendingError)
      favourites.removeObject(at: 7)
      XCTAssertThrowsError(try stack.context.save())
      author.mutableSetValue(forKey: "bokos").add(emma)
      XCTAssertNotNil(stack.context.pendingError)
    }
  }

  func testPrimitiveValuesDoNotCountAsChanges() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      book.setTitleQuietly("Clueless")
      XCTAssertEqual(book.title, "Clueless")
      XCTAssertFalse(stack.context.hasChanges)
      XCTAssertEqual(book.primitiveValue(forKey: "title") as? String, "Clueless")
    }
  }

  func testMissingNonoptionalValuesReadAsEmptyAndAreReported() throws {
    try LibraryStack.with { stack in
      let comic = Comic(context: stack.context)
      comic.title = "Persepolis"
      XCTAssertEqual(comic.chapters, 0)
      XCTAssertEqual(comic.fans, [])
      XCTAssertEqual(comic.state, .wanted)
      XCTAssertNil(stack.context.pendingError)
      comic.setValue(77, forKey: "state")
      XCTAssertEqual(comic.state, .wanted)
      XCTAssertTrue("\(try XCTUnwrap(stack.context.pendingError))".contains("“Comic.state” is the raw value of no State"))
      XCTAssertThrowsError(try stack.context.save())
      comic.state = .owned
      let writer = comic.writer
      XCTAssertNil(writer.name)
      XCTAssertNil(writer.managedObjectContext)
      XCTAssertTrue("\(try XCTUnwrap(stack.context.pendingError))".contains("“Comic.writer” has no value"))
      XCTAssertThrowsError(try stack.context.save())
      try stack.context.save()
    }
  }

  func testPropertiesAreAccessedByName() throws {
    try LibraryStack.with { stack in
      let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: stack.context)
      note.setValue("Hello", forKey: "text")
      XCTAssertEqual(note.value(forKey: "text") as? String, "Hello")
      XCTAssertEqual(note.changedValues() as? [String: String], ["text": "Hello"])
      let book = stack.book("Emma")
      book.setValue(nil, forKey: "cover")
      book.setValuesForKeys(["pages": 12, "cover": NSNull(), "isRead": true])
      XCTAssertEqual(book.dictionaryWithValues(forKeys: ["pages", "cover"])["pages"] as? Int, 12)
      XCTAssertTrue(book.isRead)
      let author = Author(context: stack.context)
      author.name = "Austen"
      book.author = author
      XCTAssertEqual(book.value(forKeyPath: "author.name") as? String, "Austen")
      book.setValue("Jane", forKeyPath: "author.name")
      XCTAssertEqual(author.name, "Jane")
      XCTAssertEqual("\(author)", "the author Jane")
    }
  }

  func testUnknownPropertyNamesAreThrownByTheNextSave() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      XCTAssertNil(book.value(forKey: "tilte"))
      XCTAssertNotNil(stack.context.pendingError)
      XCTAssertThrowsError(try stack.context.save()) { error in
        XCTAssertEqual((error as NSError).code, NSCoreDataError)
        XCTAssertTrue("\(error)".contains("tilte"), "\(error)")
      }
      try stack.context.save()
    }
  }
}
