import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A damaged page causes an error or has no effect. It never yields a wrong value.
final class DamageTests: XCTestCase {
  private typealias Models = SpecificationModels

  /// A store with small rows, and with large values on overflow pages. SQLCipher returns damaged overflow pages as zeros.
  private func makeStore() throws -> (store: TestStore, model: CompiledModel, values: [Int64: Slot]) {
    let model = try Models.frozen([
      Models.entity("Letter", [Models.text("title"), Models.attribute("body", .binary)])
    ])
    let store = try TestStore()
    let open = try store.open(model)
    var values: [Int64: Slot] = [:]
    try open.save { save in
      for index in 0..<12 {
        let body = Slot.bytes(Data((0..<(index * 2_000)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) | 1 }))
        values[try save.insert("Letter", ["title": .text("letter \(index)"), "body": body]).key] = body
      }
    }
    try open.close()
    return (store, model, values)
  }

  func testFlippedBitsNeverYieldWrongValues() throws {
    let (store, model, values) = try makeStore()
    let original = try Data(contentsOf: store.url)
    let pageCount = original.count / 4_096
    XCTAssertGreaterThan(pageCount, 20)
    var errors = 0
    for page in 0..<pageCount {
      for offset in [40, 2_048, 4_060] {
        var damaged = original
        damaged[page * 4_096 + offset] ^= 1
        try damaged.write(to: store.url)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.url.path + suffix) }
        do {
          let open = try store.open(model)
          defer { try? open.close() }
          for (key, value) in values {
            // Each way of reading runs separately, so that an error of one cannot hide a wrong value of another.
            do {
              let row = try open.row(ManagedObjectID(space: open.scope.objectIDSpace.number, entityNumber: 0, key: key))
              if let row { XCTAssertEqual(try open.value(row, "body"), value, "page \(page), offset \(offset), key \(key)") }
            } catch let error as StoreError {
              XCTAssertEqual(error.code, .storeCorrupt, error.description)
              errors += 1
            }
          }
          do {
            for row in try open.rows(FetchSpecification(entityName: "Letter")) {
              XCTAssertEqual(try open.value(row, "body"), values[row.key], "page \(page), offset \(offset), key \(row.key)")
            }
          } catch let error as StoreError {
            XCTAssertEqual(error.code, .storeCorrupt, error.description)
            errors += 1
          }
        } catch let error as StoreError {
          XCTAssertTrue([.storeCorrupt, .unreadableStore].contains(error.code), error.description)
          errors += 1
        }
      }
    }
    XCTAssertGreaterThan(errors, pageCount, "most damage is noticed")
  }
}
