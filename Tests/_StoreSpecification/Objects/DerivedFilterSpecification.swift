import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Filtered aggregates of derived attributes are correct after every kind of write to their members.
public final class DerivedFilterSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testAggregatesIncludeOnlyFilteredMembers", { $0.testAggregatesIncludeOnlyFilteredMembers }),
        ("testChangingAFilterAttributeUpdatesTheAggregate", { $0.testChangingAFilterAttributeUpdatesTheAggregate }),
        ("testFilterAppliesToMembersOfLongerPaths", { $0.testFilterAppliesToMembersOfLongerPaths }),
        ("testMovingMembersUpdatesTheAggregate", { $0.testMovingMembersUpdatesTheAggregate }),
        ("testChangingJoinTableLinksUpdatesTheAggregate", { $0.testChangingJoinTableLinksUpdatesTheAggregate }),
        ("testBatchRequestsUpdateTheAggregate", { $0.testBatchRequestsUpdateTheAggregate }),
        ("testAggregatesIncludeSubentityMembers", { $0.testAggregatesIncludeSubentityMembers }),
        ("testFilterCanUseDerivedAttributesOfTheMember", { $0.testFilterCanUseDerivedAttributesOfTheMember }),
        ("testReferencesToDeletedObjectsCountAsBefore", { $0.testReferencesToDeletedObjectsCountAsBefore }),
        ("testAFilterSelectsWhatAFetchOfTheSamePredicateFinds", { $0.testAFilterSelectsWhatAFetchOfTheSamePredicateFinds }),
        ("testFilterThatDependsOnOtherObjectsIsRejected", { $0.testFilterThatDependsOnOtherObjectsIsRejected }),
        ("testRandomGraphMatchesANaiveComputation", { $0.testRandomGraphMatchesANaiveComputation }),
      ] as [(String, (DerivedFilterSpecification) -> () throws -> Void)])
  }

  static let model: CompiledModel = {
    do { return try model() } catch { preconditionFailure("\(error)") }
  }()

  /// The model, with further attributes of accounts.
  static func model(_ more: [any EntityComponent] = []) throws -> CompiledModel {
    try CompiledModel(
      ManagedObjectModel {
        Composite("Place") { Attribute("city", .string) }
        Entity("Account") {
          Attribute("name", .string)
          Relationship("invoices", toMany: "Invoice", inverse: "account")
          Attribute("openCount", .integer64).derived("invoices.@count", where: "isPaid == NO")
          Attribute("openTotal", .decimal).derived("invoices.@sum.amount", where: "state != 'paid'")
          Attribute("lastDue", .date).derived("invoices.@max.due", where: "state IN {'open', 'late'} AND weight BETWEEN {10, 100}")
          Attribute("meanWeight", .double).derived("invoices.@avg.weight", where: "weight > 0")
          Attribute("nobodys", .integer64).derived("invoices.@count", where: "clerk == nil")
          Attribute("urgent", .integer64).derived("invoices.@count", where: "noteKey BEGINSWITH 'urg' OR note CONTAINS[cd] 'É'")
          Attribute("inUlm", .integer64).derived("invoices.@count", where: "place.city == 'Ulm'")
          Attribute("latePay", .integer64).derived("invoices.clerk.pay.@sum", where: "state == 'late'")
          more
        }
        Entity("Invoice") {
          Attribute("state", .string)
          Attribute("isPaid", .boolean)
          Attribute("amount", .decimal)
          Attribute("weight", .integer32)
          Attribute("due", .date)
          Attribute("note", .string)
          Attribute("noteKey", .string).derived("canonical:(note)")
          Attribute("place", composite: "Place")
          Attribute("scan", .binary)
          Relationship("account", to: "Account", inverse: "invoices")
          Relationship("clerk", to: "Clerk", inverse: "invoices")
          Relationship("seal", to: "Seal")
          Relationship("tags", toMany: "Tag", inverse: "invoices")
          Attribute("accountName", .string).derived("account.name")
          Attribute("openBeside", .integer64).derived("account.invoices.@count", where: "isPaid == NO")
        }
        Entity("CreditNote", parent: "Invoice") { Attribute("reason", .string) }
        Entity("Clerk") {
          Attribute("pay", .integer64)
          Relationship("invoices", toMany: "Invoice", inverse: "clerk")
        }
        Entity("Seal") { Attribute("color", .string) }
        Entity("Tag") {
          Attribute("name", .string)
          Relationship("invoices", toMany: "Invoice", inverse: "tags").ordered()
          Attribute("paidSum", .decimal).derived("invoices.amount.@sum", where: "isPaid == YES")
        }
        Entity("Pile") {
          Relationship("items", toMany: "Invoice")
          Attribute("lateCount", .integer64).derived("items.@count", where: "state == 'late'")
        }
      })
  }

  private func make() throws -> (store: OpenStore, context: ManagedObjectContext) {
    let store = try makeStore(Self.model)
    return (store, store.newContext())
  }

  /// A stored value, bypassing all caches.
  private func stored(_ store: OpenStore, _ object: ManagedObject, _ key: String) throws -> Slot {
    try XCTUnwrap(try store.value(object.objectID, key), "The object has no row.")
  }

  /// The number of objects that a fetch finds.
  private func count(_ store: OpenStore, _ entity: String, _ format: String) throws -> Int {
    try store.count(FetchSpecification(entityName: entity, predicate: try FetchPredicate(format: format)))
  }

  private func decimal(_ number: Decimal) -> Slot { .bytes(DecimalCoding.encode(number)) }

  // MARK: Saves

  func testAggregatesIncludeOnlyFilteredMembers() throws {
    let (store, context) = try make()
    let account = try context.insert("Account", ["name": "Ann"])
    let empty = try context.insert("Account", ["name": "Bob"])
    let day = Date(timeIntervalSinceReferenceDate: 1_000)
    for (number, state) in ["open", "paid", "late", "open"].enumerated() {
      try context.insert(
        "Invoice",
        [
          "account": account, "state": state, "isPaid": state == "paid", "amount": Decimal(number + 1), "weight": Int32(number * 40),
          "due": day + Double(number),
        ])
    }
    try context.insert("Invoice", ["account": account, "amount": Decimal(100)])
    try context.save()
    XCTAssertEqual(account.integer("openCount"), 3, "no value is not NO")
    XCTAssertEqual(account["openTotal"] as? Decimal, 108, "no value is another one than 'paid'")
    XCTAssertEqual(account["lastDue"] as? Date, day + 2, "120 is too heavy")
    XCTAssertEqual(account["meanWeight"] as? Double, 80)
    XCTAssertEqual(account.integer("nobodys"), 5)
    for (key, value) in [
      ("openCount", .int(0)), ("openTotal", decimal(0)), ("lastDue", .null), ("meanWeight", .null), ("nobodys", .int(0)),
    ] as [(String, Slot)] {
      XCTAssertEqual(try stored(store, empty, key), value, key)
    }
    XCTAssertEqual(try count(store, "Account", "openCount == 3 AND openTotal > 100"), 1)
  }

  func testChangingAFilterAttributeUpdatesTheAggregate() throws {
    let (store, context) = try make()
    let account = try context.insert("Account")
    let clerk = try context.insert("Clerk", ["pay": Int64(7)])
    let invoices = try (0..<3).map { number in
      try context.insert("Invoice", ["account": account, "isPaid": false, "state": "open", "amount": Decimal(number + 1)])
    }
    try context.save()
    XCTAssertEqual(account.integer("openCount"), 3)
    try invoices[0].setValue(true, forKey: "isPaid")
    try invoices[1].setValue("paid", forKey: "state")
    try invoices[2].setValue(["city": "Ulm"], forKey: "place")
    try context.save()
    XCTAssertEqual(account.integer("openCount"), 2)
    XCTAssertEqual(account["openTotal"] as? Decimal, 4)
    XCTAssertEqual(account.integer("inUlm"), 1)
    XCTAssertEqual(account.integer("nobodys"), 3)
    try invoices[0].setValue(nil, forKey: "isPaid")
    try invoices[0].setValue(clerk, forKey: "clerk")
    try invoices[0].setValue("late", forKey: "state")
    try invoices[2].setValue(["city": "Bonn"], forKey: "place")
    try context.save()
    XCTAssertEqual(account.integer("openCount"), 2)
    XCTAssertEqual(account.integer("nobodys"), 2)
    XCTAssertEqual(account.integer("inUlm"), 0)
    XCTAssertEqual(account.integer("latePay"), 7)
    context.delete(clerk)
    context.delete(invoices[1])
    try context.save()
    XCTAssertEqual(try stored(store, account, "nobodys"), .int(2))
    XCTAssertEqual(try stored(store, account, "latePay"), .int(0))
    XCTAssertEqual(try stored(store, account, "openCount"), .int(1))
    XCTAssertFalse(context.hasChanges)
  }

  func testFilterAppliesToMembersOfLongerPaths() throws {
    let (_, context) = try make()
    let account = try context.insert("Account")
    let clerks = try [10, 100].map { try context.insert("Clerk", ["pay": Int64($0)]) }
    let invoices = try (0..<4).map { number in
      try context.insert(
        "Invoice",
        ["account": account, "clerk": clerks[number % 2], "state": number < 3 ? "late" : "open", "isPaid": number == 0])
    }
    try context.save()
    XCTAssertEqual(account.integer("latePay"), 120, "the members' state, their clerks' pay")
    XCTAssertEqual(invoices.map { $0.integer("openBeside") }, [3, 3, 3, 3], "a to-one stands before the members")
    try clerks[0].setValue(Int64(1), forKey: "pay")
    try invoices[1].setValue(true, forKey: "isPaid")
    try context.save()
    XCTAssertEqual(account.integer("latePay"), 102)
    XCTAssertEqual(invoices.map { $0.integer("openBeside") }, [2, 2, 2, 2])
    try invoices[3].setValue(nil, forKey: "account")
    try context.save()
    XCTAssertEqual(invoices.map { $0.integer("openBeside") }, [1, 1, 1, 0])
  }

  func testMovingMembersUpdatesTheAggregate() throws {
    let (_, context) = try make()
    let accounts = try ["a", "b"].map { try context.insert("Account", ["name": $0]) }
    let invoices = try (0..<4).map { try context.insert("Invoice", ["account": accounts[0], "isPaid": $0 > 1, "state": "open"]) }
    try context.save()
    XCTAssertEqual(accounts.map { $0.integer("openCount") }, [2, 0])
    try invoices[0].setValue(accounts[1], forKey: "account")
    try invoices[2].setValue(accounts[1], forKey: "account")
    try invoices[2].setValue(false, forKey: "isPaid")
    try context.save()
    XCTAssertEqual(accounts.map { $0.integer("openCount") }, [1, 2])
    try accounts[1].setValue(Set(invoices), forKey: "invoices")
    try context.save()
    XCTAssertEqual(accounts.map { $0.integer("openCount") }, [0, 3])
    context.delete(invoices[1])
    try invoices[0].setValue(nil, forKey: "account")
    try context.save()
    XCTAssertEqual(accounts.map { $0.integer("openCount") }, [0, 1])
  }

  func testChangingJoinTableLinksUpdatesTheAggregate() throws {
    let (store, context) = try make()
    let invoices = try (1...4).map {
      try context.insert("Invoice", ["amount": Decimal($0), "isPaid": $0 % 2 == 0, "state": $0 < 3 ? "late" : "open"])
    }
    let tags = try (0..<2).map { _ in try context.insert("Tag", ["invoices": invoices]) }
    let pile = try context.insert("Pile", ["items": Set(invoices)])
    try context.save()
    XCTAssertEqual(try tags.map { try stored(store, $0, "paidSum") }, [decimal(6), decimal(6)])
    XCTAssertEqual(pile.integer("lateCount"), 2)
    try tags[0].setValue([invoices[1], invoices[0]], forKey: "invoices")
    try invoices[2].setValue(true, forKey: "isPaid")
    try pile.setValue(Set(invoices[1...]), forKey: "items")
    try context.save()
    XCTAssertEqual(try tags.map { try stored(store, $0, "paidSum") }, [decimal(2), decimal(9)])
    XCTAssertEqual(pile.integer("lateCount"), 1)
    try invoices[1].setValue(false, forKey: "isPaid")
    try invoices[3].setValue("late", forKey: "state")
    try context.save()
    XCTAssertEqual(try tags.map { try stored(store, $0, "paidSum") }, [decimal(0), decimal(7)])
    XCTAssertEqual(pile.integer("lateCount"), 2)
    context.delete(invoices[3])
    try context.save()
    XCTAssertEqual(try stored(store, tags[1], "paidSum"), decimal(3))
    XCTAssertEqual(try stored(store, pile, "lateCount"), .int(1))
  }

  // MARK: Batch requests

  func testBatchRequestsUpdateTheAggregate() throws {
    let (store, context) = try make()
    let account = try context.insert("Account")
    let other = try context.insert("Account")
    try context.save()
    let rows: [[String: any Sendable]] = (0..<10).map { number in
      ["account": account.objectID, "isPaid": number < 4, "state": number < 4 ? "paid" : "open", "amount": Decimal(number), "note": "n"]
    }
    try context.execute(BatchInsertRequest(entityName: "Invoice", objects: rows))
    XCTAssertEqual(try stored(store, account, "openCount"), .int(6))
    XCTAssertEqual(try stored(store, account, "openTotal"), decimal(39))
    try context.execute(
      BatchUpdateRequest(
        entityName: "Invoice", predicate: try FetchPredicate(format: "amount >= 8"),
        propertiesToUpdate: ["isPaid": true, "state": "paid", "note": "URGENT!"]))
    XCTAssertEqual(try stored(store, account, "openCount"), .int(4))
    XCTAssertEqual(try stored(store, account, "openTotal"), decimal(22))
    XCTAssertEqual(try stored(store, account, "urgent"), .int(2))
    try context.execute(
      BatchUpdateRequest(
        entityName: "Invoice", predicate: try FetchPredicate(format: "amount < 6"), propertiesToUpdate: ["account": other.objectID]))
    XCTAssertEqual(try [account, other].map { try stored(store, $0, "openCount") }, [.int(2), .int(2)])
    try context.execute(BatchDeleteRequest(entityName: "Invoice", predicate: try FetchPredicate(format: "amount == 7 OR amount < 5")))
    XCTAssertEqual(try [account, other].map { try stored(store, $0, "openCount") }, [.int(1), .int(1)])
    XCTAssertEqual(try [account, other].map { try stored(store, $0, "openTotal") }, [decimal(6), decimal(5)])
    try context.execute(BatchDeleteRequest(entityName: "Invoice"))
    XCTAssertEqual(try [account, other].map { try stored(store, $0, "openTotal") }, [decimal(0), decimal(0)])
  }

  // MARK: Entities

  func testAggregatesIncludeSubentityMembers() throws {
    let (store, context) = try make()
    let account = try context.insert("Account")
    let note = try context.insert(
      "CreditNote", ["account": account, "isPaid": false, "state": "open", "amount": Decimal(-3), "reason": "x"])
    try context.insert("Invoice", ["account": account, "isPaid": false, "state": "open", "amount": Decimal(5)])
    try context.save()
    XCTAssertEqual(account.integer("openCount"), 2)
    XCTAssertEqual(account["openTotal"] as? Decimal, 2)
    try note.setValue(true, forKey: "isPaid")
    try context.save()
    XCTAssertEqual(account.integer("openCount"), 1)
    try context.execute(BatchUpdateRequest(entityName: "CreditNote", propertiesToUpdate: ["state": "paid"]))
    XCTAssertEqual(try stored(store, account, "openTotal"), decimal(5))
  }

  func testFilterCanUseDerivedAttributesOfTheMember() throws {
    let (store, context) = try make()
    let account = try context.insert("Account")
    let invoice = try context.insert("Invoice", ["account": account, "note": "Ürgently"])
    try context.save()
    XCTAssertEqual(account.integer("urgent"), 1)
    try invoice.setValue("soon", forKey: "note")
    try context.save()
    XCTAssertEqual(account.integer("urgent"), 0)
    try invoice.setValue("Café", forKey: "note")
    try context.save()
    XCTAssertEqual(account.integer("urgent"), 1)
    try context.execute(BatchUpdateRequest(entityName: "Invoice", propertiesToUpdate: ["note": "no"]))
    XCTAssertEqual(try stored(store, account, "urgent"), .int(0))
    try context.execute(BatchUpdateRequest(entityName: "Invoice", propertiesToUpdate: ["note": "URG"]))
    XCTAssertEqual(try stored(store, account, "urgent"), .int(1))
    try context.execute(BatchUpdateRequest(entityName: "Invoice", propertiesToUpdate: ["note": "a"]))
    XCTAssertEqual(try stored(store, account, "urgent"), .int(0))
  }

  func testReferencesToDeletedObjectsCountAsBefore() throws {
    let store = try makeStore(
      Self.model([Attribute("unsealed", .integer64).derived("invoices.@count", where: "seal == nil")]))
    let context = store.newContext()
    let account = try context.insert("Account")
    let seal = try context.insert("Seal", ["color": "red"])
    try context.insert("Invoice", ["account": account, "seal": seal])
    try context.insert("Invoice", ["account": account])
    try context.save()
    XCTAssertEqual(account.integer("unsealed"), 1)
    context.delete(seal)
    try context.save()
    try account.setValue("touched", forKey: "name")
    try context.insert("Invoice", ["account": account])
    try context.save()
    let same = try count(store, "Invoice", "seal == nil")
    XCTAssertEqual(try stored(store, account, "unsealed"), .int(Int64(same)))
  }

  // MARK: Filter expressions

  private static let formats = [
    "isPaid == YES", "isPaid != YES", "NOT (isPaid == NO)", "isPaid == nil", "state == nil", "state != nil", "state == 'open'",
    "state <> \"it's\"", "state == \"it's\"", "state ==[c] 'OPEN'", "state BEGINSWITH 'o'", "state ENDSWITH[c] 'E'",
    "note LIKE[cd] '*rgen?'", "NOT note CONTAINS 'é'", "state IN {'open', 'late'}", "NOT state IN {'open', 'late'}",
    "weight IN {1, 20, 300}",
    "weight BETWEEN {10, 100}", "NOT weight BETWEEN {10, 100}", "weight > 20", "weight <= 20.5", "amount >= 2.25", "amount IN {1, 2.5}",
    "amount BETWEEN {0.5, weight}", "due < CAST(1000, 'NSDate')", "clerk == nil", "clerk != nil AND seal == nil", "place.city == 'Ulm'",
    "place.city == nil OR place.city ==[cd] 'ÜLM'", "scan == nil", "scan != nil", "weight * 2 > amount", "length(note) > 4",
    "lowercase(state) == 'open'", "noteKey == 'cafe'", "(state == 'open' AND (weight > 5 OR isPaid == NO)) OR NOT (note == nil)",
    "TERNARY(isPaid == YES, 1, weight) > 10", "TRUEPREDICATE", "FALSEPREDICATE", "SELF.weight == 20", "20 == weight",
  ]

  func testAFilterSelectsWhatAFetchOfTheSamePredicateFinds() throws {
    let counts = Self.formats.indices.map { Attribute("count\($0)", .integer64).derived("invoices.@count", where: Self.formats[$0]) }
    let store = try makeStore(Self.model(counts))
    let context = store.newContext()
    let account = try context.insert("Account")
    let (clerk, seal) = (try context.insert("Clerk"), try context.insert("Seal"))
    func values(_ number: Int) -> [String: Any?] {
      [
        "isPaid": [true, false, nil][number % 3], "state": ["open", "late", "it's", nil, "OPEN"][number % 5],
        "weight": [1, 20, 300, nil].map { $0.map(Int32.init) }[number % 4], "note": ["Café", "urgent", nil, "é"][number / 2 % 4],
        "amount": [Decimal(1), Decimal(string: "2.5"), nil, Decimal(40)][number / 3 % 4],
        "due": number % 7 == 0 ? nil : Date(timeIntervalSince1970: Double(number * 300)), "clerk": number % 2 == 0 ? clerk : nil,
        "seal": number % 5 == 0 ? seal : nil, "place": [["city": "Ulm"], ["city": "ulm"], nil][number / 4 % 3],
        "scan": number % 3 == 0 ? Data([1]) : nil, "account": account,
      ]
    }
    let invoices = try (0..<60).map { try context.insert($0 % 4 == 0 ? "CreditNote" : "Invoice", values($0)) }
    for shift in [0, 7, 31] {
      if shift > 0 {
        for (number, invoice) in invoices.enumerated() {
          for (key, value) in values(number + shift) { try invoice.setValue(value, forKey: key) }
        }
      }
      try context.save()
      var results: Set<Int> = []
      for (number, format) in Self.formats.enumerated() {
        let found = try count(store, "Invoice", format)
        results.insert(found)
        XCTAssertEqual(try stored(store, account, "count\(number)"), .int(Int64(found)), "\(format), shifted by \(shift)")
      }
      XCTAssertGreaterThan(results.count, 10, "the predicates distinguish members")
    }
  }

  func testFilterThatDependsOnOtherObjectsIsRejected() throws {
    let deep = (0..<14).reduce("weight == 0") { $1 % 2 == 0 ? "weight == \($1 + 1) OR (\($0))" : "weight != \($1 + 1) AND (\($0))" }
    let wide = (0..<201).map { "weight > amount + \($0)" }.joined(separator: " OR ")
    for (format, part) in [
      ("ispaid == NO", "Did you mean isPaid?"), ("reason == 'x'", "its subentity CreditNote"), ("account.name == 'x'", "account.name"),
      ("tags.@count > 0", "to-many"), ("ANY tags.name == 'x'", "to-many"), ("tags[SIZE] == 1", "to-many"),
      ("SUBQUERY(tags, $t, $t.name == 'x').@count > 0", "SUBQUERY"), ("due < now()", "out of date"), ("state == $STATE", "$STATE"),
      ("state MATCHES 'o.*'", "LIKE"), ("note SEARCH 'x'", "CONTAINS"), ("state ==[l] 'open'", "locale"), ("weight > random()", "random"),
      ("scan == seal", "cannot be compared"), ("accountName == 'x'", "derived from other objects"), ("openBeside > 1", "openBeside"),
      ("entity == 'CreditNote'", "Name attributes of Invoice alone"), ("isPaid ==", "cannot be used"), ("state == %@", "cannot be used"),
      ("state > 3", "state"),
      ("clerk == account", "The path clerk"), ("place == nil", "place.part"), (deep, "12 levels"),
      (wide, "200 comparisons"),
    ] {
      let model = try Self.model([Attribute("bad", .integer64).derived("invoices.@count", where: format)])
      let error = assertStoreError(.invalidRequest) { _ = try makeStore(model) }
      XCTAssertEqual(error?.entityName, "Account", format)
      let message = error?.message ?? ""
      XCTAssertTrue(message.contains("“Account.bad”") && message.contains(part), "\(format): \(message)")
    }
  }

  // MARK: Random graphs

  func testRandomGraphMatchesANaiveComputation() throws {
    let (store, context) = try make()
    var graph = FilteredGraph(seed: 77, context: context)
    for round in 0..<40 {
      try graph.change()
      let reader = store.newContext()
      for entity in ["Account", "Invoice", "Tag", "Pile"] {
        for object in try reader.all(entity) {
          for (key, value) in FilteredGraph.expected(object) {
            XCTAssertEqual(try stored(store, object, key), value, "\(entity).\(key) in round \(round)")
          }
        }
      }
    }
  }
}
