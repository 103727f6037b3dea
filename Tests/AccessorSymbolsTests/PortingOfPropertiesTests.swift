import AccessorSymbols
import Foundation
import XCTest

/// Managed properties are left to the plugin if requested.
final class PortingOfPropertiesTests: XCTestCase {
  private static let source = """
    import CoreData

    public class Book: NSManagedObject {
      /// The title.
      @NSManaged public var title: String?
      @NSManaged
      public private(set) var pages: Int32 // counted

      @objc(isRead)
      @NSManaged public var isRead: Bool
      @NSManaged private var secret: String?
      @NSManaged var kind: Int16
      var shown: String { title ?? "" }
      @NSManaged public func addToTags(_ tag: Tag)
    }
    class Comic: Book {
      override var kind: Int16 { get { 1 } set {} }
    }
    class Tag: NSManagedObject { @NSManaged var name: String? }

    """

  private static let ported = """
    import CoreData

    public class Book: NSManagedObject {
      /// The title.
      #if canImport(ObjectiveC) || MANAGED_IN_SOURCE
      @NSManaged public var title: String?
      @NSManaged
      public private(set) var pages: Int32 // counted

      #if canImport(ObjectiveC)
      @objc(isRead)
      #endif
      @NSManaged public var isRead: Bool
      #endif
      @NSManaged private var secret: String?
      @NSManaged var kind: Int16
      var shown: String { title ?? "" }
      @NSManaged public func addToTags(_ tag: Tag)
    }
    class Comic: Book {
      override var kind: Int16 { get { 1 } set {} }
    }
    class Tag: NSManagedObject { @NSManaged var name: String? }

    """

  func testPropertiesAreLeftToThePluginOnRequestInSources() {
    let port = SourcePort(Self.source, leavesProperties: true)
    XCTAssertEqual(port.result, Self.ported)
    XCTAssertFalse(SourcePort(port.result, leavesProperties: true).isChanged)
    XCTAssertFalse(SourcePort(Self.source).result.contains("MANAGED_IN_SOURCE"))
  }

  func testPluginGeneratesThePropertiesLeftToIt() {
    let module = ScannedModule(name: "M", sources: [ScannedSource(Self.ported, file: "/m/Book.swift")])
    let source = AccessorSource(ManagedAccessors(of: module), of: module)
    XCTAssertEqual(source.issues, [])
    for (name, isLeft) in [("title", true), ("pages", true), ("isRead", true), ("kind", false), ("secret", false), ("name", false)] {
      XCTAssertEqual(source.text.contains("var `\(name)`:"), isLeft, name)
    }
  }
}
