import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization
import XCTest

/// Transformable and Codable values: changes in place, errors without data loss, and lazy decoding (M10, M28).
final class TransformableTests: XCTestCase {
  /// A value of a reference type.
  final class Notes: Codable, Sendable {
    let lines: Mutex<[String]>
    init(_ lines: [String]) { self.lines = Mutex(lines) }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
    init(from decoder: any Decoder) throws { lines = Mutex(try [String](from: decoder)) }
    func encode(to encoder: any Encoder) throws { try all.encode(to: encoder) }
  }

  /// Encodes lines as text.
  struct NotesTransformer: AttributeTransformer {
    struct Damaged: Error {}
    func data(from value: Notes) throws -> Data { Data(value.all.joined(separator: "\n").utf8) }
    func value(from data: Data) throws -> Notes {
      guard let text = String(data: data, encoding: .utf8) else { throw Damaged() }
      return Notes(text.split(separator: "\n").map(String.init))
    }
  }

  enum Shape: Codable, Equatable, Sendable {
    case point
    case circle(radius: Double)
    indirect case group([Shape])
  }

  private let model = ManagedObjectModel {
    Entity("Page") {
      Attribute("title", .string)
      Attribute("notes", transforming: Notes.self)
      Attribute("named", transforming: Notes.self, by: "TransformableTests.Notes")
      Attribute("shape", transforming: Shape.self)
      Attribute("any", .transformable)
    }
  }

  override func setUp() { AttributeTransformers.register(NotesTransformer(), forName: "TransformableTests.Notes") }

  private func onPages(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses(), body)
  }

  private func notes(_ page: ManagedObject, _ key: String = "notes") throws -> Notes {
    try XCTUnwrap(page.value(forKey: key, as: Notes.self))
  }

  /// A page with notes, in a context of its own.
  private func page(_ stack: Stack) throws -> (ManagedObjectContext, ManagedObject) {
    let setup = stack.makeContext()
    let page = try setup.make("Page", ["title": "t", "notes": Notes(["a"]), "named": Notes(["n"])])
    try setup.save()
    let context = stack.makeContext()
    return (context, try context.existingObject(with: page.objectID))
  }

  // MARK: In place

  func testAValueChangedInPlaceIsSaved() async throws {
    try await onPages { stack in
      for key in ["notes", "named"] {
        let (context, page) = try page(stack)
        let notes = try notes(page, key)
        XCTAssertFalse(context.hasChanges, "Reading is no change.")
        notes.add("b")
        XCTAssertTrue(context.hasChanges)
        XCTAssertTrue(page.isUpdated)
        XCTAssertEqual(Array(page.changedValues().keys), [key])
        try context.save()
        XCTAssertFalse(context.hasChanges)
        let stored = try stack.makeContext().existingObject(with: page.objectID)
        XCTAssertEqual(try self.notes(stored, key).all.last, "b")
        // And again, through the same instance.
        notes.add("c")
        try context.save()
        stack.forgetRows()
        XCTAssertEqual(try self.notes(try stack.makeContext().existingObject(with: page.objectID), key).all.last, "c")
      }
    }
  }

  func testSaveDetectsInPlaceChanges() async throws {
    try await onPages { stack in
      let (context, page) = try page(stack)
      try notes(page).add("b")
      try context.save()
      XCTAssertEqual(try notes(try stack.makeContext().existingObject(with: page.objectID)).all, ["a", "b"])
    }
  }

  func testObjectReturnsTheSameInstance() async throws {
    try await onPages { stack in
      let (context, page) = try page(stack)
      let notes = try notes(page)
      XCTAssertTrue(try self.notes(page) === notes)
      let named = try XCTUnwrap(page["named"] as? Notes)
      XCTAssertTrue(page["named"] as? Notes === named)
      XCTAssertTrue(try self.notes(page, "named") === named)
      notes.add("b")
      XCTAssertTrue(try self.notes(page) === notes)
      context.processPendingChanges()
      XCTAssertTrue(try self.notes(page) === notes)
      try context.save()
      XCTAssertTrue(try self.notes(page) === notes)
    }
  }

  func testSetValueCanChangeUntilTheSave() async throws {
    try await onPages { stack in
      let context = stack.makeContext()
      let notes = Notes(["a"])
      let page = try context.make("Page", ["notes": notes])
      notes.add("b")
      try context.save()
      XCTAssertEqual(try self.notes(try stack.makeContext().existingObject(with: page.objectID)).all, ["a", "b"])
      let other = Notes(["x"])
      try page.setValue(other, forKey: "notes")
      notes.add("lost")
      try context.save()
      XCTAssertEqual(try self.notes(try stack.makeContext().existingObject(with: page.objectID)).all, ["x"])
      try page.setValue(nil, forKey: "notes")
      other.add("lost")
      try context.save()
      XCTAssertNil(try stack.makeContext().existingObject(with: page.objectID)["notes"])
    }
  }

  func testRollbackAndRefreshDiscardInPlaceChanges() async throws {
    try await onPages { stack in
      let (context, page) = try page(stack)
      var notes = try notes(page)
      notes.add("b")
      context.rollback()
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(try self.notes(page).all, ["a"])
      notes = try self.notes(page)
      notes.add("c")
      context.refresh(page, mergeChanges: false)
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(try self.notes(page).all, ["a"])
      notes = try self.notes(page)
      notes.add("d")
      context.delete(page)
      try context.save()
      notes.add("e")
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testInPlaceChangeOfAnUnreferencedObjectIsSaved() async throws {
    try await onPages { stack in
      let setup = stack.makeContext()
      let ids = try (0..<600).map { index in
        let page = try setup.make("Page", ["title": "\(index)", "notes": Notes(["a"])])
        return page
      }
      try setup.save()
      let context = stack.makeContext()
      // More than can be tracked at a time: unretained values are checked once more and released.
      for page in ids { try notes(try context.existingObject(with: page.objectID)).add("b") }
      try context.save()
      XCTAssertLessThan(context.registeredObjects.count, 600)
      let fresh = stack.makeContext()
      XCTAssertEqual(try ids.filter { try notes(fresh.existingObject(with: $0.objectID)).all == ["a", "b"] }.count, 600)
    }
  }

  func testUnsavedInPlaceChangesOverrideOtherSaves() async throws {
    try await onPages { stack in
      let (context, page) = try page(stack)
      let notes = try notes(page)
      let other = stack.makeContext()
      let same = try other.existingObject(with: page.objectID)
      context.automaticallyMergesChangesFromParent = true
      try same.setValue(Notes(["theirs"]), forKey: "notes")
      try other.save()
      context.processPendingChanges()
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(try self.notes(page).all, ["theirs"])
      try self.notes(page).add("mine")
      try same.setValue("new", forKey: "title")
      try other.save()
      try context.save()
      let stored = try stack.makeContext().existingObject(with: page.objectID)
      XCTAssertEqual(try self.notes(stored).all, ["theirs", "mine"])
      XCTAssertEqual(stored.text("title"), "new")
      XCTAssertEqual(notes.all, ["a"])
    }
  }

  // MARK: Errors

  func testUndecodableBytesArePreserved() async throws {
    try await onPages { stack in
      let context = stack.makeContext()
      let damaged = Data([0xFF, 0xFE, 0x00])
      let page = try context.make("Page", ["title": "t", "notes": damaged])
      try context.save()
      XCTAssertThrowsError(try page.value(forKey: "notes", as: Notes.self)) {
        XCTAssertEqual(($0 as? KeyValueError)?.code, .transformFailed)
        XCTAssertEqual(($0 as? KeyValueError)?.key, "notes")
      }
      XCTAssertNil(page.transformed(1, as: Notes.self))
      XCTAssertEqual((context.pendingError as? KeyValueError)?.code, .transformFailed)
      XCTAssertThrowsError(try context.save(), "The unreadable value is reported.")
      try page.setValue("new", forKey: "title")
      try context.save()
      XCTAssertEqual(try stack.makeContext().existingObject(with: page.objectID)["notes"] as? Data, damaged)
    }
  }

  func testMissingTransformerIsReportedOnAddingAStoreAndOnUse() async throws {
    let model = ManagedObjectModel {
      Entity("Page") { Attribute("colour", transforming: Notes.self, by: "TransformableTests.Nobody") }
      Entity("Other") { Attribute("plain", transforming: Notes.self, by: "NSSecureUnarchiveFromData") }
    }
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    XCTAssertEqual(coordinator.missingTransformers.map(\.transformerName), ["TransformableTests.Nobody"])
    XCTAssertEqual(coordinator.missingTransformers.first?.attributeName, "colour")
    var description = PersistentStoreDescription(type: .inMemory)
    description.requiresTransformers = true
    do {
      try await coordinator.addPersistentStore(with: description)
      XCTFail("The store was opened.")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .invalidRequest)
      XCTAssertEqual(error.propertyName, "colour")
      XCTAssertTrue(error.message.contains("TransformableTests.Nobody"))
    }
    description.requiresTransformers = false
    try await coordinator.addPersistentStore(with: description)
    let context = ManagedObjectContext(coordinator: coordinator)
    let page = try context.make("Page")
    XCTAssertThrowsError(try page.setValue(Notes(["a"]), forKey: "colour")) {
      XCTAssertTrue("\($0)".contains("TransformableTests.Nobody"))
    }
  }

  func testOnlyRequestedValuesAreDecoded() async throws {
    try await onPages { stack in
      let context = stack.makeContext()
      // An archive of Foundation's, and endlessly nested JSON: bytes, not objects.
      let archive = Data("bplist00\u{d4}".utf8) + Data("X$versionY$archiverT$topX$objects".utf8)
      let deep = Data(String(repeating: "[", count: 100_000).utf8)
      for bytes in [archive, deep, Data(), Data("{".utf8), Data("null".utf8)] {
        let page = try context.make("Page", ["any": bytes])
        try context.save()
        XCTAssertEqual(page["any"] as? Data, bytes, "Without a transformer and a type the bytes are given.")
        XCTAssertThrowsError(try page.value(forKey: "any", as: [Shape].self)) {
          XCTAssertEqual(($0 as? KeyValueError)?.code, .transformFailed)
        }
      }
    }
  }

  // MARK: Codable types of other modules

  func testCodableTypesOfAnyOriginArePersisted() async throws {
    try await onPages { stack in
      let context = stack.makeContext()
      func keeps<Value: Codable & Equatable & Sendable>(_ value: Value, line: UInt = #line) throws {
        let page = try context.make("Page")
        try page.setValue(value, forKey: "any")
        try context.save()
        let stored = try stack.makeContext().existingObject(with: page.objectID)
        XCTAssertEqual(try stored.value(forKey: "any", as: Value.self), value, line: line)
      }
      try keeps(Shape.group([.point, .circle(radius: 2.5), .group([])]))
      try keeps(DateComponents(year: 2024, month: 2, day: 29))
      try keeps(1...5)
      try keeps(["a": [1, 2], "b": []])
      try keeps(5)
      try keeps("text")
      try keeps(Double.infinity)
      try keeps([UUID(), UUID()])
      try keeps(Set(["x", "y"]))
      try keeps([Date(timeIntervalSinceReferenceDate: 0.1)])
    }
  }
}
