import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Sort descriptors with a locale order saved and unsaved objects, dictionaries and live results consistently.
final class LocalizedOrderTests: XCTestCase {
  private let swedish = Locale(identifier: "sv_SE")
  private let german = Locale(identifier: "de_DE")

  private func request<Result>(_ locale: Locale, _: Result.Type) -> FetchRequest<Result> {
    FetchRequest<Result>(entityName: "Author").sorted(by: "name", comparison: .localized, locale: locale)
  }

  func testSavedAndUnsavedObjectsFollowTheRulesOfTheLocale() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      for name in ["z", "ä", "ad"] { try context.make("Author", ["name": name]) }
      try context.save()
      for name in ["ö", "af"] { try context.make("Author", ["name": name]) }
      func names(_ locale: Locale) throws -> [String?] {
        try context.fetch(request(locale, ManagedObject.self)).map { $0["name"] as? String }
      }
      XCTAssertEqual(try names(swedish), ["ad", "af", "z", "ä", "ö"])
      XCTAssertEqual(try names(german), ["ä", "ad", "af", "ö", "z"])
      try context.save()
      XCTAssertEqual(try names(swedish), ["ad", "af", "z", "ä", "ö"])
      let fresh = stack.makeContext()
      var dictionaries = request(german, [String: Any].self)
      dictionaries.propertiesToFetch = ["name"]
      XCTAssertEqual(try fresh.fetch(dictionaries).map { $0["name"] as? String }, ["ä", "ad", "af", "ö", "z"])
      dictionaries.fetchOffset = 1
      dictionaries.fetchLimit = 2
      XCTAssertEqual(try fresh.fetch(dictionaries).map { $0["name"] as? String }, ["ad", "af"])
    }
  }

  func testLiveResultsFollowTheRulesOfTheLocale() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      for name in ["z", "ad"] { try context.make("Author", ["name": name]) }
      try context.save()
      let controller = FetchedResultsController(fetchRequest: request(swedish, ManagedObject.self), context: context)
      try controller.performFetch()
      let added = try context.make("Author", ["name": "ä"])
      context.processPendingChanges()
      XCTAssertEqual(controller.fetchedObjects?.map { $0["name"] as? String }, ["ad", "z", "ä"])
      try added.setValue("å", forKey: "name")
      try context.make("Author", ["name": "ö"])
      try context.save()
      XCTAssertEqual(controller.fetchedObjects?.map { $0["name"] as? String }, ["ad", "z", "å", "ö"])
    }
  }

  func testStatementWithAnUnknownLocaleWorks() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      for name in ["b", "a"] { try context.make("Author", ["name": name]) }
      try context.save()
      let odd = Locale(identifier: "no\"such'locale; DROP TABLE x\0")
      XCTAssertEqual(try context.fetch(request(odd, ManagedObject.self)).map { $0["name"] as? String }, ["a", "b"])
    }
  }
}
