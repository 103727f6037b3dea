import Foundation
import ObjectContext
import ObjectModel
@_spi(Generated) import ObjectQuery
import ObjectStore
import XCTest

/// Numbers of type `Any` are cast to any type that can represent them (row C3).
final class NumberCastTests: XCTestCase {
  private let model = ManagedObjectModel {
    Composite("Size") {
      Attribute("width", .integer16)
      Attribute("weight", .float)
    }
    Entity("Thing") {
      Attribute("name", .string)
      Attribute("i16", .integer16)
      Attribute("i32", .integer32)
      Attribute("i64", .integer64)
      Attribute("single", .float)
      Attribute("real", .double)
      Attribute("exact", .decimal)
      Attribute("flag", .boolean)
      Attribute("scratch", .undefined).transient()
      Attribute("size", composite: "Size")
      Relationship("next", to: "Thing", inverse: "previous")
      Relationship("previous", toMany: "Thing", inverse: "next")
    }
  }
  private let integers = ["i16", "i32", "i64"]

  private func onThings(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses(), body)
  }

  private func assertIsSeven(_ value: Any?, _ place: String, line: UInt = #line) {
    XCTAssertEqual(value as? Int, 7, place, line: line)
    XCTAssertEqual(value as? Int64, 7, place, line: line)
    XCTAssertEqual(value as? Int32, 7, place, line: line)
    XCTAssertEqual(value as? Int16, 7, place, line: line)
    XCTAssertEqual(value as? UInt8, 7, place, line: line)
    XCTAssertEqual(value as? Double, 7, place, line: line)
    XCTAssertEqual((value as? NSNumber)?.intValue, 7, place, line: line)
    XCTAssertEqual(value.map { "\($0)" }, "7", place, line: line)
    XCTAssertNil(value as? String, place, line: line)
  }

  func testIntegersAreCastToEverySufficientIntegerType() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["i16": 7, "i32": 7, "i64": 7, "size": ["width": 7]])
      try context.make("Thing", ["name": "behind", "next": thing])
      func check(_ thing: ManagedObject) throws {
        for key in integers {
          assertIsSeven(try thing.value(forKey: key), key)
          assertIsSeven(thing[key], key)
          assertIsSeven(try thing.value(forKeyPath: key), key)
          assertIsSeven(try thing.primitiveValue(forKey: key), key)
          assertIsSeven(try thing.value(forKey: key, as: Any.self), key)
        }
        assertIsSeven(try thing.value(forKeyPath: "size.width"), "size.width")
        assertIsSeven((thing["size"] as? [String: Any])?["width"], "size")
        XCTAssertEqual(try (thing.value(forKeyPath: "previous.next.i16") as? [Any])?.compactMap { $0 as? Int }, [7])
        assertIsSeven(try thing.value(forKeyPath: "previous.next.@sum.i32"), "sum")
        assertIsSeven(try thing.value(forKeyPath: "previous.next.@max.i16"), "max")
        XCTAssertEqual(try thing.value(forKeyPath: "previous.@count") as? Int64, 1)
      }
      try check(thing)
      for (key, value) in thing.changedValues() where integers.contains(key) { assertIsSeven(value, "changed \(key)") }
      for (key, value) in thing.changedValuesForCurrentEvent() where integers.contains(key) { assertIsSeven(value, "changed now \(key)") }
      try context.save()
      for (_, value) in try thing.committedValues(forKeys: integers) { assertIsSeven(value, "committed") }
      let snapshot = try thing.snapshot()
      for key in integers { assertIsSeven(try snapshot[key], "snapshot \(key)") }
      stack.forgetRows()
      try check(stack.makeContext().existingObject(with: thing.objectID))
    }
  }

  func testIntegerIsNotCastToATooSmallType() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing", ["i16": -300, "i32": Int32.min, "i64": Int64.max])
      XCTAssertNil(thing["i16"] as? Int8)
      XCTAssertNil(thing["i16"] as? Bool)
      XCTAssertEqual(thing["i16"] as? Int, -300)
      XCTAssertNil(thing["i32"] as? Int16)
      XCTAssertEqual(thing["i32"] as? Int32, .min)
      XCTAssertNil(thing["i64"] as? Int32)
      XCTAssertEqual(thing["i64"] as? Int, .max)
    }
  }

  func testTypedReadsRemainStrict() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing", ["i16": 1, "single": 2])
      XCTAssertEqual(try thing.value(forKey: "i16", as: Int.self), 1)
      XCTAssertThrowsError(try thing.value(forKey: "i16", as: Bool.self))
      XCTAssertThrowsError(try thing.value(forKey: "i16", as: String.self))
      XCTAssertThrowsError(try thing.value(forKey: "single", as: Int.self))
    }
  }

  func testFloatIsCastToDouble() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing", ["single": Float(0.1), "size": ["weight": 2.5]])
      XCTAssertEqual(thing["single"] as? Float, 0.1)
      XCTAssertEqual(try XCTUnwrap(thing["single"] as? Double), 0.1, accuracy: 1e-7)
      XCTAssertEqual("\(try XCTUnwrap(thing["single"]))", "0.1")
      XCTAssertEqual(try thing.value(forKeyPath: "size.weight") as? Double, 2.5)
    }
  }

  func testOtherValuesKeepTheirTypes() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing", ["flag": true, "real": 1, "exact": 1, "name": "1"])
      XCTAssertEqual("\(try XCTUnwrap(thing["flag"]))", "true")
      XCTAssertEqual((thing["flag"] as? NSNumber)?.boolValue, true)
      XCTAssertEqual("\(type(of: try XCTUnwrap(thing["real"])))", "Double")
      XCTAssertEqual(thing["exact"] as? Decimal, 1)
      XCTAssertNil(thing["name"] as? Int)
    }
  }

  func testDictionariesOfAFetchHaveNumbers() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      try context.make("Thing", ["i16": 3, "i32": 7, "single": 1.5])
      try context.make("Thing", ["i16": 4, "i32": 7, "single": 1.5])
      try context.save()
      var request = FetchRequest<[String: Any]>(entityName: "Thing")
      request.propertiesToFetch = try FetchProperty.list(format: "i32, sum(i16) AS total, count(*) AS n, max(single) AS most")
      request.propertiesToGroupBy = try FetchProperty.list(format: "i32")
      let row = try XCTUnwrap(context.fetch(request).first)
      assertIsSeven(row["i32"], "i32")
      assertIsSeven(row["total"], "sum")
      XCTAssertEqual(row["n"] as? Int, 2)
      XCTAssertEqual(row["most"] as? Double, 1.5)
      request.propertiesToFetch = try FetchProperty.list(format: "single")
      request.propertiesToGroupBy = []
      XCTAssertEqual(try context.fetch(request).map { $0["single"] as? Double }, [1.5, 1.5])
    }
  }

  func testReadValuesCanBeSetAgain() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let one = try context.make("Thing", ["i16": 7, "i32": 70_000, "i64": Int64.max, "single": 0.1, "scratch": 5, "flag": true])
      XCTAssertEqual(one["scratch"] as? Int, 5)
      let other = try context.make("Thing")
      for key in integers + ["single", "scratch", "flag"] { try other.setValue(one.value(forKey: key), forKey: key) }
      for key in integers { XCTAssertEqual(other[key] as? Int, one[key] as? Int, key) }
      XCTAssertEqual(other["single"] as? Float, 0.1)
      XCTAssertEqual(other["scratch"] as? Int, 5)
      XCTAssertEqual(other["flag"] as? Bool, true)
      other["i64"] = one["i16"]
      other["real"] = one["i16"]
      other["exact"] = one["i16"]
      XCTAssertEqual(other["i64"] as? Int, 7)
      XCTAssertEqual(other["real"] as? Double, 7)
      XCTAssertEqual(other["exact"] as? Decimal, 7)
      try other.setPrimitiveValue(one.primitiveValue(forKey: "i16"), forKey: "i32")
      XCTAssertEqual(other["i32"] as? Int, 7)
      other["scratch"] = NSNumber(value: true)
      XCTAssertEqual(other["scratch"] as? Int, 1)
      other["scratch"] = NSNumber(value: 1.5)
      XCTAssertEqual(other["scratch"] as? Double, 1.5)
    }
  }

  func testOutOfRangeNumbersAreRejected() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing", ["i16": 1])
      let wrong: [(String, NSNumber, KeyValueError.Code)] = [
        ("i16", 70_000, .outOfRange), ("i16", 2.5, .wrongType), ("i64", NSNumber(value: UInt64.max), .wrongType), ("flag", 2, .wrongType),
        ("name", 1, .wrongType),
      ]
      for (key, number, code) in wrong {
        XCTAssertThrowsError(try thing.setValue(number, forKey: key), key) { XCTAssertEqual(($0 as? KeyValueError)?.code, code, key) }
      }
      XCTAssertEqual(thing["i16"] as? Int, 1)
    }
  }

  func testPredicatesAcceptReadValues() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["name": "a", "i16": 7, "single": 0.1])
      try context.make("Thing", ["name": "b", "i16": 8, "single": 0.2])
      try context.save()
      for key in ["i16", "single"] {
        let number = try XCTUnwrap(thing[key] as? NSNumber)
        var request = FetchRequest<ManagedObject>(entityName: "Thing")
        request.predicate = try FetchPredicate(format: "\(key) == %@", number)
        XCTAssertEqual(try context.fetch(request).map { $0.text("name") }, ["a"], key)
        let rows: [[String: Any]] = [[key: number], [key: 9], ["other": 7]]
        let predicate = try FetchPredicate(format: "\(key) == %@", number)
        XCTAssertEqual(try rows.map { try predicate.evaluate(with: $0) }, [true, false, false], key)
      }
      XCTAssertEqual(NSNumber(value: true).fetchConstant, .bool(true))
      XCTAssertEqual(NSNumber(value: 1).fetchConstant, .int(1))
      XCTAssertEqual(NSNumber(value: 1.5).fetchConstant, .real(1.5))
      XCTAssertEqual(NSDecimalNumber(string: "0.1").fetchConstant, .decimal(Decimal(string: "0.1") ?? 0))
      XCTAssertEqual(NSNumber(value: UInt64.max).fetchConstant, .decimal(Decimal(UInt64.max)))
    }
  }

  func testDistinctNumbersOfKeyPathsAreFound() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing")
      for number in [-1, 1, -1, 2] { try context.make("Thing", ["i16": number, "next": thing]) }
      let found = try XCTUnwrap(try thing.value(forKeyPath: "previous.@distinctUnionOfObjects.i16") as? [Any])
      XCTAssertEqual(found.compactMap { $0 as? Int }.sorted(), [-1, 1, 2])
    }
  }
}
