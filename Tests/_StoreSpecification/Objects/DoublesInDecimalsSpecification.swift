// DoublesInDecimalsSpecification: doubles that decimals keep, refuse, and are compared with.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Doubles as values of decimal attributes, and in comparisons with decimals.
public final class DoublesInDecimalsSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testADoubleNearerToZeroThanDecimalsIsOutOfRange", { $0.testADoubleNearerToZeroThanDecimalsIsOutOfRange }),
        ("testADecimalKeepsADoubleAsPredicatesReadIt", { $0.testADecimalKeepsADoubleAsPredicatesReadIt }),
        ("testDecimalsAreComparedWithDoublesThatTheyDoNotHold", { $0.testDecimalsAreComparedWithDoublesThatTheyDoNotHold }),
        ("testAnAttributeOfDecimalsIsComparedWithOneOfDoubles", { $0.testAnAttributeOfDecimalsIsComparedWithOneOfDoubles }),
        ("testDecimalsAreCalculatedWithDoublesThatTheyDoNotHold", { $0.testDecimalsAreCalculatedWithDoublesThatTheyDoNotHold }),
      ] as [(String, (DoublesInDecimalsSpecification) -> () throws -> Void)])
  }

  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Sale") {
        Attribute("name", .string)
        Attribute("amount", .decimal)
        Attribute("real", .double)
        Attribute("small", .float)
      }
    }
    guard let compiled = try? CompiledModel(model) else { preconditionFailure("\(model.validationIssues())") }
    return compiled
  }()

  private func decimal(_ text: String) -> Decimal { Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? 0 }

  /// Sales of some amounts, NaN among them as an older version of the library has saved it.
  private func makeSales(_ amounts: [Slot]) throws -> OpenStore {
    let open = try makeStore(Self.model)
    try open.save { save in
      for (number, amount) in amounts.enumerated() { try save.insert("Sale", ["name": .text("\(number)"), "amount": amount]) }
    }
    return open
  }

  func testADoubleNearerToZeroThanDecimalsIsOutOfRange() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    let sale = try context.insert("Sale", ["name": "a", "amount": Decimal(1), "real": 1.0])
    try context.save()
    for value in [Double.leastNonzeroMagnitude, -Double.leastNonzeroMagnitude, 1e-300, 5e-129, 1.23456789e-125, 1e166, -1e300, .infinity]
      as [Double]
    {
      for number in [value, NSNumber(value: value)] as [any Sendable] {
        XCTAssertThrowsError(try sale.setValue(number, forKey: "amount"), "\(value)") { error in
          XCTAssertEqual((error as? KeyValueError)?.code, .outOfRange, "\(error)")
          XCTAssertEqual((error as? KeyValueError)?.key, "amount")
          XCTAssertFalse("\(error)".contains("NaN"), "\(error)")
        }
      }
      XCTAssertThrowsError(try context.execute(BatchInsertRequest(entityName: "Sale", objects: [["amount": value]]))) {
        XCTAssertEqual(($0 as? BatchError)?.code, .numberOutOfRange, "\($0)")
      }
      XCTAssertThrowsError(try context.execute(BatchUpdateRequest(entityName: "Sale", propertiesToUpdate: ["amount": value]))) {
        XCTAssertEqual(($0 as? BatchError)?.code, .numberOutOfRange, "\($0)")
      }
    }
    XCTAssertFalse(context.hasChanges)
  }

  func testADecimalKeepsADoubleAsPredicatesReadIt() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    let values: [(Double, Decimal)] = [
      (0.1, decimal("0.1")), (123456.789, decimal("123456.789")), (-123456.789, decimal("-123456.789")),
      (0.1 + 0.2, decimal("0.30000000000000004")), (1e23, decimal("1e23")), (1.7976931348623157e100, decimal("1.7976931348623157e100")),
      (2.2250738585072013e-108, decimal("2.2250738585072013e-108")), (1e-110, decimal("1e-110")), (-1e-120, decimal("-1e-120")),
      (1.5e-119, decimal("1.5e-119")), (1e-128, decimal("1e-128")), (1e127, decimal("1e127")), (1e130, decimal("1000e127")),
      (-3.4e165, decimal("-340000000000000000000000000000000000000e127")),
    ]
    for (double, decimal) in values {
      let sale = try context.insert("Sale", ["name": "a", "amount": double])
      func check(line: UInt = #line) throws {
        XCTAssertEqual(try find("Sale", "name", "a", in: open.newContext())["amount"] as? Decimal, decimal, "\(double)", line: line)
        for (format, isMet) in [("amount == %@", true), ("amount IN {%@}", true), ("amount < %@", false), ("amount > %@", false)] {
          let predicate = try FetchPredicate(format: format, double)
          let request = FetchRequest<ManagedObject>(entityName: "Sale", predicate: predicate)
          XCTAssertEqual(try open.newContext().count(for: request), isMet ? 1 : 0, "\(predicate)", line: line)
          XCTAssertEqual(try predicate.evaluate(with: sale), isMet, "\(predicate)", line: line)
        }
      }
      try context.save()
      try check()
      try context.execute(BatchUpdateRequest(entityName: "Sale", propertiesToUpdate: ["amount": nil]))
      try context.execute(BatchUpdateRequest(entityName: "Sale", propertiesToUpdate: ["amount": double]))
      try check()
      try context.execute(BatchDeleteRequest(entityName: "Sale"))
      try context.execute(BatchInsertRequest(entityName: "Sale", objects: [["name": "b", "amount": double]]))
      let inserted = try find("Sale", "name", "b", in: open.newContext())
      XCTAssertEqual(inserted["amount"] as? Decimal, decimal, "\(double)")
      try context.execute(BatchDeleteRequest(entityName: "Sale"))
      context.reset()
    }
  }

  func testDecimalsAreComparedWithDoublesThatTheyDoNotHold() throws {
    let large = decimal("-90000000000000000000000000000000000000e127")
    let amounts = [
      Slot(Decimal(1.5)), Slot(Decimal(2.5)), Slot(Decimal(-5)), Slot(Decimal(0)), Slot(decimal("1e-120")), Slot(Decimal.nan), .null,
      Slot(large), Slot(-large),
    ]
    let open = try makeSales(amounts)
    let context = open.newContext()
    func names(_ format: String, _ values: Double...) throws -> [String] {
      var request = FetchRequest<ManagedObject>(entityName: "Sale", predicate: try FetchPredicate(format: format, argumentArray: values))
      request.sortDescriptors = [FetchSortDescriptor("name")]
      return try context.texts("name", request)
    }
    for isChanged in [false, true] {
      // Changed objects are compared in memory.
      if isChanged {
        for sale in try context.fetch(FetchRequest<ManagedObject>(entityName: "Sale")) { try sale.setValue(5.0, forKey: "small") }
      }
      for value in [Double.leastNonzeroMagnitude, 1e-300, 5e-129] {
        XCTAssertEqual(try names("amount > %@", value), ["0", "1", "4", "8"], "\(value)")
        XCTAssertEqual(try names("amount < %@", value), ["2", "3", "5", "7"], "\(value)")
        XCTAssertEqual(try names("amount == %@", value), [], "\(value)")
        XCTAssertEqual(try names("amount IN {%@, 0}", value), ["3"], "\(value)")
        XCTAssertEqual(try names("amount < %@", -value), ["2", "5", "7"], "\(-value)")
        XCTAssertEqual(try names("amount >= %@", -value), ["0", "1", "3", "4", "8"], "\(-value)")
        XCTAssertEqual(try names("amount BETWEEN {%@, %@}", -value, value), ["3"], "\(value)")
        XCTAssertEqual(try names("amount BETWEEN {%@, 2}", value), ["0", "4"], "\(value)")
      }
      for value in [1e166, 1e300, .infinity] {
        XCTAssertEqual(try names("amount < %@", value), ["0", "1", "2", "3", "4", "5", "7", "8"])
        XCTAssertEqual(try names("amount > %@", value), [])
        XCTAssertEqual(try names("amount < %@", -value), ["5"])
        XCTAssertEqual(try names("amount > %@", -value), ["0", "1", "2", "3", "4", "7", "8"])
      }
      XCTAssertEqual(try names("amount > %@", 1e150), ["8"])
      XCTAssertEqual(try names("amount < %@", -1e150), ["5", "7"])
    }
  }

  func testAnAttributeOfDecimalsIsComparedWithOneOfDoubles() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    // The sign of the order of amount and real.
    let pairs: [(Decimal, Double, Int)] = [
      (decimal("123456.789"), 123456.789, 0), (0, .leastNonzeroMagnitude, -1), (0, -.leastNonzeroMagnitude, 1), (-5, 1e-300, -1),
      (decimal("1e-128"), 1e-129, 1), (decimal("1e-128"), 1.1e-128, -1), (decimal("1000e127"), 1e130, 0), (decimal("1000e127"), 1e129, 1),
      (5, 1e300, -1), (-5, -1e300, 1), (5, .infinity, -1), (5, -.infinity, 1),
    ]
    for (number, pair) in pairs.enumerated() { try context.insert("Sale", ["name": "\(number)", "amount": pair.0, "real": pair.1]) }
    try context.save()
    for (format, isMet) in [
      ("amount == real", { $0 == 0 }), ("real == amount", { $0 == 0 }), ("amount < real", { $0 < 0 }), ("real < amount", { $0 > 0 }),
      ("amount != real", { $0 != 0 }),
    ] as [(String, (Int) -> Bool)] {
      let expected = Set(pairs.indices.filter { isMet(pairs[$0].2) }.map { "\($0)" })
      let predicate = try FetchPredicate(format: format)
      let request = FetchRequest<ManagedObject>(entityName: "Sale", predicate: predicate)
      XCTAssertEqual(Set(try open.newContext().texts("name", request)), expected, format)
      let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Sale"))
      XCTAssertEqual(Set(try all.filter { try predicate.evaluate(with: $0) }.compactMap { $0.text("name") }), expected, format)
    }
  }

  func testDecimalsAreCalculatedWithDoublesThatTheyDoNotHold() throws {
    let open = try makeSales([Slot(Decimal(1.5)), Slot(Decimal(2.5)), Slot(Decimal(-5)), Slot(Decimal(0))])
    let context = open.newContext()
    for isChanged in [false, true] {
      if isChanged {
        for sale in try context.fetch(FetchRequest<ManagedObject>(entityName: "Sale")) { try sale.setValue(5.0, forKey: "small") }
      }
      for (format, value, expected) in [
        ("amount + %@ > 0", 1e-300, ["0", "1", "3"]), ("amount - %@ <= 0", 1e-300, ["2", "3"]), ("amount * %@ == 0", 1e300, ["3"]),
        ("amount * %@ > 0", 1e300, ["0", "1"]), ("amount / %@ == 0", 1e300, ["3"]),
      ] as [(String, Double, [String])] {
        var request = FetchRequest<ManagedObject>(entityName: "Sale", predicate: try FetchPredicate(format: format, value))
        request.sortDescriptors = [FetchSortDescriptor("name")]
        XCTAssertEqual(try context.texts("name", request), expected, format)
      }
    }
  }
}
