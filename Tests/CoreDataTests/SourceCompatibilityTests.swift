import CoreData
import Foundation
import XCTest

/// Code that applications write for Core Data, or that `cipherdata port-sources` makes from it, compiles and behaves as with Core Data.
final class SourceCompatibilityTests: XCTestCase {
  /// Some stacks from before Swift's own `performAndWait` pass it as a function.
  private static func run(_ function: (() -> Void) -> Void, _ work: @escaping () -> Void) { function(work) }

  func testPerformAndWaitCanBePassedAsAFunction() throws {
    try LibraryStack.with { stack in
      let background = stack.container.newBackgroundContext()
      var titles: [String?] = []
      Self.run(background.performAndWait) {
        let book = Book(context: background)
        book.title = "Emma"
        Self.run(background.performAndWait) { titles = background.insertedObjects.map { ($0 as? Book)?.title } }
      }
      XCTAssertEqual(titles, ["Emma"])
    }
  }

  func testCollectionsOfObjectsHaveValuesByKeysAndKeyPaths() throws {
    try LibraryStack.with { stack in
      let (author, other) = (Author(context: stack.context), stack.book("Evelina"))
      author.name = "Austen"
      for (title, pages) in [("Emma", 4), ("Persuasion", 2), ("Sanditon", 2)] {
        let book = stack.book(title, pages: Int32(pages))
        book.author = author
      }
      let books = try XCTUnwrap(author.books)
      XCTAssertEqual(books.value(forKey: "title") as? Set<String>, ["Emma", "Persuasion", "Sanditon"])
      XCTAssertEqual(books.value(forKeyPath: "@sum.pages") as? Int, 8)
      XCTAssertEqual(books.value(forKeyPath: "@max.pages") as? Int, 4)
      XCTAssertEqual(books.value(forKeyPath: "author.name") as? Set<String>, ["Austen"])
      let list = NSArray(array: books.sortedArray(using: [NSSortDescriptor(key: "title", ascending: true)]) + [other])
      XCTAssertEqual(list.value(forKey: "title") as? [String], ["Emma", "Persuasion", "Sanditon", "Evelina"])
      XCTAssertEqual((list.value(forKeyPath: "author.name") as? [Any])?.map { $0 is NSNull }, [false, false, false, true])
      XCTAssertEqual(list.value(forKeyPath: "@count") as? Int, 4)
      XCTAssertEqual(list.value(forKeyPath: "@avg.pages") as? Double, 2)
      XCTAssertEqual(list.value(forKeyPath: "@min.title") as? String, "Emma")
      XCTAssertEqual(list.value(forKeyPath: "@distinctUnionOfObjects.author.name") as? [String], ["Austen"])
      XCTAssertEqual((list.value(forKeyPath: "@unionOfObjects.pages") as? [Int32])?.sorted(), [0, 2, 2, 4])
      XCTAssertNil(list.value(forKeyPath: "@max.author.name.@nothing"))
      XCTAssertEqual(NSOrderedSet(array: [other]).value(forKeyPath: "@max.title") as? String, "Evelina")
      // The results of a dictionary fetch, and values that applications read from JSON.
      let rows: NSArray = [["name": "a", "size": 2], ["name": "b", "size": 3]]
      XCTAssertEqual(rows.value(forKeyPath: "@sum.size") as? Int, 5)
      XCTAssertEqual(rows.value(forKey: "name") as? [String], ["a", "b"])
      let nested: NSDictionary = ["person": ["name": "Emma", "tags": ["x", "y"]] as [String: Any]]
      XCTAssertEqual(nested.value(forKeyPath: "person.name") as? String, "Emma")
      XCTAssertEqual(nested.value(forKeyPath: "person.tags.@count") as? Int, 2)
      XCTAssertNil(nested.value(forKeyPath: "person.age"))
    }
  }

  /// A plain object of an application.
  private class Shelf: NSObject {
    let name: String?
    init(name: String?) { self.name = name }
  }

  /// A plain object with related objects.
  private final class Room: Shelf {
    let shelves: [Shelf]
    weak var neighbor: Room?
    init(_ name: String, _ shelves: [Shelf]) {
      self.shelves = shelves
      super.init(name: name)
    }
  }

  func testPredicatesAndSortDescriptorsReadStoredPropertiesOfPlainObjects() {
    let rooms = [Room("b", [Shelf(name: "fiction"), Shelf(name: nil)]), Room("a", []), Room("c", [Shelf(name: "travel")])]
    // A cycle does not cause an endless recursion.
    (rooms[0].neighbor, rooms[1].neighbor) = (rooms[1], rooms[0])
    func names(_ format: String) -> [String?] {
      NSArray(array: rooms).filtered(using: NSPredicate(format: format)).map { ($0 as? Room)?.name }
    }
    XCTAssertEqual(names("name == 'a'"), ["a"])
    XCTAssertEqual(names("name IN {'b', 'c'}"), ["b", "c"])
    XCTAssertEqual(names("ANY shelves.name == 'travel'"), ["c"])
    XCTAssertEqual(names("shelves.@count >= 1"), ["b", "c"])
    XCTAssertEqual(names("neighbor.name == 'b'"), ["a"])
    XCTAssertEqual(names("neighbor == nil"), ["c"])
    XCTAssertEqual(names("unknown == 'a'"), [])
    let sorted = NSArray(array: rooms).sortedArray(using: [NSSortDescriptor(key: "name", ascending: true)])
    XCTAssertEqual(sorted.map { ($0 as? Room)?.name }, ["a", "b", "c"])
    XCTAssertEqual(NSArray(array: rooms).value(forKey: "name") as? [String], ["b", "a", "c"])
    XCTAssertEqual(NSArray(array: rooms).value(forKeyPath: "neighbor.name").map { "\($0)" }, "[\"a\", \"b\", <null>]")
  }

  func testMergedModelOfAllBundlesIsTheModelOfTheProgram() {
    XCTAssertEqual(NSManagedObjectModel.mergedModel(from: Bundle.allBundles), NSManagedObjectModel.mergedModel(from: nil))
    XCTAssertNotNil(NSManagedObjectModel.mergedModel(from: [.main, .main]))
  }

  func testAttributesMayBeIndexedIndividually() throws {
    let model = NSManagedObjectModel.boxes("name", "size")
    let entity = try XCTUnwrap(model.entities.first)
    XCTAssertEqual(entity.properties.map(\.isIndexed), [false, false])
    entity.properties.first?.isIndexed = true
    XCTAssertEqual(entity.properties.map(\.isIndexed), [true, false])
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let copy = try XCTUnwrap((model.copy() as? NSManagedObjectModel)?.entities.first)
    XCTAssertEqual(copy.indexes.map { $0.elements.map(\.propertyName) }, [["name"]])
    XCTAssertEqual(copy.properties.map(\.isIndexed), [true, false])
    copy.properties.first?.isIndexed = false
    XCTAssertEqual(copy.indexes.count, 0)
    XCTAssertEqual(coordinator.persistentStores.count, 1)
  }

  func testAttributeTypeSwitchesIncludeObjectIDs() {
    func isKept(_ type: NSAttributeType) -> Bool {
      switch type {
      case .objectIDAttributeType, .undefinedAttributeType: false
      default: true
      }
    }
    let attribute = NSAttributeDescription()
    (attribute.name, attribute.attributeType) = ("reference", .objectIDAttributeType)
    XCTAssertFalse(isKept(attribute.attributeType))
    XCTAssertEqual(attribute.type, .objectID)
    let entity = NSEntityDescription()
    entity.name = "Box"
    entity.properties = [attribute]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    // No store supports such an attribute.
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    XCTAssertThrowsError(try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil))
    XCTAssertEqual(NSPersistentStoreCoordinator().persistentStores.count, 0)
  }

  func testFetchRequestsConvertBetweenResultTypes() throws {
    try LibraryStack.with { stack in
      for title in ["Emma", "Persuasion"] { stack.book(title) }
      try stack.context.save()
      let books = NSFetchRequest<Book>(entityName: "Book")
      let any = NSFetchRequest<any NSFetchRequestResult>(books)
      any.predicate = NSPredicate(format: "title BEGINSWITH 'E'")
      XCTAssertEqual(books.predicate, any.predicate)
      books.affectedStores = stack.container.persistentStoreCoordinator.persistentStores
      XCTAssertEqual(any.affectedStores?.count, 1)
      XCTAssertEqual(try stack.context.fetch(any).count, 1)
      XCTAssertEqual(try stack.context.fetch(NSFetchRequest<Book>(any)).map(\.title), ["Emma"])
      // A copy is an independent request.
      let copy = try XCTUnwrap(books.copy() as? NSFetchRequest<Book>)
      copy.affectedStores = nil
      XCTAssertEqual(books.affectedStores?.count, 1)
    }
  }

  func testDescriptionsAreCopied() throws {
    try LibraryStack.with { stack in
      let model = stack.container.managedObjectModel
      let book = try XCTUnwrap(model.entitiesByName["Book"])
      let copy = try XCTUnwrap(book.copy() as? NSEntityDescription)
      XCTAssertFalse(copy === book)
      XCTAssertEqual(copy.name, "Book")
      XCTAssertEqual(copy.properties.map(\.name), book.properties.map(\.name))
      XCTAssertEqual(copy.subentities.map(\.name), book.subentities.map(\.name))
      let title = try XCTUnwrap(book.attributesByName["title"])
      copy.attributesByName["title"]?.isOptional = !title.isOptional
      XCTAssertEqual(copy.attributesByName["title"]?.isOptional, !title.isOptional)
      let attribute = try XCTUnwrap(book.attributesByName["title"]?.copy() as? NSAttributeDescription)
      XCTAssertEqual(attribute.attributeType, .stringAttributeType)
      let relationship = try XCTUnwrap(book.relationshipsByName.values.first)
      let other = try XCTUnwrap(relationship.copy() as? NSRelationshipDescription)
      XCTAssertEqual(other.maxCount, relationship.maxCount)
      let expression = NSExpressionDescription()
      (expression.name, expression.expressionResultType) = ("count", .integer64AttributeType)
      XCTAssertEqual((expression.copy() as? NSExpressionDescription)?.expressionResultType, .integer64AttributeType)
      let element = NSFetchIndexElementDescription(property: attribute, collationType: .binary)
      element.isAscending = false
      let index = NSFetchIndexDescription(name: "byTitle", elements: [element])
      XCTAssertTrue(element.indexDescription === index)
      let otherIndex = try XCTUnwrap(index.copy() as? NSFetchIndexDescription)
      XCTAssertEqual(otherIndex.elements.first?.propertyName, "title")
      XCTAssertEqual(otherIndex.elements.first?.isAscending, false)
      XCTAssertTrue(otherIndex.elements.first?.indexDescription === otherIndex)
    }
  }

  func testBundlesFindModelsByTheirAppleToolNames() throws {
    // The plugin finds “momd” in this file.
    let url = try XCTUnwrap(Bundle.main.url(forResource: "Library", withExtension: "momd"))
    XCTAssertEqual(url.lastPathComponent, "Library.momd")
    XCTAssertEqual(Bundle(for: LibraryStack.self).url(forResource: "Library.momd", withExtension: nil), url)
    XCTAssertEqual(NSManagedObjectModel(contentsOf: url)?.entitiesByName["Book"]?.name, "Book")
    XCTAssertNil(Bundle.main.url(forResource: "Nowhere", withExtension: "momd"))
    XCTAssertNil(Bundle.main.url(forResource: "Library", withExtension: "json"))
    let version = try XCTUnwrap(Bundle.main.url(forResource: "Library", withExtension: "mom", subdirectory: "Library.momd"))
    XCTAssertEqual(version.lastPathComponent, "Library.mom")
    XCTAssertNotNil(NSManagedObjectModel(contentsOf: version)?.entitiesByName["Book"])
    XCTAssertNil(Bundle.main.url(forResource: "Other", withExtension: "mom", subdirectory: "Library.momd"))
    let models: [URL]? = Bundle.main.urls(forResourcesWithExtension: "momd", subdirectory: nil)
    XCTAssertEqual(models?.contains(url), true)
    let versions: [URL]? = Bundle.main.urls(forResourcesWithExtension: "mom", subdirectory: "Library.momd")
    XCTAssertEqual(versions, [version])
    // Other resources are Foundation's.
    let text = FileManager.default.temporaryDirectory.appendingPathComponent("resource-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: text, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: text) }
    try Data("{}".utf8).write(to: text.appendingPathComponent("a.json"))
    XCTAssertNotNil(try XCTUnwrap(Bundle(path: text.path)).url(forResource: "a", withExtension: "json"))
  }

  func testEntityClassesAreFoundByName() throws {
    try LibraryStack.with { stack in
      // The model has “.Book”, “CoreDataTests.Comic” and “Author”.
      for (name, type) in [("Book", Book.self), ("Comic", Comic.self), ("Author", Author.self)] as [(String, NSManagedObject.Type)] {
        let entity = try XCTUnwrap(stack.container.managedObjectModel.entitiesByName[name])
        XCTAssertEqual(entity.managedObjectClassName, NSStringFromClass(type))
        XCTAssertTrue(NSClassFromString(entity.managedObjectClassName) == type)
      }
      XCTAssertEqual(stack.container.managedObjectModel.entitiesByName["Note"]?.managedObjectClassName, "NSManagedObject")
    }
  }

  func testPredicatesCompareEntities() throws {
    try LibraryStack.with { stack in
      let (book, comic) = (stack.book("Emma"), Comic(context: stack.context))
      let predicate = NSPredicate(format: "entity == %@", Book.entity())
      XCTAssertTrue(predicate.evaluate(with: book))
      XCTAssertFalse(predicate.evaluate(with: comic))
      let set: Any? = stack.context.insertedObjects
      XCTAssertEqual((set as? NSSet)?.filtered(using: predicate) as? Set<Book>, [book])
      let request = NSFetchRequest<Book>(entityName: "Book")
      request.predicate = predicate
      XCTAssertEqual(try stack.context.fetch(request), [book])
    }
  }

  func testDictionaryResultsAreSwiftDictionaries() throws {
    try LibraryStack.with { stack in
      stack.book("Emma", pages: 7)
      try stack.context.save()
      let most = NSExpressionDescription()
      (most.name, most.resultType) = ("most", .integer32)
      most.expression = NSExpression(forFunction: "max:", arguments: [NSExpression(forKeyPath: "pages")])
      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
      request.resultType = .dictionaryResultType
      request.propertiesToFetch = [most]
      let found = try stack.context.fetch(request)
      let first = try XCTUnwrap(found.first as? [String: Any])
      XCTAssertEqual(first["most"] as? Int32, 7)
      XCTAssertEqual((found as? [[String: Any]])?.count, 1)
      XCTAssertEqual((found as? [NSDictionary])?.count, 1)
    }
  }

  func testConstraintsWithoutPropertiesAreIgnored() throws {
    let name = NSAttributeDescription()
    (name.name, name.attributeType) = ("name", .stringAttributeType)
    let entity = NSEntityDescription()
    (entity.name, entity.properties, entity.uniquenessConstraints) = ("Thing", [name], [[], ["name"]])
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    XCTAssertTrue(store.persistentStoreCoordinator === coordinator)
    coordinator.name = "things"
    XCTAssertEqual(coordinator.name, "things")
  }

  func testBatchDeleteRequestsExposeTheirFetchRequest() throws {
    try LibraryStack.with { stack in
      let book = stack.book("Emma")
      stack.book("Persuasion")
      try stack.context.save()
      let fetch = NSFetchRequest<Book>(entityName: "Book")
      fetch.predicate = NSPredicate(format: "title == 'Emma'")
      let request = NSBatchDeleteRequest(fetchRequest: fetch)
      XCTAssertEqual(request.fetchRequest.predicate, fetch.predicate)
      let other = NSBatchDeleteRequest(objectIDs: [book.objectID])
      XCTAssertEqual(other.fetchRequest.entityName, "Book")
      XCTAssertEqual(try stack.context.count(for: other.fetchRequest), 1)
      // Later changes have no effect.
      fetch.predicate = nil
      request.resultType = .resultTypeCount
      XCTAssertEqual((try stack.context.execute(request) as? NSBatchDeleteResult)?.result as? Int, 1)
    }
  }

  func testContextSettingsMadeBeforeTheCoordinatorAreKept() throws {
    try LibraryStack.with { stack in
      for hasParent in [false, true] {
        let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
        let undo = UndoManager()
        (context.name, context.transactionAuthor) = ("work", "app")
        (context.mergePolicy, context.undoManager) = (.overwrite, undo)
        (context.automaticallyMergesChangesFromParent, context.stalenessInterval) = (true, 7)
        (context.propagatesDeletesAtEndOfEvent, context.shouldDeleteInaccessibleFaults) = (false, false)
        if hasParent {
          context.parent = stack.context
        } else {
          context.persistentStoreCoordinator = stack.container.persistentStoreCoordinator
        }
        XCTAssertEqual(context.name, "work")
        XCTAssertEqual(context.transactionAuthor, "app")
        XCTAssertTrue(context.mergePolicy === NSMergePolicy.overwrite)
        XCTAssertTrue(context.undoManager === undo)
        XCTAssertTrue(context.automaticallyMergesChangesFromParent)
        XCTAssertEqual(context.stalenessInterval, 7)
        XCTAssertFalse(context.propagatesDeletesAtEndOfEvent)
        XCTAssertFalse(context.shouldDeleteInaccessibleFaults)
        context.processPendingChanges()
        let book = Book(context: context)
        book.title = "Emma"
        context.processPendingChanges()
        undo.undo()
        XCTAssertFalse(context.hasChanges)
      }
    }
  }

  func testModelsReadFromTheSameFileAreEqual() throws {
    try LibraryStack.with { stack in
      let url = try XCTUnwrap(Bundle.main.url(forResource: "Library", withExtension: "momd"))
      let (one, other) = (try XCTUnwrap(NSManagedObjectModel(contentsOf: url)), try XCTUnwrap(NSManagedObjectModel(contentsOf: url)))
      XCTAssertEqual(one, other)
      XCTAssertEqual(one.hash, other.hash)
      XCTAssertEqual(one, stack.container.managedObjectModel)
      other.entities.removeAll { $0.name == "Note" }
      XCTAssertNotEqual(one, other)
    }
  }

  private final class Plain: NSObject {
    var name = "a"
    var other: Plain?
    var computed: String { name }
  }

  func testKeyPathsOfOtherClassesUseTheirPrintedNames() {
    XCTAssertEqual(NSExpression(forKeyPath: \Plain.name).keyPath, "name")
    XCTAssertEqual(NSExpression(forKeyPath: \Plain.other?.name).keyPath, "other.name")
    XCTAssertEqual(NSExpression(forKeyPath: \Plain.name.count).keyPath, "")
    XCTAssertEqual(NSExpression(forKeyPath: \Book.title).keyPath, "title")
  }

  func testHistoryRequestsFilterByEntity() throws {
    let stack = try LibraryStack(options: [NSPersistentHistoryTrackingKey: true as NSNumber])
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    for author in ["app", "import"] {
      stack.context.transactionAuthor = author
      stack.book(author)
      try stack.context.save()
    }
    let fetch = NSFetchRequest<any NSFetchRequestResult>()
    fetch.entity = NSPersistentHistoryTransaction.entityDescription(with: stack.context)
    fetch.predicate = NSPredicate(format: "author == %@", "import")
    let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
    let found = try stack.context.execute(request) as? NSPersistentHistoryResult
    XCTAssertEqual((found?.result as? [NSPersistentHistoryTransaction])?.map(\.author), ["import"])
    XCTAssertEqual(NSPersistentHistoryTransaction.entityDescription?.attributesByName["author"]?.attributeType, .stringAttributeType)
    XCTAssertEqual(NSPersistentHistoryChange.entityDescription(with: stack.context)?.name, "Change")
    XCTAssertNotNil(NSPersistentHistoryChange.entityDescription?.attributesByName["changeType"])
  }

  func testMissingFoundationDeclarationsAreProvided() throws {
    XCTAssertEqual(try autoreleasepool { try XCTUnwrap(Int("7")) }, 7)
    XCTAssertThrowsError(try autoreleasepool { throw CocoaError(.coreData) })
    XCTAssertEqual(NSEC_PER_SEC, 1_000 * NSEC_PER_MSEC)
    XCTAssertEqual(NSEC_PER_MSEC, 1_000 * NSEC_PER_USEC)
    XCTAssertEqual(USEC_PER_SEC, 1_000_000)
    XCTAssertTrue(NSArray.classForCoder() == NSArray.self)
    XCTAssertEqual(NSSnapshotEventType.rollback.rawValue, 16)
  }
}
