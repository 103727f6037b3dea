import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

/// Rows that are read one at a time share memory without affecting each other.
final class SingleRowTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Note") {
      Attribute("text", .string)
      Attribute("number", .integer64)
      Attribute("image", .binary).externalStorage()
    }
  }

  private func open(_ folder: TemporaryFolder) async throws -> PersistentStoreCoordinator {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription.encrypted(in: folder)
    description.externalStorageThreshold = 1_000
    try await coordinator.addPersistentStore(with: description)
    return coordinator
  }

  private func text(_ number: Int) -> String {
    String(repeating: "\(number % 10)", count: number * 37 % 301 + (number % 50 == 7 ? 6_000 : 0))
  }

  private func image(_ number: Int) -> Data? {
    number % 3 == 0 ? Data(repeating: UInt8(number & 255), count: number % 9 == 0 ? 2_000 : 20) : nil
  }

  func testRowsOfAllSizesReadIndividuallyAreUnchanged() async throws {
    let folder = try TemporaryFolder()
    let coordinator = try await open(folder)
    let writing = ManagedObjectContext(coordinator: coordinator)
    let ids = try {
      let notes = try (0..<300).map { number -> ManagedObject in
        let note = try writing.make("Note", ["text": text(number), "number": Int64(number)])
        if let image = image(number) { try note.setValue(image, forKey: "image") }
        return note
      }
      try writing.save()
      return notes.map(\.objectID)
    }()
    for store in coordinator.persistentStores { store.cache.removeAll() }
    let context = ManagedObjectContext(coordinator: coordinator)
    let read = try ids.reversed().map { try context.existingObject(with: $0) }
    for (position, note) in read.reversed().enumerated() {
      XCTAssertEqual(note.text("text"), text(position))
      XCTAssertEqual(note["number"] as? Int64, Int64(position))
      XCTAssertEqual(note["image"] as? Data, image(position))
    }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  func testRefreshedFaultShowsSavesOfAnotherCoordinator() async throws {
    let folder = try TemporaryFolder()
    let (one, other) = (try await open(folder), try await open(folder))
    let (context, elsewhere) = (ManagedObjectContext(coordinator: one), ManagedObjectContext(coordinator: other))
    let note = try context.make("Note", ["text": "old"])
    let second = try context.make("Note", ["text": "second"])
    try context.save()
    context.refresh(second, mergeChanges: false)
    one.persistentStores[0].cache.removeAll()
    XCTAssertEqual(second.text("text"), "second")
    try elsewhere.existingObject(with: note.objectID).setValue("new", forKey: "text")
    try elsewhere.save()
    // In the snapshot of the previous fault, it would be the old value.
    context.refreshAllObjects()
    XCTAssertEqual(note.text("text"), "new")
    for coordinator in [one, other] { for store in coordinator.persistentStores { try coordinator.remove(store) } }
  }
}
