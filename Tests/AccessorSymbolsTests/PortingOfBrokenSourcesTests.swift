import AccessorSymbols
import XCTest

/// Porting tolerates sources that do not compile: code that no rule matches stays the same.
final class PortingOfBrokenSourcesTests: XCTestCase {
  func testBrokenSourcesDoNotTrap() {
    let whole = """
      import Foundation.NSPredicate
      import UIKit
      @objc(Book) @objcMembers private class Book: NSManagedObject {
        @NSManaged @objc var title: String?
        override private init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) { super.init(entity: entity, insertInto: context) }
        func begin() { class Inner: NSManagedObject { @NSManaged var a: Int } ; center.addObserver(self, selector: #selector(saved(_:)), name: nil, object: nil) }
        @objc func saved(_ note: NSNotification) { use(#keyPath(Book.title), "\\(#keyPath(Book.title)) \\("a")", request as! NSFetchRequest<Book>) }
        var all: NSFetchRequest<Book> { Book.fetchRequest() as! NSFetchRequest<Book> }
      }
      extension NSObject { var name: Foundation.NSPredicate { self.name } }
      """
    let pieces = [
      "{", "}", "(", ")", "\"", "\\(", "@objc ", "as! NSFetchRequest<", "#if x\n", "#endif\n", "\n", "<", ">", "class ",
      "extension NSObject {",
    ]
    var state: UInt64 = 17
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % max(1, bound)
    }
    for _ in 0..<1_500 {
      var text = Array(whole)
      for _ in 0...next(6) {
        let place = next(text.count)
        if next(2) == 0 {
          text.removeSubrange(place..<min(text.count, place + next(40)))
        } else {
          text.insert(contentsOf: pieces[next(pieces.count)], at: place)
        }
      }
      let port = SourcePort(String(text))
      XCTAssertEqual(port.isChanged, port.result != String(text))
      XCTAssertEqual(port.isChanged, !port.difference(path: "A.swift").isEmpty)
    }
  }

  func testSourcesThatDoNotCompileKeepTheirText() {
    for text in [
      "@objc(", "@", "#keyPath(", "#keyPath", "override init(entity", "override init(entity: A, insertInto b: B) {", "@objc", "init",
    ] {
      let port = SourcePort(text)
      XCTAssertTrue(port.result.contains(text.prefix(4)), text)
      _ = port.difference(path: "x")
    }
  }
}
