import CoreData
import Foundation
import XCTest

final class Shelfmark: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let room: Int
  let place: String

  init(room: Int, place: String) { (self.room, self.place) = (room, place) }
  init?(coder: NSCoder) {
    room = coder.decodeInteger(forKey: "room")
    place = (coder.decodeObject(of: NSString.self, forKey: "place")).map { "\($0)" } ?? ""
  }
  func encode(with coder: NSCoder) {
    coder.encode(room, forKey: "room")
    coder.encode(place as NSString, forKey: "place")
  }
}

/// Like the color transformers in guides.
final class ShelfmarkTransformer: NSSecureUnarchiveFromDataTransformer {
  static let name = NSValueTransformerName(rawValue: String(describing: ShelfmarkTransformer.self))
  override static var allowedTopLevelClasses: [AnyClass] { [Shelfmark.self] }
  static func register() { ValueTransformer.setValueTransformer(ShelfmarkTransformer(), forName: name) }
}

/// A transformer of the older kind, whose transformed value is the data.
final class ReversedTransformer: ValueTransformer {
  override class func transformedValueClass() -> AnyClass { NSData.self }
  override class func allowsReverseTransformation() -> Bool { true }
  override func transformedValue(_ value: Any?) -> Any? { (value as? String).map { Data($0.utf8.reversed()) } }
  override func reverseTransformedValue(_ value: Any?) -> Any? { (value as? Data).map { String(decoding: $0.reversed(), as: UTF8.self) } }
}

final class Item: NSManagedObject {
  @NSManaged var mark: Shelfmark?
  @NSManaged var secret: String?
  @NSManaged var tags: [String]?
  @NSManaged var plainMark: Shelfmark?
  @NSManaged var list: NSArray?
}

/// Values of transformable attributes are stored by transformers, by `Codable`, or by archives.
final class TransformerTests: XCTestCase {
  private func withItems(_ body: (NSManagedObjectContext) throws -> Void) throws {
    ShelfmarkTransformer.register()
    ValueTransformer.setValueTransformer(ReversedTransformer(), forName: NSValueTransformerName("Reversed"))
    let entity = NSEntityDescription()
    (entity.name, entity.managedObjectClassName) = ("Item", "Item")
    entity.properties = [
      ("mark", ShelfmarkTransformer.name.rawValue), ("secret", "Reversed"), ("tags", nil),
      ("plainMark", NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue), ("list", nil),
    ].map { name, transformer in
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.valueTransformerName) = (name, .transformableAttributeType, transformer)
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let container = NSPersistentContainer(name: "Items", managedObjectModel: model)
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { XCTAssertNil($1) }
    try body(container.viewContext)
  }

  func testTransformersAreFoundByTheirNames() throws {
    ShelfmarkTransformer.register()
    XCTAssertTrue(ValueTransformer.valueTransformerNames().contains(ShelfmarkTransformer.name))
    let found = try XCTUnwrap(ValueTransformer(forName: ShelfmarkTransformer.name))
    let data = found.reverseTransformedValue(Shelfmark(room: 2, place: "a"))
    XCTAssertEqual((found.transformedValue(data) as? Shelfmark)?.room, 2)
    XCTAssertNil(ValueTransformer(forName: NSValueTransformerName("none")))
  }

  func testValuesAreStoredByTheirTransformers() throws {
    try withItems { context in
      let item = Item(context: context)
      (item.mark, item.secret) = (Shelfmark(room: 3, place: "top"), "abc")
      try context.save()
      context.refreshAllObjects()
      XCTAssertEqual(item.mark?.place, "top")
      XCTAssertEqual(item.mark?.room, 3)
      XCTAssertEqual(item.secret, "abc")
      XCTAssertNil(item.tags)
      XCTAssertNil(context.pendingError)
    }
  }

  func testValuesWithoutACustomTransformerAreStored() throws {
    try withItems { context in
      let item = Item(context: context)
      (item.tags, item.plainMark, item.list) = (["a", "b"], Shelfmark(room: 1, place: "x"), ["c", 4])
      try context.save()
      context.refreshAllObjects()
      XCTAssertEqual(item.tags, ["a", "b"])
      XCTAssertEqual(item.plainMark?.place, "x")
      XCTAssertEqual(item.list, ["c", 4])
      item.tags = nil
      try context.save()
      XCTAssertNil(item.tags)
    }
  }

  func testPredicatesInMemoryCompareTransformedValues() throws {
    try withItems { context in
      let item = Item(context: context)
      let mark = Shelfmark(room: 3, place: "top")
      (item.mark, item.tags, item.secret, item.list) = (mark, ["a", "b"], "abc", ["c", 4])
      for format in [
        "mark.room == 3 AND mark.place == 'top'", "mark != nil AND plainMark == nil", "list CONTAINS 4 AND list[FIRST] == 'c'",
        "tags CONTAINS 'b' AND NOT tags CONTAINS 'c'",
        "ANY tags == 'a' AND tags.@count == 2", "secret BEGINSWITH 'ab'",
      ] {
        XCTAssertTrue(NSPredicate(format: format).evaluate(with: item), format)
        XCTAssertFalse(NSPredicate(format: "NOT (\(format))").evaluate(with: item), format)
      }
      XCTAssertTrue(NSPredicate(format: "tags == %@ AND mark == %@", ["a", "b"], mark).evaluate(with: item))
      XCTAssertFalse(NSPredicate(format: "tags == %@", ["b", "a"]).evaluate(with: item))
      XCTAssertFalse(NSPredicate(format: "mark == %@", Shelfmark(room: 1, place: "x")).evaluate(with: item))
      XCTAssertNil(context.pendingError)
    }
  }

  func testValuesRejectedByATransformerAreThrownByTheNextSave() throws {
    try withItems { context in
      let item = Item(context: context)
      item.setValue(7, forKey: "secret")
      XCTAssertThrowsError(try context.save())
    }
  }
}
