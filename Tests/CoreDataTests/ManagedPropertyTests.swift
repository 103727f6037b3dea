import CoreData
import Foundation
import XCTest

/// An entity whose numbers have other classes in the source than in the model.
final class Numbers: NSManagedObject {
  @NSManaged var one: NSDecimalNumber
  @NSManaged var two: NSDecimalNumber?
  @NSManaged var three: NSDecimalNumber?
  @NSManaged var four: NSDecimalNumber?
  @NSManaged var five: NSDecimalNumber?
  @NSManaged var six: NSNumber?
  @NSManaged var seven: NSNumber?
}

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

  func testInheritedPropertiesAreThoseOfTheSubclassToo() throws {
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

  func testToOneAndToManyRelationshipsKeepStep() throws {
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

  func testSetsThatKeysReadChangeTheRelationship() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      let (emma, persuasion, sanditon) = (stack.book("Emma"), stack.book("Persuasion"), stack.book("Sanditon"))
      emma.author = author
      let books = author.mutableSetValue(forKey: "books")
      XCTAssertEqual(books, NSSet(object: emma))
      // What is read is a plain set, since casts of others are empty on Linux.
      XCTAssertEqual(author.value(forKey: "books") as? Set<Book>, [emma])
      XCTAssertTrue(books.contains(emma) && !books.contains(persuasion) && !books.contains("Emma"))
      books.add(persuasion)
      XCTAssertTrue(persuasion.author === author)
      XCTAssertEqual(author.books as? Set<Book>, [emma, persuasion])
      author.addToBooks(sanditon)
      XCTAssertEqual(books.count, 3)
      for case let book as Book in books where book !== sanditon { books.remove(book) }
      XCTAssertEqual(books.count, 1)
      XCTAssertEqual(author.books as? Set<Book>, [sanditon])
      author.mutableSetValue(forKeyPath: "books").add(emma)
      emma.mutableSetValue(forKeyPath: "author.books").add(persuasion)
      XCTAssertEqual(author.books as? Set<Book>, [emma, persuasion, sanditon])
      XCTAssertEqual((author.primitiveValue(forKey: "books") as? NSSet)?.count, 3)
      author.willChangeValue(forKey: "books")
      author.setPrimitiveValue(NSSet(array: [persuasion]), forKey: "books")
      author.didChangeValue(forKey: "books")
      XCTAssertEqual(author.books as? Set<Book>, [persuasion])
      XCTAssertNil(emma.author)
      let favourites = try XCTUnwrap(author.value(forKey: "favourites") as? NSMutableOrderedSet)
      favourites.addObjects(from: [emma, persuasion])
      XCTAssertEqual(author.favourites?.array as? [Book], [emma, persuasion])
      emma.mutableSetValue(forKey: "admirers").remove(author)
      XCTAssertEqual((author.value(forKeyPath: "favourites") as? NSOrderedSet)?.array as? [Book], [persuasion])
      persuasion.mutableOrderedSetValue(forKeyPath: "author.favourites").removeAllObjects()
      XCTAssertEqual(author.favourites?.count, 0)
      XCTAssertNil(stack.context.pendingError)
    }
  }

  func testEveryChangeOfAMutableSetChangesTheRelationship() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      let books = ["a", "b", "c", "d"].map { stack.book($0) }
      let (set, favourites) = (author.mutableSetValue(forKey: "books"), author.mutableOrderedSetValue(forKey: "favourites"))
      func check(_ members: String, line: UInt = #line, _ change: (NSMutableSet) -> Void) {
        change(set)
        XCTAssertEqual((author.books as? Set<Book> ?? []).map { $0.title ?? "" }.sorted().joined(), members, line: line)
        XCTAssertEqual(set.count, members.count, line: line)
      }
      check("abc") { $0.addObjects(from: Array(books[..<3])) }
      check("bcd") { $0.setSet([books[1], books[2], books[3]] as Set<Book>) }
      check("bc") { $0.intersect([books[0], books[1], books[2]] as Set<Book>) }
      check("abc") { $0.union([books[0], books[1]] as Set<Book>) }
      check("a") { $0.minus([books[1], books[2]] as Set<Book>) }
      check("") { $0.removeAllObjects() }
      func checkOrdered(_ members: String, line: UInt = #line, _ change: (NSMutableOrderedSet) -> Void) {
        change(favourites)
        XCTAssertEqual((author.favourites?.array as? [Book] ?? []).map { $0.title ?? "" }.joined(), members, line: line)
        XCTAssertEqual((favourites.array as? [Book] ?? []).map { $0.title ?? "" }.joined(), members, line: line)
      }
      checkOrdered("ab") { $0.addObjects(from: Array(books[..<2])) }
      checkOrdered("cadb") { $0.insert([books[2], books[3]], at: [0, 2]) }
      checkOrdered("badc") { $0.exchangeObject(at: 0, withObjectAt: 3) }
      checkOrdered("adcb") { $0.moveObjects(at: [0], to: 3) }
      checkOrdered("ab") { $0.removeObjects(at: [1, 2]) }
      checkOrdered("cb") { $0.setObject(books[2], at: 0) }
      checkOrdered("cbd") { $0.union(NSOrderedSet(array: [books[1], books[3]])) }
      checkOrdered("bd") { $0.minus(NSOrderedSet(array: [books[2]])) }
      checkOrdered("b") { $0.intersect(NSOrderedSet(array: [books[1]])) }
      checkOrdered("ba") { $0.unionSet([books[0], books[1]]) }
      checkOrdered("b") { $0.minusSet([books[0]]) }
      checkOrdered("ba") { $0.add(books[0]) }
      checkOrdered("ba") { $0.intersectSet([books[0], books[1], books[2]]) }
      checkOrdered("ab") { $0.sort { one, _ in (one as? Book)?.title == "a" ? .orderedAscending : .orderedDescending } }
      checkOrdered("b") { $0.removeObjects(in: NSRange(location: 0, length: 1)) }
      checkOrdered("d") { $0.replaceObjects(at: [0], with: [books[3]]) }
      checkOrdered("") { $0.removeObjects(in: [books[3], books[0]]) }
      XCTAssertNil(stack.context.pendingError)
      try stack.context.save()
    }
  }

  func testSetsOfRelationshipsAreCopiedAsPlainSets() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      let (emma, persuasion) = (stack.book("Emma"), stack.book("Persuasion"))
      emma.author = author
      author.addToFavourites(emma)
      for set in [author.mutableSetValue(forKey: "books"), emma.mutableSetValue(forKeyPath: "author.books")] {
        XCTAssertEqual(set.copy() as? Set<Book>, [emma])
        let copy = try XCTUnwrap(set.mutableCopy() as? NSMutableSet)
        copy.add(persuasion)
        XCTAssertEqual(copy.count, 2)
        XCTAssertEqual(set, NSSet(object: emma))
        XCTAssertTrue(set.isSubset(of: [emma, persuasion] as Set<Book>))
        XCTAssertEqual(set.filtered(using: NSPredicate(format: "title == 'Emma'")), [emma])
        XCTAssertEqual(set.value(forKey: "title") as? Set<String>, ["Emma"])
      }
      let orderedSets: [NSMutableOrderedSet?] = [
        author.value(forKey: "favourites") as? NSMutableOrderedSet, author.mutableOrderedSetValue(forKey: "favourites"),
      ]
      for set in orderedSets {
        let set = try XCTUnwrap(set)
        XCTAssertEqual((set.copy() as? NSOrderedSet)?.array as? [Book], [emma])
        let copy = try XCTUnwrap(set.mutableCopy() as? NSMutableOrderedSet)
        copy.add(persuasion)
        XCTAssertEqual(copy.count, 2)
        XCTAssertEqual(set.set as? Set<Book>, [emma])
      }
      XCTAssertEqual(author.books as? Set<Book>, [emma])
      XCTAssertEqual(author.favourites?.array as? [Book], [emma])
    }
  }

  func testAttributesAreReadAndSetAsNumbersOfEveryClass() throws {
    let types: [NSAttributeType] = [
      .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .doubleAttributeType, .floatAttributeType,
      .decimalAttributeType, .booleanAttributeType,
    ]
    let entity = NSEntityDescription()
    (entity.name, entity.managedObjectClassName) = ("Numbers", NSStringFromClass(Numbers.self))
    entity.properties = ["one", "two", "three", "four", "five", "six", "seven"].enumerated().map { index, name in
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.isOptional) = (name, types[index], true)
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let container = NSPersistentContainer(name: "Numbers", managedObjectModel: model)
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { XCTAssertNil($1) }
    let numbers = Numbers(context: container.viewContext)
    XCTAssertNil(numbers.two)
    XCTAssertEqual(numbers.one, 0)
    for _ in 0..<2 {
      numbers.one = 1
      (numbers.two, numbers.three, numbers.four, numbers.five, numbers.six, numbers.seven) = (1, 1, 1, 1, 1, 1)
      XCTAssertEqual(
        [numbers.one, numbers.two, numbers.three, numbers.four, numbers.five], Array(repeating: NSDecimalNumber(value: 1), count: 5))
      XCTAssertEqual(numbers.six, 1)
      XCTAssertEqual(numbers.seven, 1)
      for name in ["one", "two", "three", "four", "five", "six", "seven"] {
        numbers.setValue(NSDecimalNumber(value: 1), forKey: name)
        XCTAssertEqual((numbers.value(forKey: name) as? NSNumber)?.intValue, 1, name)
        numbers.setValue(NSNumber(value: 1), forKey: name)
        XCTAssertEqual((numbers.value(forKey: name) as? NSNumber)?.intValue, 1, name)
      }
      XCTAssertNil(container.viewContext.pendingError)
      XCTAssertNoThrow(try container.viewContext.save())
      container.viewContext.refreshAllObjects()
    }
    numbers.three = NSDecimalNumber(string: "1.5")
    XCTAssertNotNil(container.viewContext.pendingError)
  }

  func testPrimitiveValuesAreNoChanges() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      try stack.context.save()
      book.setTitleQuietly("Clueless")
      XCTAssertEqual(book.title, "Clueless")
      XCTAssertFalse(stack.context.hasChanges)
      XCTAssertEqual(book.primitiveValue(forKey: "title") as? String, "Clueless")
    }
  }

  func testAMissingOrUnknownValueOfATypeThatIsNotOptionalIsAnEmptyOneAndTold() throws {
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

  func testPropertiesAreNamedByTexts() throws {
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

  func testANameThatIsNoPropertysIsThrownByTheNextSave() throws {
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
