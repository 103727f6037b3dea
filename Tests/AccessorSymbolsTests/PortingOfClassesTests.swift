import AccessorSymbols
import XCTest

/// Entity classes and extensions of `NSObject` that do not compile on Linux are ported.
final class PortingOfClassesTests: XCTestCase {
  private static let base = """
    public import Foundation
    public struct ManagedObjectSeed {}
    public class NSEntityDescription {}
    public class NSManagedObjectContext {}
    open class NSManagedObject: NSObjectProtocol {
      public required init(_ seed: ManagedObjectSeed) {}
      public required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {}
      public func isEqual(_ object: Any?) -> Bool { false }
      public var hash: Int { 0 }
      public func `self`() -> Self { self }
      public func isProxy() -> Bool { false }
      public var description: String { "" }
      public var debugDescription: String { "" }
    }
    """

  /// Compiles a ported source, and returns the symbols of its managed properties.
  private func symbols(of source: String) throws -> [String] {
    try CompiledModules.with { modules in
      _ = try modules.missingSymbols(of: "CoreData", [modules.write(Self.base, as: "CoreData.swift")])
      let file = try modules.write(source, as: "Source.swift")
      _ = try modules.missingSymbols(of: "Library", [file])
      let found = ManagedAccessors(of: ScannedModule(name: "Library", sources: [ScannedSource(source, file: file.path)]))
      XCTAssertEqual(found.issues, [])
      return found.accessors.flatMap(\.symbols)
    }
  }

  func testReplacedInitializersHaveTheAccessLevelOfTheirClass() throws {
    let port = SourcePort(
      """
      import CoreData

      public final class Employee: NSManagedObject {
        @NSManaged public var name: String

        @objc
        override private init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
          super.init(entity: entity, insertInto: context)
        }
      }
      class Company: NSManagedObject {
        fileprivate override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
          super.init(entity: entity, insertInto: context)
        }
      }

      """)
    XCTAssertTrue(port.result.contains("  override public required init(entity:"), port.result)
    XCTAssertTrue(port.result.contains("    public required init(_ seed: ManagedObjectSeed) { super.init(seed) }"), port.result)
    XCTAssertTrue(port.result.contains("\n  override required init(entity:"), port.result)
    XCTAssertTrue(port.result.contains("\n    required init(_ seed: ManagedObjectSeed) { super.init(seed) }"), port.result)
    XCTAssertFalse(SourcePort(port.result).isChanged)
    XCTAssertEqual(try symbols(of: port.result).count, 2)
  }

  func testLocalClassesMoveToTheEndOfTheFile() throws {
    let port = SourcePort(
      """
      import CoreData

      struct Tests {
        func testKinds() {
          class Base: NSManagedObject {
            @NSManaged @objc var name: String
          }

          final class Kind: Base {
            @NSManaged var keys: [String]?
          }
          _ = Kind.self
        }
      }

      """)
    XCTAssertEqual(
      port.result,
      """
      import CoreData

      struct Tests {
        func testKinds() {

          _ = Kind.self
        }
      }

      class Base: NSManagedObject {
        @NSManaged
        #if canImport(ObjectiveC)
        @objc
        #endif
        var name: String
      }

      final class Kind: Base {
        @NSManaged var keys: [String]?
      }

      """)
    XCTAssertEqual(port.remarks, [])
    XCTAssertFalse(SourcePort(port.result).isChanged)
    XCTAssertEqual(try symbols(of: port.result).count, 4)
  }

  func testLocalClassesWithNameClashesAreReported() {
    let port = SourcePort(
      """
      import CoreData
      class Kind {}
      func make() {
        class Kind: NSManagedObject {}
      }

      """)
    XCTAssertFalse(port.isChanged)
    XCTAssertEqual(port.remarks.map(\.line), [4])
  }

  func testPrivateClassesBecomeInternal() throws {
    let port = SourcePort(
      """
      import CoreData
      private final class Kind: NSManagedObject {
        @NSManaged var name: String?
      }
      enum Kinds {
        fileprivate class Inner: NSManagedObject {}
        private class Other {}
      }

      """)
    XCTAssertEqual(
      port.result,
      """
      import CoreData
      final class Kind: NSManagedObject {
        @NSManaged var name: String?
      }
      enum Kinds {
        class Inner: NSManagedObject {}
        private class Other {}
      }

      """)
    XCTAssertEqual(try symbols(of: port.result).count, 2)
  }

  func testNSObjectExtensionsAlsoExtendManagedObjects() throws {
    let source = """
      import Foundation

      public extension NSObject {
        @objc class var nameOfClass: String { "\(self)" }
      }

      """
    let user = "import CoreData\nextension NSManagedObject {\n  static var entityName: String { nameOfClass }\n}\n"
    let port = SourcePort(source, in: PortedFolder([source, user]))
    XCTAssertEqual(
      port.result,
      """
      import CoreData
      import Foundation

      public extension NSObject {
        #if canImport(ObjectiveC)
        @objc
        #endif
        class var nameOfClass: String { "\(self)" }
      }

      #if !canImport(ObjectiveC)
      // A managed object is no NSObject on Linux.
      public extension NSManagedObject {
        #if canImport(ObjectiveC)
        @objc
        #endif
        class var nameOfClass: String { "\(self)" }
      }
      #endif

      """)
    XCTAssertFalse(SourcePort(port.result, in: PortedFolder([port.result, user])).isChanged)
    XCTAssertEqual(try symbols(of: port.result + user), [])
    // It stays the same if no managed object uses it.
    let plain = "import Foundation\nextension NSObject { func name() {} }\n"
    XCTAssertFalse(SourcePort(plain, in: PortedFolder([plain, user])).isChanged)
  }
}
