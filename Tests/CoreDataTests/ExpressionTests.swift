import CoreData
import Foundation
import XCTest

/// Expressions, comparisons, sort descriptors and model properties as objects, as in Core Data.
final class ExpressionTests: XCTestCase {
  private func library(_ body: (LibraryStack) throws -> Void) throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      for (title, pages) in [("Emma", 400), ("persuasion", 250), ("Évelina", 500), ("Item 10", 1), ("Item 9", 2)] {
        let book = stack.book(title, pages: Int32(pages))
        if pages > 200 { book.author = author }
      }
      try stack.context.save()
      try body(stack)
    }
  }

  private func titles(_ stack: LibraryStack, _ predicate: NSPredicate?, _ order: NSSortDescriptor...) throws -> [String] {
    let request: NSFetchRequest<Book> = Book.fetchRequest()
    request.predicate = predicate
    request.sortDescriptors = order.isEmpty ? [NSSortDescriptor(key: "pages", ascending: true)] : order
    return try stack.context.fetch(request).map { $0.title ?? "" }
  }

  func testComparisonPredicatesAreBuiltFromExpressions() throws {
    try library { stack in
      let long = NSComparisonPredicate(
        leftExpression: NSExpression(forKeyPath: "pages"), rightExpression: NSExpression(forConstantValue: 300), modifier: .direct,
        type: .greaterThan)
      XCTAssertEqual(try titles(stack, long), ["Emma", "Évelina"])
      XCTAssertEqual(long.predicateFormat, "pages > 300")
      let begins = NSComparisonPredicate(
        leftExpression: NSExpression(forKeyPath: \Book.title), rightExpression: NSExpression(forConstantValue: "e"), modifier: .direct,
        type: .beginsWith, options: [.caseInsensitive, .diacriticInsensitive])
      XCTAssertEqual(try titles(stack, begins), ["Emma", "Évelina"])
      XCTAssertEqual(begins.leftExpression.keyPath, "title")
      let any = NSComparisonPredicate(
        leftExpression: NSExpression(forKeyPath: "books.title"), rightExpression: NSExpression(forConstantValue: "Emma"), modifier: .any,
        type: .equalTo)
      let request: NSFetchRequest<Author> = Author.fetchRequest()
      request.predicate = any
      XCTAssertEqual(try stack.context.fetch(request).map(\.name), ["Austen"])
      let both = NSCompoundPredicate(andPredicateWithSubpredicates: [long, begins])
      XCTAssertEqual(both.subpredicates.count, 2)
      XCTAssertEqual(try titles(stack, both), ["Emma", "Évelina"])
      let own = NSComparisonPredicate(
        leftExpression: .expressionForEvaluatedObject(), rightExpression: NSExpression(forConstantValue: 1), modifier: .direct,
        type: .customSelector)
      XCTAssertThrowsError(try titles(stack, own))
    }
  }

  func testListsOnTheLeftAndKeysAsValuesAreRead() throws {
    try library { stack in
      XCTAssertEqual(try titles(stack, NSPredicate(format: "%@ CONTAINS pages", [1, 400] as NSArray)), ["Item 10", "Emma"])
      XCTAssertEqual(try titles(stack, NSPredicate(format: "NOT %@ CONTAINS pages", [1, 2, 250])), ["Emma", "Évelina"])
      XCTAssertEqual(try titles(stack, NSPredicate(format: "{pages, 2} CONTAINS %d AND pages < 3", 2)), ["Item 10", "Item 9"])
      XCTAssertEqual(try titles(stack, NSPredicate(format: "SELF.%@ == %@", "title", "Emma")), ["Emma"])
      XCTAssertEqual(try titles(stack, NSPredicate(format: "self.%@ contains[cd] %@", "author.name" as NSString, "AUS")).count, 3)
      XCTAssertEqual(try titles(stack, NSPredicate(format: "author.%K == %@ AND %K.name != nil", "name", "Austen", "author")).count, 3)
      let pages = NSExpression(forKeyPath: "pages")
      XCTAssertEqual(try titles(stack, NSPredicate(format: "%@ CONTAINS %@", [400, 500], pages)), ["Emma", "Évelina"])
      XCTAssertEqual(try titles(stack, NSPredicate(format: "%@ BETWEEN %@", NSExpression(forConstantValue: 300), [pages, 350])).count, 3)
      let contains = NSComparisonPredicate(
        leftExpression: NSExpression(forConstantValue: [1, 2]), rightExpression: pages, modifier: .direct, type: .contains)
      XCTAssertEqual(try titles(stack, contains), ["Item 10", "Item 9"])
      XCTAssertEqual(try titles(stack, NSPredicate(format: contains.predicateFormat)), ["Item 10", "Item 9"])
      XCTAssertTrue(NSPredicate(format: "%@ CONTAINS SELF", ["a", "b"]).evaluate(with: "a"))
      XCTAssertTrue(NSPredicate(format: "SELF.%@ == 1", "n").evaluate(with: ["n": 1]))
    }
  }

  func testExpressionTypesAreReported() {
    XCTAssertEqual(NSExpression(forConstantValue: 3).constantValue as? Int64, 3)
    XCTAssertEqual(NSExpression(forVariable: "X").variable, "X")
    let sum = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "pages")])
    XCTAssertEqual(sum.expressionType, .function)
    XCTAssertEqual(sum.function, "sum:")
    XCTAssertEqual(sum.arguments?.map(\.keyPath), ["pages"])
    XCTAssertEqual(NSExpression(format: "a.b").expressionValue(with: ["a": ["b": 7]], context: nil) as? Int, 7)
    XCTAssertEqual(NSExpression(forVariable: "X").expressionValue(with: nil, context: ["X": 5]) as? Int, 5)
    XCTAssertEqual(NSExpression(format: "%K", "title"), NSExpression(forKeyPath: "title"))
  }

  func testDictionaryResultsContainGroupedAggregates() throws {
    try library { stack in
      let total = NSExpressionDescription()
      (total.name, total.expressionResultType) = ("total", .integer64AttributeType)
      total.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "pages")])
      let request = NSFetchRequest<NSDictionary>(entityName: "Book")
      request.resultType = .dictionaryResultType
      request.propertiesToGroupBy = ["author.name"]
      request.propertiesToFetch = ["author.name", total]
      request.sortDescriptors = [NSSortDescriptor(key: "author.name", ascending: true)]
      let rows = try stack.context.fetch(request)
      XCTAssertEqual(rows.map { $0["total"] as? Int64 }, [3, 1150])
      XCTAssertEqual(rows.last?["author.name"] as? String, "Austen")
      total.expression = nil
      XCTAssertThrowsError(try stack.context.fetch(request))
    }
  }

  func testSortDescriptorsUseKeyPathsSelectorsAndClosures() throws {
    try library { stack in
      XCTAssertEqual(try titles(stack, nil, NSSortDescriptor(keyPath: \Book.pages, ascending: false)).first, "Évelina")
      let byAuthor = NSSortDescriptor(keyPath: \Book.author?.name, ascending: true)
      XCTAssertEqual(byAuthor.key, "author.name")
      let standard = NSSortDescriptor(key: "title", ascending: true, selector: NSSelectorFromString("localizedStandardCompare:"))
      XCTAssertEqual(try titles(stack, NSPredicate(format: "title BEGINSWITH 'Item'"), standard), ["Item 9", "Item 10"])
      XCTAssertThrowsError(try titles(stack, nil, NSSortDescriptor(key: "title", ascending: true, selector: "compareBySize:")))
      let byLength = NSSortDescriptor(key: "title", ascending: true) { one, other in
        ((one as? String)?.count ?? 0) < ((other as? String)?.count ?? 0) ? .orderedAscending : .orderedDescending
      }
      XCTAssertThrowsError(try titles(stack, nil, byLength)) { XCTAssertTrue("\($0)".contains("sort what was fetched"), "\($0)") }
      let all = try stack.context.fetch(NSFetchRequest<Book>(entityName: "Book"))
      let sorted = NSArray(array: all).sortedArray(using: [byLength]) as? [Book]
      XCTAssertEqual(sorted?.first?.title, "Emma")
      let reversed = NSArray(array: all).sortedArray(using: [
        try XCTUnwrap(NSSortDescriptor(key: "pages", ascending: true).reversedSortDescriptor as? NSSortDescriptor)
      ])
      XCTAssertEqual((reversed as? [Book])?.map(\.pages), [500, 400, 250, 2, 1])
      XCTAssertEqual(NSArray(array: all).filtered(using: NSPredicate(format: "pages < 3")).count, 2)
      XCTAssertThrowsError(try titles(stack, nil, NSSortDescriptor(keyPath: \Book.startedSaves, ascending: true)))
    }
  }

  func testBlockPredicatesFilterCollections() throws {
    try library { stack in
      let palindrome = NSPredicate { object, _ in (object as? Book)?.title?.count == 4 }
      let all = try stack.context.fetch(NSFetchRequest<Book>(entityName: "Book"))
      XCTAssertEqual((NSArray(array: all).filtered(using: palindrome) as? [Book])?.map(\.title), ["Emma"])
      XCTAssertThrowsError(try titles(stack, palindrome))
      XCTAssertTrue(NSPredicate(format: "SELF > $X").evaluate(with: 3, substitutionVariables: ["X": 2]))
    }
  }

  func testFormatArgumentsOfEveryKindAreAccepted() throws {
    try library { stack in
      let (identifier, day) = (UUID(), Date(timeIntervalSinceReferenceDate: 0))
      let book = stack.book("Sanditon", pages: 99)
      (book.identifier, book.published, book.isRead) = (identifier, day, true)
      let author = try XCTUnwrap(stack.context.fetch(NSFetchRequest<Author>(entityName: "Author")).first)
      book.author = author
      try stack.context.save()
      for predicate in [
        NSPredicate(format: "identifier == %@", identifier as CVarArg), NSPredicate(format: "published <= %@", day as NSDate),
        NSPredicate(format: "published == %@", day as CVarArg), NSPredicate(format: "author == %@ AND pages == %d", author, 99),
        NSPredicate(format: "isRead == %@", NSNumber(value: true)), NSPredicate(format: "isRead = YES"),
        NSPredicate(format: "%K == %i", #function.isEmpty ? "" : "pages", 99), NSPredicate(format: "SELF == %@", book.objectID),
        NSPredicate(format: "SELF IN %@", [book]), NSPredicate(format: "identifier IN %@", [identifier] as CVarArg),
        NSPredicate(format: "pages == %@", argumentArray: [99]), NSPredicate(format: "title == %@", "Sanditon" as NSString),
      ] {
        XCTAssertEqual(try titles(stack, predicate), ["Sanditon"], predicate.predicateFormat)
      }
    }
  }

  func testBatchUpdatesComputeValues() throws {
    try library { stack in
      let request = NSBatchUpdateRequest(entityName: "Book")
      request.propertiesToUpdate = ["pages": NSExpression(format: "pages * 2"), "isRead": NSExpression(forConstantValue: true)]
      try stack.context.execute(request)
      XCTAssertEqual(try titles(stack, NSPredicate(format: "pages == 800 AND isRead == YES")), ["Emma"])
    }
  }

  func testAModelHasIndexesFetchedPropertiesAndTemplates() throws {
    let (title, size) = (NSAttributeDescription(), NSAttributeDescription())
    (title.name, title.attributeType) = ("title", .stringAttributeType)
    (size.name, size.attributeType, size.defaultValue) = ("size", .integer32AttributeType, 5)
    let loud = NSDerivedAttributeDescription()
    (loud.name, loud.attributeType, loud.derivationExpression) = ("loud", .stringAttributeType, NSExpression(format: "uppercase:(title)"))
    let box = NSEntityDescription()
    box.name = "Box"
    let same = NSFetchedPropertyDescription()
    same.name = "same"
    let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Box")
    request.predicate = NSPredicate(format: "size == $FETCH_SOURCE.size")
    same.fetchRequest = request
    box.properties = [title, size, loud, same]
    box.indexes = [
      NSFetchIndexDescription(name: "bySize", elements: [NSFetchIndexElementDescription(property: size, collationType: .binary)])
    ]
    let model = NSManagedObjectModel()
    model.entities = [box]
    let template = NSFetchRequest<NSFetchRequestResult>(entityName: "Box")
    template.predicate = NSPredicate(format: "size > $LIMIT")
    model.setFetchRequestTemplate(template, forName: "large")
    model.setEntities([box], forConfigurationName: "only")
    let container = NSPersistentContainer(name: "Boxes", managedObjectModel: model)
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { XCTAssertNil($1) }
    let context = container.viewContext
    for number in 0..<4 {
      let new = NSEntityDescription.insertNewObject(forEntityName: "Box", into: context)
      new.setValue("box \(number)", forKey: "title")
      if number > 1 { new.setValue(9, forKey: "size") }
    }
    try context.save()
    XCTAssertEqual(container.managedObjectModel.entitiesByName["Box"]?.indexes.map(\.name), ["bySize"])
    XCTAssertTrue(container.managedObjectModel.entitiesByName["Box"] === box)
    XCTAssertEqual(model.configurations, ["only"])
    XCTAssertEqual(model.entities(forConfigurationName: "only"), [box])
    let large = try XCTUnwrap(model.fetchRequestFromTemplate(withName: "large", substitutionVariables: ["LIMIT": 6]))
    let found = try context.fetch(large).compactMap { $0 as? NSManagedObject }
    XCTAssertEqual(found.count, 2)
    XCTAssertEqual((found.first?.value(forKey: "same") as? [NSManagedObject])?.count, 2)
    XCTAssertEqual(found.first?.value(forKey: "loud") as? String, (found.first?.value(forKey: "title") as? String)?.uppercased())
    XCTAssertNil(model.fetchRequestTemplate(forName: "none"))
    // The model is in use, so later changes have no effect.
    box.name = "Crate"
    model.setFetchRequestTemplate(nil, forName: "large")
    XCTAssertNotNil(model.fetchRequestTemplate(forName: "large"))
    XCTAssertEqual(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Box")), 4)
  }
}
