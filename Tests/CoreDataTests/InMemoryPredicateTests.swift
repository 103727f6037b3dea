// Predicates that are evaluated in memory: with values, objects and collections of an application.
import CoreData
import Foundation
import XCTest

/// A plain object.
final class Person: NSObject {
  let name: String
  let age: Int
  var home: Home?
  var friends: [Person] = []
  var tags: Set<String> = []
  lazy var nickname = name.lowercased()

  init(_ name: String, age: Int, home: Home? = nil) { (self.name, self.age, self.home) = (name, age, home) }
}

/// A plain object with an equality of its own.
final class Home: NSObject {
  let city: String
  init(_ city: String) { self.city = city }
  override func isEqual(_ object: Any?) -> Bool { (object as? Home)?.city == city }
  override var hash: Int { city.hashValue }
}

/// An object that has only its identity.
final class Ticket {
  let number: Int
  init(_ number: Int) { self.number = number }
}

struct Money: Hashable {
  let cents: Int
}

struct Weight: Equatable {
  let grams: Double
}

enum Color: String {
  case red, blue
}

final class InMemoryPredicateTests: XCTestCase {
  private func assert(
    _ format: String, _ arguments: Any?..., with object: Any?, is expected: Bool, file: StaticString = #filePath, line: UInt = #line
  ) {
    let arguments = arguments.map { $0 as Any }
    let predicate = NSPredicate(format: format, argumentArray: arguments)
    XCTAssertEqual(predicate.evaluate(with: object), expected, format, file: file, line: line)
    let opposite = NSPredicate(format: "NOT (\(format))", argumentArray: arguments)
    XCTAssertEqual(opposite.evaluate(with: object), !expected, "NOT (\(format))", file: file, line: line)
  }

  func testValuesAreEqualToThemselves() {
    let (date, uuid, url) = (Date(), UUID(), URL(fileURLWithPath: "/a"))
    let values: [Any] = [
      "a", "a" as NSString, 1, Int8(1), UInt64.max, 1.5, Float(0.5), CGFloat(2), true, NSNumber(value: 7), Decimal(3),
      NSDecimalNumber(value: 4), date, date as NSDate, uuid, uuid as NSUUID, url, url as NSURL, Data([1]), NSData(data: Data([2])),
      Home("Rome"), Ticket(1), Money(cents: 5), Weight(grams: 5), Color.red, ["a", "b"], [1, 2] as NSArray, Set([5, 6]), ["k": 1],
      NSSet(array: ["x", "y"]), NSOrderedSet(array: [3, 2]), ["k": "v"] as NSDictionary, [1: "one"],
    ]
    for (index, value) in values.enumerated() {
      assert("SELF == %@", value, with: value, is: true)
      assert("SELF IN %@", [value], with: value, is: true)
      assert("SELF IN %@", [value] as NSArray, with: value, is: true)
      for (other, second) in values.enumerated() where other != index && !isSame(value, second) {
        assert("SELF == %@", second, with: value, is: false)
        assert("SELF != %@", second, with: value, is: true)
        assert("SELF IN %@", [second], with: value, is: false)
      }
      assert("SELF != nil", with: value, is: true)
      assert("SELF == nil", with: value, is: false)
    }
    assert("SELF == nil", with: nil, is: true)
    assert("SELF == nil", with: NSNull(), is: true)
    assert("SELF == %@", Money(cents: 5), with: nil, is: false)
    assert("SELF == %@", nil, with: Money(cents: 5), is: false)
  }

  /// Whether two of the values above are the same one, written with another type.
  private func isSame(_ one: Any, _ other: Any) -> Bool {
    func text(_ value: Any) -> String {
      switch value {
      case let flag as Bool: flag ? "1" : "0"
      case let uuid as NSUUID: uuid.uuidString
      case let date as NSDate: "\(date.timeIntervalSinceReferenceDate)"
      case let url as NSURL: url.absoluteString
      default: "\(value)"
      }
    }
    return text(one) == text(other)
  }

  func testPlainObjectsAreComparedByTheirEqualityOrIdentity() {
    assert("SELF == %@", Home("Rome"), with: Home("Rome"), is: true)
    assert("SELF == %@", Home("Rome"), with: Home("Oslo"), is: false)
    let ticket = Ticket(1)
    assert("SELF == %@", ticket, with: ticket, is: true)
    assert("SELF == %@", ticket, with: Ticket(1), is: false)
    assert("SELF == %@", Money(cents: 5), with: Money(cents: 5), is: true)
    assert("SELF == %@", Weight(grams: 5), with: Weight(grams: 6), is: false)
    assert("SELF == %@", Color.red, with: Color.red, is: true)
    assert("SELF IN %@", [Home("Rome"), "a", 3, nil, ticket] as [Any?], with: Home("Rome"), is: true)
    assert("SELF IN %@", [Home("Rome"), "a", 3, ticket] as [Any], with: 3, is: true)
    assert("SELF IN %@", Set([Money(cents: 1)]), with: Money(cents: 1), is: true)
    assert("SELF IN %@", NSSet(array: [Home("Rome")]), with: Home("Oslo"), is: false)
    assert("%@ CONTAINS SELF", [Home("Rome")], with: Home("Rome"), is: true)
    assert("SELF == 'Rome'", with: Home("Rome"), is: false)
    assert("SELF == 5", with: "a", is: false)
    assert("SELF != 5", with: "a", is: true)
    assert("SELF IN {'a', 5}", with: 5, is: true)
  }

  func testCollectionsAreEvaluatedByTheirMembers() {
    let (ann, bea, cid) = (Person("Ann", age: 30, home: Home("Rome")), Person("Bea", age: 20), Person("Cid", age: 10))
    assert("SELF.@count == %@", 2, with: [ann, bea], is: true)
    assert("@count > 2", with: [ann, bea], is: false)
    assert("ANY SELF == %@", ann, with: [ann, bea], is: true)
    assert("ANY SELF == %@", cid, with: [ann, bea], is: false)
    assert("ANY SELF IN %@", [bea, cid], with: [ann, bea], is: true)
    assert("NONE SELF IN %@", [cid], with: NSSet(array: [ann, bea]), is: true)
    assert("SELF CONTAINS %@", bea, with: [ann, bea] as NSArray, is: true)
    assert("%@ IN SELF", bea, with: NSOrderedSet(array: [ann]), is: false)
    assert("ANY SELF.age > 25", with: [ann, bea], is: true)
    assert("ALL age > 25", with: [ann, bea], is: false)
    assert("ANY home.city == 'Rome'", with: [ann, bea], is: true)
    assert("SELF.@max.age == 30 AND @sum.age == 60", with: [ann, bea, cid], is: true)
    assert("SUBQUERY(SELF, $p, $p.age < 25 AND $p != %@).@count == 1", cid, with: [ann, bea, cid], is: true)
    assert("SELF == %@", ["a", "b"], with: ["a", "b"], is: true)
    assert("SELF == %@", ["a", "b"], with: ["b", "a"], is: false)
    assert("SELF == %@", ["a", "b"], with: Set(["b", "a"]), is: true)
    assert("SELF == %@", ["a", "b"], with: ["a", "b", "c"], is: false)
  }

  func testPropertiesOfPlainObjectsAreReadByPaths() {
    let (ann, bea) = (Person("Ann", age: 30, home: Home("Rome")), Person("Bea", age: 20))
    (ann.friends, bea.friends, ann.tags) = ([bea], [ann], ["new"])
    assert("name BEGINSWITH[c] 'a' AND SELF.age BETWEEN {20, 30}", with: ann, is: true)
    assert("home.city == 'Rome' AND home != nil", with: ann, is: true)
    assert("home == %@", Home("Rome"), with: ann, is: true)
    assert("home == nil AND home.city == nil", with: bea, is: true)
    // Friends are in a circle.
    assert("ANY friends.friends.name == 'Ann'", with: ann, is: true)
    assert("ANY friends == %@", bea, with: ann, is: true)
    assert("friends CONTAINS %@ AND friends.@count == 1", bea, with: ann, is: true)
    assert("friends == %@", [bea], with: ann, is: true)
    assert("SUBQUERY(friends, $f, $f == %@ AND ANY $f.friends == SELF).@count > 0", bea, with: ann, is: true)
    assert("ANY tags == 'new' AND tags CONTAINS 'new'", with: ann, is: true)
    XCTAssertEqual(ann.nickname, "ann")
    assert("nickname == 'ann'", with: ann, is: true)
    // A property that is not there is no answer.
    XCTAssertFalse(NSPredicate(format: "nam == nil").evaluate(with: ann))
    XCTAssertFalse(NSPredicate(format: "nam != 'x'").evaluate(with: ann))
    XCTAssertEqual(([ann, bea] as NSArray).filtered(using: NSPredicate(format: "age < 25")) as? [Person], [bea])
    XCTAssertEqual(NSSet(array: [ann, bea]).filtered(using: NSPredicate(format: "SELF IN %@", [ann])), [ann])
    XCTAssertEqual(NSOrderedSet(array: [ann, bea]).filtered(using: NSPredicate(format: "SELF != %@", ann)), NSOrderedSet(object: bea))
    let list = NSMutableArray(array: [ann, bea, "x"])
    list.filter(using: NSPredicate(format: "SELF IN %@", [ann, "x"] as [Any]))
    XCTAssertEqual(list.count, 2)
  }

  func testDictionariesAreReadByKeys() {
    let ann = Person("Ann", age: 30)
    let row: [String: Any] = [
      "name": "Ann" as NSString, "owner": ann, "sizes": NSSet(array: [1, 2]), "inner": ["n": 1], "blank": NSNull(),
    ]
    assert("name == 'Ann' AND owner == %@ AND owner.age == 30", ann, with: row, is: true)
    for format in ["sizes CONTAINS 2", "inner.n == 1", "blank == nil", "other == nil"] {
      assert(format, with: row, is: true)
      assert(format, with: row as NSDictionary, is: true)
    }
    assert("inner == %@", ["n": 1], with: row, is: true)
    assert("inner == %@", ["n": 2], with: row, is: false)
    let rows: NSArray = [["n": 1], ["n": 2]]
    XCTAssertEqual(rows.filtered(using: NSPredicate(format: "n > 1")).count, 1)
    XCTAssertEqual(rows.filtered(using: NSPredicate(format: "SELF IN %@", [["n": 2]])).count, 1)
  }

  func testPropertiesOfFoundationsValuesAreRead() {
    let url = URL(fileURLWithPath: "/tmp/Report.PDF")
    assert("pathExtension ==[c] 'pdf' AND lastPathComponent BEGINSWITH 'Report'", with: url, is: true)
    assert("SELF.path == %@", "/tmp/Report.PDF", with: url as NSURL, is: true)
    assert("SELF.length == 3 AND length > 2 AND SELF.uppercaseString == 'ABC'", with: "abc", is: true)
    assert("SELF.intValue == 12 AND doubleValue == 12.5", with: "12.5", is: true)
    assert("SELF.stringValue == '12'", with: 12, is: true)
    assert("SELF.timeIntervalSinceReferenceDate == 5", with: Date(timeIntervalSinceReferenceDate: 5), is: true)
    assert("SELF.length == 2", with: Data([1, 2]), is: true)
    assert("ANY SELF.pathExtension == 'PDF'", with: [url], is: true)
    let words = ["ccc", "a", "bb"] as NSArray
    XCTAssertEqual(words.sortedArray(using: [NSSortDescriptor(key: "length", ascending: true)]) as? [String], ["a", "bb", "ccc"])
    XCTAssertEqual(words.value(forKey: "uppercaseString") as? [String], ["CCC", "A", "BB"])
  }

  func testConditionsInSwiftGetTheObjectWithinOthersToo() {
    let ann = Person("Ann", age: 30)
    let block = NSPredicate { object, _ in object as? Person === ann }
    let both = NSCompoundPredicate(andPredicateWithSubpredicates: [block, NSPredicate(format: "age == 30")])
    XCTAssertTrue(both.evaluate(with: ann))
    XCTAssertFalse(both.evaluate(with: Person("Ann", age: 30)))
    let row = NSPredicate { object, _ in (object as? [String: Any])?["n"] as? Int == 1 }
    XCTAssertTrue(NSCompoundPredicate(andPredicateWithSubpredicates: [row, NSPredicate(value: true)]).evaluate(with: ["n": 1]))
    let text = NSPredicate { object, _ in object as? String == "a" }
    XCTAssertFalse(NSCompoundPredicate(notPredicateWithSubpredicate: text).evaluate(with: "a"))
  }

  func testVariablesRepresentObjects() {
    let (ann, bea) = (Person("Ann", age: 30), Person("Bea", age: 20))
    let predicate = NSPredicate(format: "SELF != $OTHER AND age > $OTHER.age")
    XCTAssertTrue(predicate.evaluate(with: ann, substitutionVariables: ["OTHER": bea]))
    XCTAssertFalse(predicate.evaluate(with: bea, substitutionVariables: ["OTHER": ann]))
    XCTAssertTrue(NSPredicate(format: "SELF IN $LIST").withSubstitutionVariables(["LIST": [bea]]).evaluate(with: bea))
    XCTAssertFalse(NSPredicate(format: "SELF == $NONE").evaluate(with: ann))
  }

  func testUnstoredValuesOfManagedObjectsAreEvaluatedInMemory() throws {
    try LibraryStack.with { stack in
      let author = Author(context: stack.context)
      author.name = "Austen"
      let (emma, sanditon) = (stack.book("Emma", pages: 400), stack.book("Sanditon", pages: 99))
      emma.author = author
      assert("ANY SELF == %@", emma, with: [emma], is: true)
      assert("SELF == %@", emma, with: emma, is: true)
      assert("SELF IN %@", [emma, "x"] as [Any], with: sanditon, is: false)
      assert("SELF IN %@", [emma, "x"] as [Any], with: emma, is: true)
      assert("ANY pages > 300", with: [emma, sanditon], is: true)
      assert("SELF.@sum.pages == 499", with: Set([emma, sanditon]), is: true)
      assert("book.title == 'Emma' AND book.author == %@", author, with: ["book": emma], is: true)
      assert("ANY author.books == %@", emma, with: [emma], is: true)
      assert("title == 5", with: emma, is: false)
      assert("title.uppercaseString == 'EMMA'", with: emma, is: true)
      assert("startedSaves == 0", with: emma, is: true)
      assert("SELF == %@", Home("Rome"), with: emma, is: false)
      XCTAssertTrue(NSPredicate(format: "author == $A.author").evaluate(with: emma, substitutionVariables: ["A": emma]))
      XCTAssertFalse(NSPredicate(format: "titel == nil").evaluate(with: emma))
      XCTAssertNil(stack.context.pendingError)
    }
  }

  func testErrorOfAFetchWithAPlainObjectNamesTheFix() throws {
    try LibraryStack.with { stack in
      stack.book("Emma")
      for predicate in [
        NSPredicate(format: "title == %@", Home("Rome")), NSPredicate(format: "title IN %@", ["a", Home("Rome")] as [Any]),
        NSPredicate(format: "author == %@", Home("Rome")), NSPredicate(format: "SELF == %@", Home("Rome")),
        NSPredicate(format: "%@ == title", Home("Rome")), NSPredicate(format: "pages > %@", Home("Rome")),
        NSPredicate(format: "title CONTAINS %@", Home("Rome")), NSPredicate(format: "pages BETWEEN %@", [1, Home("Rome")] as [Any]),
        NSPredicate(format: "%@ CONTAINS title", [Home("Rome")]), NSPredicate(format: "ANY admirers == %@", Home("Rome")),
        NSPredicate(format: "%@ == %@", Home("Rome"), Home("Rome")), NSPredicate(format: "pages + %@ > 1", Home("Rome")),
        NSPredicate(format: "%@ IN %@", Home("Rome"), [Home("Rome")]), NSPredicate(format: "uppercase(%@) == title", Home("Rome")),
        NSPredicate(format: "SUBQUERY(admirers, $a, $a.name == %@).@count > 0", Home("Rome")),
      ] {
        let request = NSFetchRequest<Book>(entityName: "Book")
        request.predicate = predicate
        XCTAssertThrowsError(try stack.context.fetch(request), predicate.predicateFormat) { error in
          let error = error as NSError
          XCTAssertEqual(error.domain, NSCocoaErrorDomain)
          let text = "\(error)"
          XCTAssertTrue(text.contains("Home") && text.contains("filter the fetched objects"), "\(predicate): \(text)")
          XCTAssertFalse(text.contains("Rome"), text)
        }
        XCTAssertTrue(predicate.predicateFormat.contains("<Home>"), predicate.predicateFormat)
      }
      let request = NSFetchRequest<Book>(entityName: "Book")
      request.predicate = NSPredicate(format: "title == %@", Color.red)
      XCTAssertThrowsError(try stack.context.fetch(request)) { XCTAssertTrue("\($0)".contains("rawValue"), "\($0)") }
      request.predicate = NSPredicate(format: "title == %@", { 1 })
      XCTAssertThrowsError(try stack.context.fetch(request))
      XCTAssertThrowsError(try NSPredicate(checking: "title == %@", argumentArray: [{ 1 }]))
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.propertiesToUpdate = ["title": Home("Rome")]
      XCTAssertThrowsError(try stack.context.execute(update)) { XCTAssertTrue("\($0)".contains("Home"), "\($0)") }
    }
  }

  func testConstantsOfExpressionsAreTheObjects() {
    let home = Home("Rome")
    XCTAssertTrue(NSExpression(forConstantValue: home).constantValue as? Home === home)
    XCTAssertEqual((NSExpression(forConstantValue: [home, "a"] as [Any]).constantValue as? [Any])?.first as? Home, home)
    let comparison = NSComparisonPredicate(
      leftExpression: .expressionForEvaluatedObject(), rightExpression: NSExpression(forConstantValue: home), modifier: .direct,
      type: .equalTo)
    XCTAssertTrue(comparison.evaluate(with: Home("Rome")))
    XCTAssertEqual(NSPredicate(format: "SELF == %@", home), NSPredicate(format: "SELF == %@", Home("Rome")))
    XCTAssertNotEqual(NSPredicate(format: "SELF == %@", home), NSPredicate(format: "SELF == %@", Home("Oslo")))
  }
}
