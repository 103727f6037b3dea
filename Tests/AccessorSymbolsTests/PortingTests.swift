import AccessorSymbols
import Foundation
import XCTest

/// Sources for Core Data are ported so that they compile on Linux, and still compile on Apple's systems.
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

      public override required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
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

  /// A module named CoreData with the initializers of the library's module.
  private static let base = """
    public import Foundation
    public struct ManagedObjectSeed {}
    public class NSEntityDescription {}
    public class NSManagedObjectContext {}
    open class NSManagedObject {
      public required init(_ seed: ManagedObjectSeed) {}
      public required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {}
    }
    """

  func testObjectiveCDeclarationsBecomeConditional() {
    XCTAssertEqual(SourcePort(Self.source).result, Self.ported)
    XCTAssertEqual(SourcePort(Self.source).remarks, [])
  }

  func testPortingIsIdempotent() {
    XCTAssertFalse(SourcePort(Self.ported).isChanged)
    XCTAssertEqual(SourcePort(Self.ported).result, Self.ported)
  }

  func testPortedSourcesCompile() throws {
    try CompiledModules.with { modules in
      _ = try modules.missingSymbols(of: "CoreData", [modules.write(Self.base, as: "CoreData.swift")])
      let before = try modules.write(Self.source, as: "Before.swift")
      XCTAssertThrowsError(try modules.missingSymbols(of: "Library", [before]))
      let after = try modules.write(SourcePort(Self.source).result, as: "Book.swift")
      let missing = try modules.missingSymbols(of: "Library", [after])
      // The scanner finds the declarations inside the conditions.
      let module = ScannedModule(name: "Library", sources: [ScannedSource(Self.ported, file: after.path)])
      let symbols = ManagedAccessors(of: module).accessors.flatMap(\.symbols)
      XCTAssertEqual(symbols.count, 2)
      XCTAssertTrue(missing.isSuperset(of: symbols), "\(missing)")
    }
  }

  func testKeyPathExpressionsBecomeStrings() {
    func check(_ line: String, becomes new: String, at place: UInt = #line) {
      XCTAssertEqual(SourcePort("import CoreData\n\(line)\n").result, "import CoreData\n\(new)\n", line: place)
    }
    check(
      #"NSPredicate(format: "\(#keyPath(Book.title)) == %@ AND \(#keyPath(Book.author.name)) > 1", x)"#,
      becomes: #"NSPredicate(format: "title == %@ AND author.name > 1", x)"#)
    check(#"let a = "\\(#keyPath(Book.title)) \( #keyPath(A.b) + "c" )""#, becomes: #"let a = "\\(#keyPath(Book.title)) \( "b" + "c" )""#)
    check(###"let a = #"\(#keyPath(A.b)) \#(#keyPath(A.b))"#"###, becomes: ###"let a = #"\(#keyPath(A.b)) b"#"###)
    check("let a = \"\"\"\n  \\(#keyPath(A.b))\n  \"\"\"", becomes: "let a = \"\"\"\n  b\n  \"\"\"")
  }

  func testDifferenceCanBeAppliedByPatch() throws {
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

  func testSortDescriptorSelectorsBecomeNames() {
    let port = SourcePort(
      "let s = NSSortDescriptor(key: \"a\", ascending: true, selector: #selector(NSString.localizedStandardCompare(_:)))\n")
    XCTAssertEqual(
      port.result, "let s = NSSortDescriptor(key: \"a\", ascending: true, selector: NSSelectorFromString(\"localizedStandardCompare:\"))\n")
    XCTAssertEqual(port.remarks, [])
  }

  func testObserversBySelectorsGetAClosure() {
    let port = SourcePort(
      """
      import CoreData
      class Stack {
        func begin() {
          NotificationCenter.default.addObserver(self, selector: #selector(Stack.saved(_:)), name: .NSManagedObjectContextDidSave, object: context)
          center
            .addObserver(self, selector: #selector(ended), name: Names.of(1, 2), object: nil)
          observe(center.addObserver(self, selector: #selector(ended), name: nil, object: nil))
        }
        @objc func saved(_ notification: Notification) {}
        @objc func ended() {}
      }

      """)
    XCTAssertEqual(
      port.result,
      """
      import CoreData
      class Stack {
        func begin() {
          #if canImport(ObjectiveC)
          NotificationCenter.default.addObserver(self, selector: #selector(Stack.saved(_:)), name: .NSManagedObjectContextDidSave, object: context)
          #else
          _ = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: context, queue: nil) { [weak self] notification in
            self?.saved(notification)
          }
          #endif
          #if canImport(ObjectiveC)
          center
            .addObserver(self, selector: #selector(ended), name: Names.of(1, 2), object: nil)
          #else
          _ = center
            .addObserver(forName: Names.of(1, 2), object: nil, queue: nil) { [weak self] _ in
            self?.ended()
          }
          #endif
          observe(center.addObserver(self, selector: #selector(ended), name: nil, object: nil))
        }
        #if canImport(ObjectiveC)
        @objc
        #endif
        func saved(_ notification: Notification) {}
        #if canImport(ObjectiveC)
        @objc
        #endif
        func ended() {}
      }

      """)
    XCTAssertEqual(port.remarks.map(\.line), [7])
    XCTAssertFalse(SourcePort(port.result).isChanged)
  }

  func testClosuresPassTheArgumentsOfTheirMethod() {
    let port = SourcePort(
      """
      class Stack {
        func begin() {
          center.addObserver(self, selector: #selector(type(of: self).saved(note:)), name: nil, object: nil)
        }
        @objc func saved(note: NSNotification) {}
      }

      """)
    XCTAssertTrue(port.result.contains("    self?.saved(note: notification as NSNotification)\n"), port.result)
    XCTAssertEqual(port.remarks, [])
  }

  func testAdjacentAttributesShareOneCondition() {
    let port = SourcePort("@objc(Book) @objcMembers\npublic class Book {\n  @objc(a:) @nonobjc @objc var x = 1\n}\n")
    XCTAssertEqual(
      port.result,
      """
      #if canImport(ObjectiveC)
      @objc(Book) @objcMembers
      #endif
      public class Book {
        #if canImport(ObjectiveC)
        @objc(a:)
        #endif
        @nonobjc
        #if canImport(ObjectiveC)
        @objc
        #endif
        var x = 1
      }

      """)
    XCTAssertFalse(port.difference(path: "Book.swift").isEmpty)
  }

  func testSelectorConstantsAreResolvedForTheirObservers() {
    let port = SourcePort(
      """
      class Stack {
        private let saved = #selector(Stack.onSave(_:))
        func begin() {
          center.addObserver(self, selector: saved, name: name, object: nil)
        }
        @objc func onSave(_ notification: Notification) {}
      }

      """)
    XCTAssertTrue(
      port.result.contains("  #if canImport(ObjectiveC)\n  private let saved = #selector(Stack.onSave(_:))\n  #endif\n"), port.result)
    XCTAssertTrue(port.result.contains("    self?.onSave(notification)\n"), port.result)
    XCTAssertEqual(port.remarks, [])
    XCTAssertFalse(SourcePort(port.result).isChanged)
  }

  func testImportsOfAppleModulesBecomeConditional() {
    let port = SourcePort("import UIKit\n@preconcurrency import AVFoundation.AVAsset\nlet flag = description.optional\n\nvar x = 1\n")
    XCTAssertEqual(
      port.result,
      "#if canImport(UIKit)\nimport UIKit\n#endif\n#if canImport(AVFoundation)\n@preconcurrency import AVFoundation.AVAsset\n#endif\nlet flag = description.optional\n\nvar x = 1\n"
    )
    XCTAssertEqual(port.remarks.map(\.line), [1, 2])
  }

  func testMissingImportsAreAdded() {
    XCTAssertEqual(
      SourcePort("import Foundation\n\nextension NSManagedObjectModel {}\n").result,
      "import CoreData\nimport Foundation\n\nextension NSManagedObjectModel {}\n")
    XCTAssertFalse(SourcePort("import Foundation\nlet text = \"NSManagedObject\"\n").isChanged)
  }

  func testUnportableCodeIsReported() {
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

  func testExampleMatchesTheOutputOfTheCommand() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let folder = root.appendingPathComponent("Examples/CoreDataSources")
    let walk = try XCTUnwrap(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
    let sources = walk.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" && !$0.path.contains("/.build/") }
    XCTAssertGreaterThan(sources.count, 8)
    for source in sources {
      let port = SourcePort(try String(contentsOf: source, encoding: .utf8))
      XCTAssertFalse(port.isChanged, source.path)
      XCTAssertEqual(port.remarks, [], source.path)
    }
  }
}
