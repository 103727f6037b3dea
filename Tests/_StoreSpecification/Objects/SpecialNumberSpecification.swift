import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// NaN, infinity and negative zero in attributes, predicates, aggregates, indexes, constraints and sort orders. NaN is rejected as input;
/// the others have the same meaning in every store.
public final class SpecialNumberSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testNaNIsRejectedOnSave", { $0.testNaNIsRejectedOnSave }),
        ("testNaNErrorNamesThePropertyAndTheSolution", { $0.testNaNErrorNamesThePropertyAndTheSolution }),
        ("testNaNIsRejectedByBatchRequests", { $0.testNaNIsRejectedByBatchRequests }),
        ("testNaNOfASnapshotIsRejected", { $0.testNaNOfASnapshotIsRejected }),
        ("testNaNOfANestedContextIsRejected", { $0.testNaNOfANestedContextIsRejected }),
        ("testATransientAttributeMayBeNaN", { $0.testATransientAttributeMayBeNaN }),
        ("testAStoredNaNMakesSumsAndMeansNaN", { $0.testAStoredNaNMakesSumsAndMeansNaN }),
        ("testAStoredNaNMakesDerivedSumsNaN", { $0.testAStoredNaNMakesDerivedSumsNaN }),
        ("testStoredNaNIsTheSmallestNumber", { $0.testStoredNaNIsTheSmallestNumber }),
        ("testDecimalSumThatOverflowsIsNaN", { $0.testDecimalSumThatOverflowsIsNaN }),
        ("testDecimalSumAcceptsOtherNumericTypes", { $0.testDecimalSumAcceptsOtherNumericTypes }),
        ("testInfinityMinusInfinityIsNil", { $0.testInfinityMinusInfinityIsNil }),
        ("testInfinityIsGreaterThanAllOtherNumbers", { $0.testInfinityIsGreaterThanAllOtherNumbers }),
        ("testAnInfiniteDateIsRejected", { $0.testAnInfiniteDateIsRejected }),
        ("testANumberBeyondFloatIsRejected", { $0.testANumberBeyondFloatIsRejected }),
        ("testNegativeZeroIsZero", { $0.testNegativeZeroIsZero }),
      ] as [(String, (SpecialNumberSpecification) -> () throws -> Void)])
  }

  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Sale") {
        Attribute("name", .string)
        Attribute("amount", .decimal)
        Attribute("real", .double)
        Attribute("small", .float)
        Attribute("day", .date)
        Attribute("memo", .double).transient()
        Attribute("memoDecimal", .decimal).transient()
        Relationship("shop", to: "Shop", inverse: "sales")
        Index("byReal", on: "real")
        Unique("real")
      }
      Entity("Shop") {
        Attribute("name", .string)
        Attribute("total", .decimal).derived("sales.@sum.amount")
        Attribute("totalReal", .double).derived("sales.@sum.amount")
        Attribute("mean", .decimal).derived("sales.@avg.amount")
        Attribute("least", .decimal).derived("sales.@min.amount")
        Attribute("sum", .double).derived("sales.@sum.real")
        Relationship("sales", toMany: "Sale", inverse: "shop")
      }
    }
    guard let compiled = try? CompiledModel(model) else { preconditionFailure("\(model.validationIssues())") }
    return compiled
  }()

  private func decimal(_ text: String) -> Decimal { Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? 0 }

  /// Makes a shop with sales of 1.5 and 2.5, and of amounts that an older version of the library saved.
  private func makeSales(_ amounts: [Slot]) throws -> OpenStore {
    let open = try makeStore(Self.model)
    try open.save { save in
      let shop = try save.insert("Shop", ["name": .text("x")])
      for (number, amount) in ([Slot(Decimal(1.5)), Slot(Decimal(2.5))] + amounts).enumerated() {
        try save.insert("Sale", ["name": .text("\(number)"), "amount": amount, "shop": shop.slot])
      }
    }
    return open
  }

  private func values(_ format: String, where condition: String? = nil, in context: ManagedObjectContext) throws -> [String: Any] {
    var request = FetchRequest<[String: Any]>(entityName: "Sale")
    request.predicate = try condition.map { try FetchPredicate(format: $0) }
    request.propertiesToFetch = try FetchProperty.list(format: format)
    return try XCTUnwrap(context.fetch(request).first)
  }

  private func isNaN(_ value: Any?) -> Bool { (value as? Decimal)?.isNaN ?? false }

  // MARK: Rejection

  func testNaNIsRejectedOnSave() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    let sale = try context.insert("Sale", ["name": "a", "amount": Decimal(1)])
    func expect(_ value: any Sendable, _ key: String, line: UInt = #line) throws {
      func refused(_ body: () throws -> Void) throws {
        try body()
        XCTAssertThrowsError(try sale.validateForInsert(), line: line)
        XCTAssertThrowsError(try context.save(), "\(key)", line: line) { error in
          XCTAssertEqual((error as? ValidationError)?.key, key, "\(error)", line: line)
        }
        try sale.setValue(nil, forKey: key)
      }
      try refused { try sale.setValue(value, forKey: key) }
      try refused { sale[key] = value }
      var checked: Any? = value
      XCTAssertThrowsError(try sale.validateValue(&checked, forKey: key), line: line)
    }
    try expect(Decimal.nan, "amount")
    try expect(Decimal.quietNaN, "amount")
    try expect(NSDecimalNumber.notANumber, "amount")
    try expect(Double.nan, "amount")
    try expect(Double.nan, "real")
    try expect(-Double.nan, "real")
    try expect(Double.signalingNaN, "real")
    try expect(Float.nan, "real")
    try expect(Float.nan, "small")
    try expect(Double.nan, "small")
    try context.save()
    // A saved object is validated like a new one.
    try expect(Decimal.nan, "amount")
    try expect(Double.nan, "real")
  }

  func testNaNErrorNamesThePropertyAndTheSolution() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    for (key, value) in [("amount", Decimal.nan), ("real", Double.nan), ("small", Float.nan)] as [(String, any Sendable)] {
      let sale = try context.insert("Sale", [key: value])
      XCTAssertThrowsError(try context.save()) { error in
        XCTAssertEqual(
          "\(error)", "Sale.\(key): is not a number (NaN), which no store keeps; set a number, or nil if the attribute is optional")
        XCTAssertEqual(error.localizedDescription, "\(key): The value is not a number.")
        XCTAssertFalse(((error as? any LocalizedError)?.recoverySuggestion ?? "").contains("application provides"), key)
      }
      context.delete(sale)
    }
  }

  func testNaNIsRejectedByBatchRequests() throws {
    let open = try makeSales([])
    let context = open.newContext()
    for (key, value) in [("amount", Decimal.nan), ("amount", Double.nan), ("real", Double.nan), ("small", Float.nan)]
      as [(String, any Sendable)]
    {
      func expect(_ body: () throws -> BatchResult) {
        XCTAssertThrowsError(try body(), key) { error in
          XCTAssertEqual((error as? BatchError)?.code, .invalidValue, "\(error)")
          XCTAssertEqual((error as? BatchError)?.key, key)
        }
      }
      expect { try context.execute(BatchInsertRequest(entityName: "Sale", objects: [["name": "x"], [key: value]])) }
      expect { try context.execute(BatchUpdateRequest(entityName: "Sale", propertiesToUpdate: [key: value])) }
    }
    XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Sale")), 2)
    XCTAssertEqual(try values("sum(amount) AS s", in: context)["s"] as? Decimal, 4)
  }

  func testNaNOfASnapshotIsRejected() throws {
    let open = try makeSales([])
    let context = open.newContext()
    var snapshot = try find("Sale", "name", "0", in: context).snapshot()
    try snapshot.setValue(Decimal.nan, forKey: "amount")
    _ = try context.apply(snapshot)
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "amount", "\($0)") }
  }

  func testNaNOfANestedContextIsRejected() throws {
    let open = try makeSales([])
    let parent = open.newContext()
    let child = ManagedObjectContext(parent: parent)
    try find("Sale", "name", "0", in: child).setValue(Decimal.nan, forKey: "amount")
    XCTAssertThrowsError(try child.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "amount", "\($0)") }
    XCTAssertFalse(parent.hasChanges)
  }

  func testATransientAttributeMayBeNaN() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    let sale = try context.insert("Sale", ["memo": Double.nan, "memoDecimal": Decimal.nan])
    try context.save()
    XCTAssertEqual((sale["memo"] as? Double)?.isNaN, true)
    XCTAssertTrue(isNaN(sale["memoDecimal"]))
  }

  // MARK: Stored by older versions

  func testAStoredNaNMakesSumsAndMeansNaN() throws {
    let open = try makeSales([Slot(Decimal.nan), .null])
    let context = open.newContext()
    func check(line: UInt = #line) throws {
      let found = try values(
        "sum(amount) AS s, average(amount) AS a, sum(amount * 2) AS twice, sum(amount + 1) AS more, count(amount) AS n", in: context)
      for key in ["s", "a", "twice", "more"] { XCTAssertTrue(isNaN(found[key]), "\(key): \(String(describing: found[key]))", line: line) }
      XCTAssertEqual(found["n"] as? Int, 3, line: line)
      let shop = try find("Shop", "name", "x", in: context)
      XCTAssertTrue(isNaN(try shop.value(forKeyPath: "sales.@sum.amount")), line: line)
      XCTAssertTrue(isNaN(try shop.value(forKeyPath: "sales.@avg.amount")), line: line)
      var groups = FetchRequest<[String: Any]>(entityName: "Sale")
      groups.propertiesToGroupBy = ["shop.name"]
      groups.propertiesToFetch = try ["shop.name"] + FetchProperty.list(format: "sum(amount) AS s")
      XCTAssertTrue(isNaN(try context.fetch(groups).first?["s"]), line: line)
      // Never 0: a condition on the sum is not met.
      let shops = FetchRequest<ManagedObject>(entityName: "Shop", predicate: try FetchPredicate(format: "sales.@sum.amount == 0"))
      XCTAssertEqual(try context.count(for: shops), 0, line: line)
    }
    try check()
    // The same with merged unsaved changes.
    try context.insert("Sale", ["amount": Decimal(3), "shop": find("Shop", "name", "x", in: context)])
    let sums = FetchRequest<ManagedObject>(entityName: "Shop", predicate: try FetchPredicate(format: "sales.@sum.amount == 0"))
    XCTAssertEqual(try context.count(for: sums), 0)
    XCTAssertEqual(try values("sum(amount) AS s", where: "amount > 0", in: context)["s"] as? Decimal, 4)
  }

  func testAStoredNaNMakesDerivedSumsNaN() throws {
    let open = try makeSales([Slot(Decimal.nan)])
    let shop = try find("Shop", "name", "x", in: open.newContext())
    XCTAssertTrue(isNaN(shop["total"]), "\(String(describing: shop["total"]))")
    XCTAssertTrue(isNaN(shop["mean"]))
    // A stored double that is NaN is read as nil.
    XCTAssertNil(shop["totalReal"])
    // The sale with NaN is corrected.
    let context = open.newContext()
    try find("Sale", "name", "2", in: context).setValue(Decimal(6), forKey: "amount")
    try context.save()
    let corrected = try find("Shop", "name", "x", in: open.newContext())
    XCTAssertEqual(corrected["total"] as? Decimal, 10)
    XCTAssertEqual(corrected["totalReal"] as? Double, 10)
  }

  func testStoredNaNIsTheSmallestNumber() throws {
    let open = try makeSales([Slot(Decimal.nan), Slot(decimal("-1e100"))])
    let context = open.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Sale")
    request.sortDescriptors = [FetchSortDescriptor("amount")]
    XCTAssertEqual(try context.texts("name", request), ["2", "3", "0", "1"])
    let found = try values("min(amount) AS lo, max(amount) AS hi", in: context)
    XCTAssertTrue(isNaN(found["lo"]))
    XCTAssertEqual(found["hi"] as? Decimal, 2.5)
    let shop = try find("Shop", "name", "x", in: context)
    XCTAssertTrue(isNaN(try shop.value(forKeyPath: "sales.@min.amount")))
    XCTAssertTrue(isNaN(shop["least"]))
    XCTAssertEqual(try shop.value(forKeyPath: "sales.@max.amount") as? Decimal, 2.5)
    // A bound that no decimal is below finds the objects to correct.
    request.predicate = try FetchPredicate(format: "amount < %@", -Decimal.greatestFiniteMagnitude)
    XCTAssertEqual(try context.texts("name", request), ["2"])
  }

  func testDecimalSumThatOverflowsIsNaN() throws {
    let maximum = Slot(Decimal.greatestFiniteMagnitude)
    let open = try makeSales([maximum, maximum])
    let context = open.newContext()
    XCTAssertTrue(isNaN(try values("sum(amount) AS s", in: context)["s"]))
    let shop = try find("Shop", "name", "x", in: context)
    XCTAssertTrue(isNaN(shop["total"]))
    XCTAssertTrue(isNaN(try shop.value(forKeyPath: "sales.@sum.amount")))
  }

  func testDecimalSumAcceptsOtherNumericTypes() throws {
    let list: [[String: Any]] = [["n": Decimal(1)], ["n": 2], ["n": 0.5]]
    let owner: [String: Any] = ["list": list]
    XCTAssertTrue(try FetchPredicate(format: "list.@sum.n == 3.5").evaluate(with: owner))
    XCTAssertTrue(try FetchPredicate(format: "list.@avg.n > 1.1 AND list.@avg.n < 1.2").evaluate(with: owner))
    XCTAssertTrue(try FetchPredicate(format: "list.@sum.n == 3.5").evaluate(with: ["list": Array(list.reversed())] as [String: Any]))
    XCTAssertTrue(try FetchPredicate(format: "list.@max.n == 2 AND list.@min.n == 0.5").evaluate(with: owner))
  }

  // MARK: Infinity

  func testInfinityMinusInfinityIsNil() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    let shop = try context.insert("Shop", ["name": "x"])
    for (name, real) in [("a", 1), ("b", Double.infinity), ("c", -.infinity)] {
      try context.insert("Sale", ["name": name, "real": real, "shop": shop])
    }
    try context.save()
    let found = try values("sum(real) AS s, average(real) AS a, count(real) AS n", in: context)
    XCTAssertNil(found["s"], "\(found)")
    XCTAssertNil(found["a"], "\(found)")
    XCTAssertEqual(found["n"] as? Int, 3)
    XCTAssertNil(try shop.value(forKeyPath: "sales.@sum.real"))
    XCTAssertNil(try find("Shop", "name", "x", in: open.newContext())["sum"])
    let none = FetchRequest<ManagedObject>(entityName: "Shop", predicate: try FetchPredicate(format: "sales.@sum.real == 0"))
    XCTAssertEqual(try context.count(for: none), 0)
    XCTAssertEqual(try values("sum(real) AS s", where: "real > 0", in: context)["s"] as? Double, .infinity)
    XCTAssertEqual(try values("sum(real) AS s", where: "name == 'none'", in: context)["s"] as? Double, 0)
    let empty = try context.insert("Shop", ["name": "y"])
    try context.save()
    XCTAssertEqual(try empty.value(forKeyPath: "sales.@sum.real") as? Int, 0)
    XCTAssertEqual(try find("Shop", "name", "y", in: open.newContext())["sum"] as? Double, 0)
  }

  func testInfinityIsGreaterThanAllOtherNumbers() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    let numbers: [(String, Double?)] = [("none", nil), ("least", -.infinity), ("low", -1e308), ("high", 1e308), ("most", .infinity)]
    for (name, real) in numbers { try context.insert("Sale", ["name": name, "real": real, "small": real.map { _ in Float.infinity }]) }
    try context.save()
    func names(_ format: String, _ arguments: (any FetchConstantConvertible)?...) throws -> [String] {
      var request = FetchRequest<ManagedObject>(entityName: "Sale", predicate: try FetchPredicate(format: format, argumentArray: arguments))
      request.sortDescriptors = [FetchSortDescriptor("real")]
      let saved = try open.newContext().texts("name", request)
      request.allowsInMemoryFiltering = true
      XCTAssertEqual(try context.fetch(request).map { $0.text("name") ?? "" }, saved)
      return saved
    }
    XCTAssertEqual(try names("TRUEPREDICATE"), ["none", "least", "low", "high", "most"])
    XCTAssertEqual(try names("real == %@", Double.infinity), ["most"])
    XCTAssertEqual(try names("real IN %@", [-Double.infinity, Double.infinity]), ["least", "most"])
    XCTAssertEqual(try names("real < %@", Double.infinity), ["least", "low", "high"])
    XCTAssertEqual(try names("real BETWEEN %@", [-Double.infinity, 0.0]), ["least", "low"])
    XCTAssertEqual(try names("small == %@", Float.infinity), ["least", "low", "high", "most"])
    XCTAssertEqual(try find("Sale", "name", "least", in: open.newContext())["real"] as? Double, -.infinity)
    let found = try values("min(real) AS lo, max(real) AS hi", in: context)
    XCTAssertEqual(found["lo"] as? Double, -.infinity)
    XCTAssertEqual(found["hi"] as? Double, .infinity)
    // For the constraint, infinity is a value like any other.
    try context.insert("Sale", ["name": "again", "real": Double.infinity])
    assertStoreError(.constraintConflict) { try context.save() }
  }

  func testAnInfiniteDateIsRejected() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    for seconds in [Double.infinity, -.infinity, .nan] {
      let sale = try context.insert("Sale", ["day": Date(timeIntervalSinceReferenceDate: seconds)])
      XCTAssertThrowsError(try context.save()) { error in
        XCTAssertEqual((error as? ValidationError)?.code, .invalidDate, "\(error)")
        XCTAssertTrue("\(error)".hasPrefix("Sale.day: "), "\(error)")
      }
      context.delete(sale)
    }
  }

  func testANumberBeyondFloatIsRejected() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    let sale = try context.insert("Sale")
    XCTAssertThrowsError(try sale.setValue(1e300, forKey: "small")) { XCTAssertEqual(($0 as? KeyValueError)?.code, .outOfRange, "\($0)") }
    XCTAssertThrowsError(try context.execute(BatchInsertRequest(entityName: "Sale", objects: [["small": -1e300]]))) {
      XCTAssertEqual(($0 as? BatchError)?.code, .numberOutOfRange, "\($0)")
    }
    try sale.setValue(Double.infinity, forKey: "small")
    XCTAssertEqual(sale["small"] as? Float, .infinity)
  }

  // MARK: Negative zero

  func testNegativeZeroIsZero() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    let sale = try context.insert(
      "Sale", ["name": "a", "real": -0.0, "small": -Float(0), "day": Date(timeIntervalSinceReferenceDate: -0.0), "amount": Decimal(-0.0)])
    func check(_ sale: ManagedObject, line: UInt = #line) {
      XCTAssertEqual((sale["real"] as? Double)?.sign, .plus, line: line)
      XCTAssertEqual((sale["small"] as? Float)?.sign, .plus, line: line)
      XCTAssertEqual((sale["day"] as? Date)?.timeIntervalSinceReferenceDate.sign, .plus, line: line)
      XCTAssertEqual(sale["amount"] as? Decimal, 0, line: line)
    }
    check(sale)
    try context.save()
    check(sale)
    try check(find("Sale", "name", "a", in: open.newContext()))
    try sale.setValue(-0.0, forKey: "real")
    XCTAssertEqual(try sale.snapshot().value("real", as: Double.self)?.sign, .plus)
    for format in ["real == 0", "real == -0.0", "real IN {-0.0, 5}", "real >= 0", "real <= -0.0", "small == -0.0"] {
      XCTAssertEqual(
        try open.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Sale", predicate: try FetchPredicate(format: format))), 1,
        format)
    }
    try context.save()
    // One value for the constraint.
    try context.insert("Sale", ["name": "b", "real": 0.0])
    assertStoreError(.constraintConflict) { try context.save() }
    context.rollback()
    // Computed values too.
    try context.insert("Sale", ["name": "c", "real": 7.0])
    try context.save()
    let update = BatchUpdateRequest(
      entityName: "Sale", predicate: try FetchPredicate(format: "name == 'c'"),
      propertiesToUpdate: ["small": try FetchExpression(format: "(real - 7) * -1")])
    try context.execute(update)
    XCTAssertEqual((try find("Sale", "name", "c", in: open.newContext())["small"] as? Float)?.sign, .plus)
    let rows: [[String: Any]] = [["name": "d", "real": -1.0, "small": -Float(0)]]
    try context.execute(BatchInsertRequest(entityName: "Sale", objects: rows))
    XCTAssertEqual((try find("Sale", "name", "d", in: open.newContext())["small"] as? Float)?.sign, .plus)
  }
}
