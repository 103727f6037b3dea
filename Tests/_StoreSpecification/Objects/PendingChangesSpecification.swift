import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Fetches include unsaved changes; a predicate has the same meaning in memory as in the store.
public final class PendingChangesSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testUnsavedObjectsAreFound", { $0.testUnsavedObjectsAreFound }),
        ("testPredicatesEvaluateUnsavedChanges", { $0.testPredicatesEvaluateUnsavedChanges }),
        ("testDeletedObjectsAreNotFound", { $0.testDeletedObjectsAreNotFound }),
        ("testUnsavedObjectsAreSortedIntoResults", { $0.testUnsavedObjectsAreSortedIntoResults }),
        ("testLimitAndOffsetIncludeUnsavedChanges", { $0.testLimitAndOffsetIncludeUnsavedChanges }),
        ("testFetchCanExcludeUnsavedChanges", { $0.testFetchCanExcludeUnsavedChanges }),
        ("testDictionariesShowSavedValues", { $0.testDictionariesShowSavedValues }),
        ("testEveryPredicateHasTheSameResultsBeforeAndAfterTheSave", { $0.testEveryPredicateHasTheSameResultsBeforeAndAfterTheSave }),
        ("testEveryOrderIsTheSameBeforeAndAfterTheSave", { $0.testEveryOrderIsTheSameBeforeAndAfterTheSave }),
      ] as [(String, (PendingChangesSpecification) -> () throws -> Void)])
  }

  private func request(_ predicate: FetchPredicate? = nil) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Tag", predicate: predicate)
    request.sortDescriptors = [FetchSortDescriptor("name")]
    return request
  }

  private func makeTags(_ names: String...) throws -> ManagedObjectContext {
    let open = try makeStore()
    let context = open.newContext()
    for name in names { try context.insert("Tag", ["name": name]) }
    try context.save()
    return context
  }

  func testUnsavedObjectsAreFound() throws {
    let context = try makeTags("b")
    let new = try context.insert("Tag", ["name": "a"])
    XCTAssertEqual(try context.texts("name", request()), ["a", "b"])
    XCTAssertEqual(try context.count(for: request()), 2)
    XCTAssertEqual(try context.fetch(request(.compare("name", .equal, "a"))), [new])
    var ids = FetchRequest<ManagedObjectID>(entityName: "Tag", predicate: .compare("name", .equal, "a"))
    XCTAssertEqual(try context.fetch(ids), [new.objectID])
    XCTAssertTrue(new.objectID.isTemporaryID)
    ids.predicate = nil
    XCTAssertEqual(try context.fetch(ids).count, 2)
  }

  func testPredicatesEvaluateUnsavedChanges() throws {
    let context = try makeTags("a", "b")
    let tag = try find("Tag", "name", "a", in: context)
    try tag.setValue("c", forKey: "name")
    XCTAssertEqual(try context.fetch(request(.compare("name", .equal, "a"))), [])
    XCTAssertEqual(try context.fetch(request(.compare("name", .equal, "c"))), [tag])
    XCTAssertEqual(try context.texts("name", request()), ["b", "c"])
    XCTAssertEqual(try context.count(for: request(.compare("name", .greater, "a"))), 2)
  }

  func testDeletedObjectsAreNotFound() throws {
    let context = try makeTags("a", "b")
    context.delete(try find("Tag", "name", "a", in: context))
    XCTAssertEqual(try context.texts("name", request()), ["b"])
    XCTAssertEqual(try context.count(for: request()), 1)
    XCTAssertEqual(try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Tag")).count, 1)
  }

  func testUnsavedObjectsAreSortedIntoResults() throws {
    let context = try makeTags("b", "d", "f")
    for name in ["g", "a", "c", "e"] { try context.insert("Tag", ["name": name]) }
    try context.insert("Tag")
    XCTAssertEqual(try context.texts("name", request()), ["(none)", "a", "b", "c", "d", "e", "f", "g"])
    var descending = request()
    descending.sortDescriptors = [FetchSortDescriptor("name", ascending: false)]
    XCTAssertEqual(try context.texts("name", descending), ["g", "f", "e", "d", "c", "b", "a", "(none)"])
  }

  func testLimitAndOffsetIncludeUnsavedChanges() throws {
    let context = try makeTags("b", "d", "f", "h")
    for name in ["a", "g"] { try context.insert("Tag", ["name": name]) }
    context.delete(try find("Tag", "name", "d", in: context))
    try find("Tag", "name", "b", in: context).setValue("z", forKey: "name")
    let all = ["a", "f", "g", "h", "z"]
    for (limit, offset) in [(2, 0), (2, 1), (3, 2), (0, 3), (9, 0), (1, 4), (2, 7)] {
      var window = request()
      window.fetchLimit = limit
      window.fetchOffset = offset
      let rest = all.dropFirst(offset)
      let expected = Array(limit > 0 ? rest.prefix(limit) : rest)
      XCTAssertEqual(try context.texts("name", window), expected, "limit \(limit), offset \(offset)")
      XCTAssertEqual(try context.count(for: window), expected.count, "limit \(limit), offset \(offset)")
    }
  }

  func testFetchCanExcludeUnsavedChanges() throws {
    let context = try makeTags("a", "b")
    try context.insert("Tag", ["name": "c"])
    var saved = request()
    saved.includesPendingChanges = false
    XCTAssertEqual(try context.texts("name", saved), ["a", "b"])
    XCTAssertEqual(try context.count(for: saved), 2)
  }

  func testDictionariesShowSavedValues() throws {
    let context = try makeTags("a", "b")
    try find("Tag", "name", "a", in: context).setValue("c", forKey: "name")
    var dictionaries = FetchRequest<[String: Any]>(entityName: "Tag")
    dictionaries.propertiesToFetch = ["name"]
    dictionaries.sortDescriptors = [FetchSortDescriptor("name")]
    XCTAssertEqual(try context.fetch(dictionaries).map { $0["name"] as? String }, ["a", "b"])
  }

  private func fillLibrary(_ context: ManagedObjectContext) throws {
    let bob = try context.insert("Author", ["name": "Bob", "born": 1900])
    let ada = try context.insert("Author", ["name": "Ada", "born": 1950, "mentor": bob])
    let tags = try ["red", "blue"].map { try context.insert("Tag", ["name": $0]) }
    for index in 0..<24 {
      var values: [String: Any?] = ["title": "title \(index % 5)"]
      if index % 3 != 0 { values["pages"] = index * 7 % 40 }
      if index % 4 != 0 { values["isbn"] = ["Äpfel", "apfel", "B_%*", "", "ß"][index % 5] + "\(index)" }
      if index % 5 != 0 { values["author"] = index % 2 == 0 ? ada : bob }
      if index % 2 == 0 { values["price"] = Decimal(index) / 4 }
      if index % 3 == 0 { values["rating"] = Double(index) / 3 }
      if index % 7 == 0 { values["inPrint"] = index % 2 == 0 }
      if index % 4 == 1 { values["published"] = Date(timeIntervalSinceReferenceDate: Double(index) * 1000) }
      let book = try context.insert("Book", values)
      try book.setValue(Set(tags.filter { _ in index % 3 == 0 || index % 4 == 0 }.dropFirst(index % 2)), forKey: "tags")
      for number in 0..<(index % 3) {
        try context.insert("Chapter", ["title": "\(index).\(number)", "pages": number * index, "book": book])
      }
    }
  }

  private var predicates: [FetchPredicate] {
    var list: [FetchPredicate] = []
    for op in [ComparisonOperator.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual] {
      list += [.compare("pages", op, 21), .compare("pages", op, 20.5), .compare("price", op, Decimal(2.5)), .compare("rating", op, 4)]
      list += [.compare("title", op, "title 2"), .compare("author.name", op, "Ada"), .compare("author.born", op, 1950)]
      list += [.compare("published", op, Date(timeIntervalSinceReferenceDate: 9000)), .compare("tags.@count", op, 1)]
      list += [.compare("chapters.@sum.pages", op, 10), .compare("chapters.pages", op, 5, modifier: .any)]
      list += [.compare("chapters.pages", op, 5, modifier: .all), .compare("tags.name", op, "red", modifier: .none)]
      list.append(.comparison(FetchComparison(left: .keyPath("pages"), op: op, right: .keyPath("author.born"))))
      list.append(.comparison(FetchComparison(left: .keyPath("pages"), op: op, right: .keyPath("rating"))))
    }
    for options in [ComparisonOptions(), .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]] {
      for op in [ComparisonOperator.beginsWith, .endsWith, .contains, .like, .matches, .equal] {
        let texts = ["apfel", "ÄPFEL1", "a", "%", "", "*1*", "?pfel1", ".*f.*", "ß"]
        for text in op == .matches ? ["apfel.*", "ÄPFEL1", ".*f.*", "[^a]*"] : texts {
          list.append(.compare("isbn", op, text, options: options))
        }
      }
    }
    list += [.compare("pages", .equal, nil), .compare("author", .equal, nil), .compare("author.mentor", .notEqual, nil)]
    list += [.compare("inPrint", .equal, true), .compare("inPrint", .equal, false), .compare("pages", .in, [7, 14, 21])]
    list += [.compare("pages", .between, [7, 21]), .compare("tags.name", .in, ["blue"], modifier: .any), .compare("pages", .in, [Int]())]
    return list + list.map { !$0 } + [list[0] && list[7] || !list[20]]
  }

  func testEveryPredicateHasTheSameResultsBeforeAndAfterTheSave() throws {
    let open = try makeStore()
    let context = open.newContext()
    try fillLibrary(context)
    let books = try context.all("Book")
    let all = predicates
    XCTAssertGreaterThan(all.count, 500)
    let before = try all.map { Set(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book", predicate: $0))) }
    try context.save()
    for (predicate, expected) in zip(all, before) {
      let found = Set(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate)))
      XCTAssertEqual(
        found.count, expected.count, "\(predicate): \(found.symmetricDifference(expected).map { $0.text("isbn") ?? "(none)" })")
      if found != expected { XCTFail("\(predicate) finds others") }
    }
    hold(books)
  }

  func testEveryOrderIsTheSameBeforeAndAfterTheSave() throws {
    let open = try makeStore()
    let context = open.newContext()
    try fillLibrary(context)
    let keys = ["pages", "price", "rating", "title", "isbn", "author.name", "published", "inPrint", "tags.@count"]
    var requests: [FetchRequest<ManagedObject>] = []
    for key in keys {
      for comparison in FetchSortDescriptor.Comparison.allCases where comparison == .binary || key == "isbn" {
        for ascending in [true, false] {
          var request = FetchRequest<ManagedObject>(entityName: "Book")
          request.sortDescriptors = [FetchSortDescriptor(key, ascending: ascending, comparison: comparison), FetchSortDescriptor("isbn")]
          request.predicate = .compare("isbn", .notEqual, nil)
          requests.append(request)
        }
      }
    }
    let before = try requests.map { try context.texts("isbn", $0) }
    try context.save()
    for (request, expected) in zip(requests, before) {
      XCTAssertEqual(try open.newContext().texts("isbn", request), expected, "\(request.sortDescriptors[0])")
    }
  }
}
