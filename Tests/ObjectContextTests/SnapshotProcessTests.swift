import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _TestSupport

/// A snapshot that one process has written is read, changed and applied by another.
final class SnapshotProcessTests: XCTestCase {
  private var isPart: Bool { ProcessInfo.processInfo.environment[DocumentPart.role] != nil }

  private func open(_ url: URL) async throws -> PersistentContainer {
    var description = PersistentStoreDescription(url: url, key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    let container = try PersistentContainer(
      name: "Library", managedObjectModel: Library.model, classes: Library.classes, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  func testASnapshotOfOneProcessIsAppliedByAnother() async throws {
    if isPart { return }
    let folder = try TemporaryFolder()
    let (store, file) = (folder.file("test.store"), folder.file("snapshot.json"))
    let container = try await open(store)
    let context = container.newBackgroundContext()
    let (red, blue) = (try context.make("Tag", ["name": "red"]), try context.make("Tag", ["name": "blue"]))
    let author = try context.make("Author", ["name": "James"])
    let book = try context.make("Book", ["title": "old", "pages": 1 as Int32, "tags": Set([red])])
    try context.save()
    // One process takes and changes it.
    await (try DocumentPart("take", [store.path, file.path], of: "SnapshotProcessTests")).finish()
    let text = try String(contentsOf: file, encoding: .utf8)
    XCTAssertTrue(text.contains("new"), "what was set is in it: \(text)")
    // Changes by others in the meantime are kept.
    try book.setValue(2 as Int32, forKey: "pages")
    try context.save()
    // Another process, which never had the object in memory, applies it.
    await (try DocumentPart("apply", [store.path, file.path], of: "SnapshotProcessTests")).finish()
    let reader = container.newBackgroundContext()
    reader.stalenessInterval = 0
    let found = try XCTUnwrap(reader.existingObject(with: book.objectID))
    reader.refresh(found, mergeChanges: false)
    XCTAssertEqual(try found.value(forKey: "title") as? String, "new")
    XCTAssertEqual(try found.value(forKey: "pages") as? Int32, 2)
    XCTAssertEqual((try found.value(forKey: "author") as? ManagedObject)?.objectID, author.objectID)
    XCTAssertEqual((try found.value(forKey: "tags") as? Set<ManagedObject>)?.map(\.objectID), [blue.objectID])
    // It can be read here too, although the object has changed since.
    let snapshot = try JSONDecoder().decode(ObjectSnapshot.self, from: Data(contentsOf: file))
    XCTAssertEqual(snapshot.objectID, book.objectID)
    XCTAssertEqual(Set(snapshot.changedKeys), ["author", "tags", "title"])
    try container.close()
  }

  /// Runs the part of a child process that another test has started.
  func testProcessEntryPoint() async throws {
    guard let role = ProcessInfo.processInfo.environment[DocumentPart.role] else { return }
    let arguments = ProcessInfo.processInfo.environment[DocumentPart.arguments]?.components(separatedBy: "\n") ?? []
    let container = try await open(URL(fileURLWithPath: arguments[0]))
    let (context, file) = (container.newBackgroundContext(), URL(fileURLWithPath: arguments[1]))
    switch role {
    case "take":
      let book = try XCTUnwrap(context.objects("Book").first)
      var snapshot = try book.snapshot(including: ["tags"])
      try snapshot.setValue("new", forKey: "title")
      try snapshot.setValue(try XCTUnwrap(context.objects("Author").first).objectID, forKey: "author")
      let blue = try XCTUnwrap(context.objects("Tag", where: "name == 'blue'").first)
      try snapshot.setValue([blue.objectID], forKey: "tags")
      try JSONEncoder().encode(snapshot).write(to: file)
    case "apply":
      let snapshot = try JSONDecoder().decode(ObjectSnapshot.self, from: Data(contentsOf: file))
      XCTAssertTrue(context.registeredObjects.isEmpty)
      try context.apply(snapshot)
      try context.save()
    default: XCTFail("There is no part \(role).")
    }
    try container.close()
  }
}
