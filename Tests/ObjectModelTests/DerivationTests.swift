import XCTest

@testable import ObjectModel

/// Supported expressions of derived attributes, and the messages for others.
final class DerivationTests: XCTestCase {
  private func issues(_ attribute: Attribute, constraint: String? = nil) -> [ModelIssue] {
    ManagedObjectModel {
      Composite("Place") { Attribute("city", .string) }
      Entity("Order") {
        attribute
        Attribute("number", .integer32)
        Attribute("note", .string)
        Attribute("hint", .string).transient()
        Attribute("photo", .binary).externalStorage()
        Attribute("place", composite: "Place")
        Relationship("customer", to: "Customer", inverse: "orders")
        Relationship("items", toMany: "Item", inverse: "order")
        Relationship("passing", to: "Customer").transient()
        FetchedProperty("late", entity: "Item", where: "price > 1")
        if let constraint { Unique(constraint) }
      }
      Entity("Customer") {
        Attribute("name", .string)
        Relationship("orders", toMany: "Order", inverse: "customer")
      }
      Entity("Item") {
        Attribute("price", .decimal)
        Attribute("count", .integer16)
        Attribute("day", .date)
        Relationship("order", to: "Order", inverse: "items")
        Relationship("parts", toMany: "Item", inverse: "whole")
        Relationship("whole", to: "Item", inverse: "parts")
      }
    }.validationIssues()
  }

  private func expect(
    _ type: AttributeType, _ expression: String, _ reason: String?, file: StaticString = #filePath, line: UInt = #line
  ) {
    let found = issues(Attribute("derived", type).derived(expression))
    guard let reason else { return XCTAssertEqual(found, [], file: file, line: line) }
    XCTAssertEqual(found.map(\.propertyName), ["derived"], expression, file: file, line: line)
    XCTAssertEqual(found.map(\.entityName), ["Order"], file: file, line: line)
    let text = found.first?.description ?? ""
    XCTAssertTrue(text.contains(reason), text, file: file, line: line)
    XCTAssertTrue(text.contains("'\(expression)'"), text, file: file, line: line)
  }

  func testEveryDerivationFormIsParsed() {
    expect(.string, "customer.name", nil)
    expect(.string, "note", nil)
    expect(.string, "place.city", nil)
    expect(.string, " canonical:( customer.name ) ", nil)
    expect(.string, "uppercase:(note)", nil)
    expect(.string, "lowercase:(place.city)", nil)
    expect(.integer16, "items.@count", nil)
    expect(.integer64, "customer.orders.@count", nil)
    expect(.integer64, "items.@sum.count", nil)
    expect(.integer64, "items.count.@sum", nil)
    expect(.double, "items.@avg.price", nil)
    expect(.decimal, "items.price.@max", nil)
    expect(.date, "items.day.@min", nil)
    expect(.integer64, "number", nil)
    expect(.date, "now()", nil)
  }

  func testUnsupportedExpressionsAreReportedWithAlternatives() {
    for expression in [
      "a + b", "canonical:(uppercase:(note))", "median:(items.price)", "items.@stddev.price", "@count", "items.@count.price", "now ()",
      "canonical:",
      "canonical:()", "items..price", "items.@sum.@max.price", "canonical:(items.@count)", "FUNCTION(note, 'x')",
    ] {
      expect(.string, expression, "possible are a path such as 'author.name'")
    }
  }

  func testPathsAreChecked() {
    expect(.string, "customer.nmae", "names 'nmae', which is not a property of 'Customer'")
    expect(.string, "note.length", "continues after the attribute 'note' of 'Order'")
    expect(.string, "customer", "ends with the relationship 'customer'")
    expect(.decimal, "items.price", "uses the to-many relationship 'items'; aggregate its values")
    expect(.decimal, "items.parts.price.@sum", "uses two to-many relationships, 'items' and 'parts'")
    expect(.integer64, "customer.@count", "ends with the relationship 'customer'")
    expect(.integer64, "number.@sum", "has no to-many relationship")
    expect(.integer64, "items.price.@count", "counts the values of an attribute")
    expect(.string, "hint", "uses the transient attribute 'hint'")
    expect(.binary, "photo", "uses 'photo', which has external storage")
    expect(.string, "place", "ends with the composite 'place'; name one of its elements")
    expect(.string, "late.price", "names the fetched property 'late'")
    expect(.string, "passing.name", "uses the transient relationship 'passing'")
    expect(
      .integer64, "items." + Array(repeating: "whole", count: 8).joined(separator: ".") + ".@sum.count",
      "uses more than 8 relationships")
  }

  func testTypesAreChecked() {
    expect(.string, "items.@count", "gives Integer 64 or Integer 32 or Integer 16; the attribute is of the type 'String'")
    expect(.double, "items.@count", "gives Integer 64")
    expect(.integer64, "items.@sum.price", "gives Decimal or Double or Float")
    expect(.decimal, "items.@sum.day", "takes numbers")
    expect(.integer64, "items.@avg.count", "gives Double or Float")
    expect(.integer16, "number", "gives Integer 32 or Integer 64")
    expect(.string, "canonical:(number)", "takes a String, not 'Integer 32'")
    expect(.integer64, "uppercase:(note)", "gives String")
    expect(.double, "now()", "gives Date")
    expect(.string, "items.day.@max", "gives Date")
  }

  func testAttributesThatCannotBeDerivedAreReported() {
    XCTAssertTrue("\(issues(Attribute("a", .string).derived("note").transient()))".contains("belongs to a transient attribute"))
    XCTAssertTrue("\(issues(Attribute("a", .binary).derived("photo").externalStorage()))".contains("external storage"))
    XCTAssertTrue("\(issues(Attribute("a", composite: "Place").derived("place")))".contains("belongs to a composite"))
    XCTAssertEqual(issues(Attribute("key", .string).derived("canonical:(note)"), constraint: "key"), [])
    let constrained = issues(Attribute("key", .string).derived("canonical:(customer.name)"), constraint: "key")
    XCTAssertTrue("\(constrained)".contains("is derived from more than its own object's stored values"), "\(constrained)")
  }

  // MARK: Filters

  func testFiltersRequireAnAggregate() {
    func expect(_ attribute: Attribute, _ reason: String?, line: UInt = #line) {
      let found = issues(attribute).map(\.description)
      guard let reason else { return XCTAssertEqual(found, [], line: line) }
      XCTAssertTrue(found.count == 1 && found[0].contains(reason), "\(found)", line: line)
      XCTAssertTrue(found.first?.hasPrefix("Order.a: ") ?? false, "\(found)", line: line)
    }
    expect(Attribute("a", .integer64).derived("items.@count", where: "price > 1"), nil)
    expect(Attribute("a", .decimal).derived("items.price.@sum", where: "count == nil"), nil)
    expect(Attribute("a", .integer64).derived("customer.orders.@count", where: "note == 'x'"), nil)
    for text in ["note", "customer.name", "canonical:(note)"] {
      expect(
        Attribute("a", .string).derived(text, where: "note == 'x'"),
        "is of '\(text)', which takes one value only; filter an aggregate over a to-many relationship")
    }
    expect(Attribute("a", .date).derived("now()", where: "note == 'x'"), "is of 'now()', which takes one value only")
    expect(Attribute("a", .integer64).derived("items.@count", where: " "), "filter is empty; remove it")
    expect(Attribute("a", .integer64).derived("items.@count", where: "price >\n1"), "control character; write it in one line")
    var entity = EntityDescription(name: "Order")
    var attribute = AttributeDescription(name: "a", type: .string, isOptional: true)
    attribute.derivationFilter = "note == 'x'"
    entity.properties = [.attribute(attribute)]
    let found = ManagedObjectModel(entities: [entity]).validationIssues()
    XCTAssertEqual(found.count, 1)
    XCTAssertTrue(
      "\(found)".contains("of an attribute that is not derived; add the derivation expression or remove the filter"), "\(found)")
  }

  private func thread(_ expression: String?, where filter: String?) -> ManagedObjectModel {
    ManagedObjectModel {
      Entity("Thread") {
        if let expression { Attribute("unread", .integer64).derived(expression, where: filter) } else { Attribute("unread", .integer64) }
        Relationship("messages", toMany: "Message", inverse: "thread")
      }
      Entity("Message") {
        Attribute("isRead", .boolean)
        Relationship("thread", to: "Thread", inverse: "messages")
      }
    }
  }

  func testFiltersAreComparedLikeTheirExpressions() throws {
    func compiled(_ expression: String?, _ filter: String?) throws -> CompiledModel { try CompiledModel(thread(expression, where: filter)) }
    let count = "messages.@count"
    let (all, unread, read) = (try compiled(count, nil), try compiled(count, "isRead == NO"), try compiled(count, "isRead == YES"))
    XCTAssertEqual(all.versionHashes, unread.versionHashes)
    XCTAssertEqual(unread.checksum, read.checksum)
    XCTAssertEqual(Set([all, unread, read].map(\.derivationChecksum)).count, 3)
    XCTAssertNotEqual(all.model, unread.model)
    XCTAssertEqual(unread.derivations[0].filter, "isRead == NO")
    XCTAssertEqual(unread.derivations[0].identity, "Thread.unread: messages.@count where isRead == NO")
    XCTAssertNil(all.derivations[0].filter)
    for (older, newer) in [(all, unread), (unread, read), (read, all)] {
      let changes = ModelDifference(from: older, to: newer).changes
      XCTAssertEqual(changes.count, 1)
      XCTAssertTrue(
        changes.first?.description.contains("filter of the derivation changed: the values are recomputed") ?? false, "\(changes)")
    }
    let dropped = ModelDifference(from: unread, to: try compiled(nil, nil)).changes.map(\.description)
    XCTAssertEqual(dropped.count, 1)
    XCTAssertTrue(dropped.first?.contains("no longer derived; its values stay") ?? false, "\(dropped)")
    XCTAssertTrue(ModelDifference(from: read, to: try compiled(count, "isRead == YES")).isEmpty)
  }

  func testModelFilesKeepDerivationFilters() throws {
    let model = thread("messages.@count", where: "isRead == NO AND \"a\" != 'ä<'")
    let data = try model.xmlData()
    let text = String(decoding: data, as: UTF8.self)
    XCTAssertTrue(
      text.contains(
        "derived=\"YES\" derivationExpression=\"messages.@count\" derivationFilter=\"isRead == NO AND &quot;a&quot; != 'ä&lt;'\""), text)
    let read = try ManagedObjectModel(xmlData: data)
    XCTAssertEqual(read.entities[0].attributes[0].derivationFilter, "isRead == NO AND \"a\" != 'ä<'")
    XCTAssertEqual(try read.xmlData(), data)
    XCTAssertTrue(
      ModelDescriptionPrinter.text(model).contains("derived from messages.@count where isRead == NO"), ModelDescriptionPrinter.text(model))
  }

  func testDerivationsWithinOneObjectComeFirst() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Author") {
          Attribute("name", .string)
          Attribute("keyed", .integer64).derived("books.@count", where: "key == 'x'")
          Relationship("books", toMany: "Book", inverse: "author")
        }
        Entity("Book") {
          Attribute("title", .string)
          Attribute("shout", .string).derived("uppercase:(copied)")
          Attribute("copied", .string).derived("author.name")
          Attribute("key", .string).derived("canonical:(small)")
          Attribute("small", .string).derived("lowercase:(title)")
          Relationship("author", to: "Author", inverse: "books")
        }
      })
    XCTAssertEqual(model.derivations.map(\.slot.name), ["small", "key", "keyed", "copied", "shout"])
    XCTAssertEqual(model.derivations.map(\.isOfOneObject), [true, true, false, false, false])
  }

  func testCyclesAreFound() {
    let model = ManagedObjectModel {
      Entity("Node") {
        Relationship("parent", to: "Node", inverse: "children")
        Relationship("children", toMany: "Node", inverse: "parent")
        Attribute("weight", .integer64)
        Attribute("total", .integer64).derived("children.@sum.total")
        Attribute("a", .string).derived("uppercase:(b)")
        Attribute("b", .string).derived("lowercase:(parent.a)")
        Attribute("behind", .string).derived("a")
        Attribute("good", .integer64).derived("children.@sum.weight")
      }
    }
    let issues = model.validationIssues()
    XCTAssertEqual(issues.map(\.propertyName), ["total", "a"])
    XCTAssertTrue(issues.allSatisfy { $0.reason.contains("depends on itself") })
  }

  func testDependenciesComeFirst() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Book") {
          Attribute("shout", .string).derived("uppercase:(key)")
          Attribute("key", .string).derived("author.key")
          Attribute("words", .integer64)
          Relationship("author", to: "Author", inverse: "books")
        }
        Entity("Author") {
          Attribute("name", .string)
          Attribute("key", .string).derived("canonical:(name)")
          Attribute("sum", .integer64).derived("books.words.@sum")
          Relationship("books", toMany: "Book", inverse: "author")
        }
      })
    let names = model.derivations.map { "\(model.entities[$0.entity].name).\($0.slot.name)" }
    XCTAssertEqual(Set(names).count, 4)
    let positions = ["Author.key", "Book.key", "Book.shout"].compactMap(names.firstIndex)
    XCTAssertEqual(positions, positions.sorted())
    let shout = try XCTUnwrap(model.derivations.first { $0.slot.name == "shout" })
    XCTAssertEqual(shout.identity, "Author.key: canonical:(name); Book.key: author.key; Book.shout: uppercase:(key)")
    let sum = try XCTUnwrap(model.derivations.first { $0.slot.name == "sum" })
    XCTAssertEqual(sum.operation, .sum)
    XCTAssertEqual(sum.steps.map(\.name), ["books"])
    XCTAssertEqual(sum.source?.name, "words")
    XCTAssertTrue(model.entities.allSatisfy(\.hasDerivedSlots))
  }

  func testDerivationExpressionsAffectOnlyTheDerivationChecksum() throws {
    func model(_ expression: String?) throws -> CompiledModel {
      try CompiledModel(
        ManagedObjectModel {
          Entity("Book") {
            Attribute("title", .string)
            if let expression { Attribute("key", .string).derived(expression) } else { Attribute("key", .string) }
          }
        })
    }
    let (plain, upper, lower) = (try model(nil), try model("uppercase:(title)"), try model("lowercase:(title)"))
    XCTAssertEqual(plain.versionHashes, upper.versionHashes)
    XCTAssertEqual(upper.checksum, lower.checksum)
    XCTAssertEqual(plain.derivationChecksum, "")
    XCTAssertNotEqual(upper.derivationChecksum, lower.derivationChecksum)
  }
}
