import Foundation
import XCTest

/// A context consists of parts, each of which encapsulates its state.
final class ContextPartTests: XCTestCase {
  private static let folder = "Sources/ObjectContext/"
  /// The parts, each with the file that declares it.
  private static let parts = [
    "ChangeReceiver": "Merging/ChangeReceiver", "CompiledModelTables": "Context/CompiledModelTables",
    "DeferredErrors": "Context/DeferredErrors", "EntityClasses": "Classes/ManagedObjectClasses",
    "EventObservers": "Changes/ContextEvent", "FaultGroups": "Faulting/FaultGroups",
    "FetchedPropertyCache": "Fetching/ManagedObject+FetchedProperties", "IdentityMap": "Objects/IdentityMap",
    "MembershipTracker": "Relationships/MembershipTracker", "MutableValueTracker": "Objects/MutableValueTracker",
    "ObjectRegistry": "Objects/ObjectRegistry", "PermanentIDTable": "Objects/ObjectRegistry",
    "RecentObjects": "Faulting/RecentObjects", "UnitOfWork": "Changes/UnitOfWork",
  ]
  /// The maximum number of stored properties of a context: its settings and its parts. Other state belongs to a part.
  private static let limit = 23

  private func text(_ file: String) throws -> SwiftText {
    try XCTUnwrap(Repository.sources.first { $0.file == file }?.text, "\(file) has moved; list where it is now")
  }

  /// The declarations of stored properties of a type.
  private func storedProperties(of type: String, in file: String) throws -> [Substring] {
    let code = try text("\(Self.folder)\(file).swift").code
    let start = try XCTUnwrap(
      code.firstIndex { !$0.hasPrefix(" ") && $0.occurrences(of: "struct \(type)") + $0.occurrences(of: "class \(type)") > 0 },
      "\(file) does not declare \(type)")
    return code[start...].prefix { !$0.hasPrefix("}") }.filter { line in
      guard line.hasPrefix("  "), !line.hasPrefix("   "), line.contains(" var ") || line.contains(" let ") else { return false }
      if line.contains("static ") || line.contains("func ") { return false }
      // A computed property has a body and no value.
      return !line.contains("{") || line.contains(" = ")
    }
  }

  func testContextPartsKeepTheirStatePrivate() throws {
    for (part, file) in Self.parts {
      let properties = try storedProperties(of: part, in: file)
      XCTAssertFalse(properties.isEmpty, "\(part) has no state, or this test does not see it")
      for property in properties where !property.contains("private") {
        XCTFail("\(part) shows its state: \(property)")
      }
    }
  }

  func testContextHasFewPropertiesBesidesItsParts() throws {
    let properties = try storedProperties(of: "ManagedObjectContext", in: "Context/ManagedObjectContext")
    XCTAssertGreaterThan(properties.count, 10, "this test does not see the properties")
    XCTAssertLessThanOrEqual(
      properties.count, Self.limit, "a context has more state; put it into a part:\n\(properties.joined(separator: "\n"))")
  }
}
