import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// The log restarts, whatever a program reads between its saves.
final class LogGrowthTests: XCTestCase {
  func testAlternatingReadsAndSavesDoNotPreventWALResets() throws {
    let store = try TestStore()
    let open = try store.open()
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "0"])
    let ids = try open.save { save in try (0..<50).map { try save.insert("Book", ["title": .text("book \($0)")]) } }
    try context.save()
    let reader = open.newContext()
    var maximum = 0
    for number in 1...3_000 {
      // A row that is not cached, as when an application reads one per user action.
      let book = try XCTUnwrap(reader.existingObject(with: ids[number % ids.count]))
      XCTAssertEqual(book.text("title"), "book \(number % ids.count)")
      reader.refreshAllObjects()
      try tag.setValue("\(number)", forKey: "name")
      try context.save()
      if number % 100 == 0 {
        let size = try FileManager.default.attributesOfItem(atPath: store.url.path + "-wal")[.size] as? Int
        maximum = max(maximum, size ?? 0)
      }
    }
    // The checkpoint starts after 1,000 pages, each of 4,096 bytes and a header.
    XCTAssertLessThan(maximum, 2 * 1_000 * 4_120)
  }
}
