// Sources that were written for Core Data are changed so that they compile on Linux, and go on compiling elsewhere.
import AccessorSymbols
import Foundation
import XCTest

final class PortingTests: XCTestCase {
  private static let source = """
    import CoreData
    import Foundation

    @objc(Book)
    public class Book: NSManagedObject {
      @objc public dynamic var shown: String { "shown" }
      @NSManaged @objc public var title: String?
      @objc enum Kind: Int { case one }
      static let keys = [#keyPath(Book.title), #keyPath(Book.author.name), "#keyPath(Book.x)"]

      public override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
        super.init(entity: entity, insertInto: context)
      }
    }
    #if canImport(ObjectiveC)
    extension Book { @objc func observe() { print(#selector(observe)) } }
    #endif
    """

  private static let ported = """
    import CoreData
    import Foundation

    #if canImport(ObjectiveC)
    @objc(Book)
    #endif
    public class Book: NSManagedObject {
      #if canImport(ObjectiveC)
      @objc
      #endif
      public dynamic var shown: String { "shown" }
      @NSManaged
      #if canImport(ObjectiveC)
      @objc
      #endif
      public var title: String?
      #if canImport(ObjectiveC)
      @objc
      #endif
      enum Kind: Int { case one }
      static let keys = ["title", "author.name", "#keyPath(Book.x)"]

      public override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
        super.init(entity: entity, insertInto: context)
      }

      #if !canImport(ObjectiveC)
        // Contexts make objects of stored rows by it.
        public required init(_ seed: ManagedObjectSeed) { super.init(seed) }
      #endif
    }
    #if canImport(ObjectiveC)
    extension Book { @objc func observe() { print(#selector(observe)) } }
    #endif
    """

  /// A module of the name CoreData with the initializers of the library's.
  private static let base = """
    public import Foundation
    public struct ManagedObjectSeed {}
    public class NSEntityDescription {}
    public class NSManagedObjectContext {}
    open class NSManagedObject {
      public required init(_ seed: ManagedObjectSeed) {}
      public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {}
    }
    """

  func testWhatObjectiveCNeedsIsPutWhereItIs() {
    XCTAssertEqual(SourcePort(Self.source).result, Self.ported)
    XCTAssertEqual(SourcePort(Self.source).remarks, [])
  }

  func testAChangedSourceIsNotChangedAgain() {
    XCTAssertFalse(SourcePort(Self.ported).isChanged)
    XCTAssertEqual(SourcePort(Self.ported).result, Self.ported)
  }

  func testAChangedSourceCompilesWhereItDidNot() throws {
    try CompiledModules.with { modules in
      _ = try modules.missingSymbols(of: "CoreData", [modules.write(Self.base, as: "CoreData.swift")])
      let before = try modules.write(Self.source, as: "Before.swift")
      XCTAssertThrowsError(try modules.missingSymbols(of: "Library", [before]))
      let after = try modules.write(SourcePort(Self.source).result, as: "Book.swift")
      let missing = try modules.missingSymbols(of: "Library", [after])
      // The scanner sees the declarations behind the conditions.
      let module = ScannedModule(name: "Library", sources: [ScannedSource(Self.ported, file: after.path)])
      let symbols = ManagedAccessors(of: module).accessors.flatMap(\.symbols)
      XCTAssertEqual(symbols.count, 2)
      XCTAssertTrue(missing.isSuperset(of: symbols), "\(missing)")
    }
  }

  func testTheDifferenceIsOneThatPatchTakes() throws {
    let port = SourcePort("// A\n@objc(A) class A: NSManagedObject {\n  let key = #keyPath(A.b)\n}\n")
    XCTAssertEqual(
      port.difference(path: "A.swift"),
      """
      --- A.swift
      +++ A.swift
      @@ -2,1 +2,4 @@
      -@objc(A) class A: NSManagedObject {
      +#if canImport(ObjectiveC)
      +@objc(A)
      +#endif
      +class A: NSManagedObject {
      @@ -3,1 +6,1 @@
      -  let key = #keyPath(A.b)
      +  let key = "b"

      """)
    XCTAssertEqual(SourcePort("class A {}\n").difference(path: "A.swift"), "")
  }

  func testWhatNoRuleChangesIsRemarkedOn() {
    let port = SourcePort(
      """
      import UIKit
      #if canImport(SwiftUI)
      import SwiftUI
      #endif
      @objc protocol Told {
        @objc optional func tell()
      }
      let action = #selector(Told.tell), path = #keyPath(Book)
      // import AppKit and #selector(x) in a comment
      """)
    XCTAssertEqual(port.remarks.map(\.line), [1, 6, 8, 8])
    XCTAssertTrue(port.remarks[0].text.hasPrefix("import UIKit: the module is not there on Linux"))
    XCTAssertTrue(port.remarks[1].text.hasPrefix("optional requirements"))
  }

  func testASourceThatDoesNotCompileIsLeftWhole() {
    for text in [
      "@objc(", "@", "#keyPath(", "#keyPath", "override init(entity", "override init(entity: A, insertInto b: B) {", "@objc", "init",
    ] {
      let port = SourcePort(text)
      XCTAssertTrue(port.result.contains(text.prefix(4)), text)
      _ = port.difference(path: "x")
    }
  }
}
