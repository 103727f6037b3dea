// LogGrowthTests: the log begins anew, whatever a program reads between its saves.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

final class LogGrowthTests: XCTestCase {
  func testReadingAndSavingInTurnsDoesNotKeepTheLogFromBeginningAnew() throws {
    let store = try TestStore()
    let open = try store.open()
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "0"])
    let ids = try open.save { save in try (0..<50).map { try save.insert("Book", ["title": .text("book \($0)")]) } }
    try context.save()
    let reader = open.newContext()
    var greatest = 0
    for number in 1...3_000 {
      // A row that is not at hand, as an application reads one for each thing that it does.
      let book = try XCTUnwrap(reader.existingObject(with: ids[number % ids.count]))
      XCTAssertEqual(book.text("title"), "book \(number % ids.count)")
      reader.refreshAllObjects()
      try tag.setValue("\(number)", forKey: "name")
      try context.save()
      if number % 100 == 0 {
        let size = try FileManager.default.attributesOfItem(atPath: store.url.path + "-wal")[.size] as? Int
        greatest = max(greatest, size ?? 0)
      }
    }
    // The checkpoint comes after a thousand pages, of 4,096 bytes and a head each.
    XCTAssertLessThan(greatest, 2 * 1_000 * 4_120)
  }
}
