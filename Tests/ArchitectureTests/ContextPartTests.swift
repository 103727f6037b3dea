import Foundation
import XCTest

/// A context consists of parts, each of which encapsulates its state.
final class ContextPartTests: XCTestCase {
  private static let folder = "Sources/ObjectContext/Core/"
  private static let parts = [
    "ChangeReceiver", "EntityClasses", "EventObservers", "FaultGroups", "FetchedPropertyCache", "MutableValueTracker", "IdentityMap",
    "MembershipTracker", "CompiledModelTables", "DeferredErrors", "ObjectRegistry", "PermanentIDTable", "RecentObjects", "UnitOfWork",
  ]
  /// The maximum number of stored properties of a context: its settings and its parts. Other state belongs to a part.
  private static let limit = 23

  private func text(_ file: String) throws -> SwiftText {
    try XCTUnwrap(Repository.sources.first { $0.file == file }?.text, "\(file) has moved; list where it is now")
  }

  /// The declarations of stored properties of a file's first type.
  private func storedProperties(_ text: SwiftText) -> [Substring] {
    text.code.prefix { !$0.hasPrefix("}") }.filter { line in
      guard line.hasPrefix("  "), !line.hasPrefix("   "), line.contains(" var ") || line.contains(" let ") else { return false }
      if line.contains("static ") || line.contains("func ") { return false }
      // A computed property has a body and no value.
      return !line.contains("{") || line.contains(" = ")
    }
  }

  func testContextPartsKeepTheirStatePrivate() throws {
    for part in Self.parts {
      let properties = storedProperties(try text("\(Self.folder)\(part).swift"))
      XCTAssertFalse(properties.isEmpty, "\(part) has no state, or this test does not see it")
      for property in properties where !property.contains("private") {
        XCTFail("\(part) shows its state: \(property)")
      }
    }
  }

  func testContextHasFewPropertiesBesidesItsParts() throws {
    let properties = storedProperties(try text("\(Self.folder)ManagedObjectContext.swift"))
    XCTAssertGreaterThan(properties.count, 10, "this test does not see the properties")
    XCTAssertLessThanOrEqual(
      properties.count, Self.limit, "a context has more state; put it into a part:\n\(properties.joined(separator: "\n"))")
  }
}
