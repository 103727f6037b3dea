import CipherData
import CipherDataSync
import Foundation
import Synchronization
import XCTest
import _TestSupport

/// Handlers of imports, which change what other devices have sent before it is visible.
final class CloudImportHandlerTests: CloudTestCase {
  private static let tagged = ManagedObjectModel {
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("notes", toMany: "Note", inverse: "tags")
      Relationship("mainNotes", toMany: "Note", inverse: "mainTag")
    }
    Entity("Note") {
      Attribute("text", .string)
      Relationship("tags", toMany: "Tag", inverse: "notes")
      Relationship("mainTag", to: "Tag", inverse: "mainNotes")
    }
  }

  private struct Refusal: Error {}

  /// Makes one tag of all with the same name: the one with the least stable ID.
  private static let mergesTags: CloudImportHandler = { context, changes in
    for id in changes.inserted where id.entityName == "Tag" {
      let tag = context.object(with: id)
      guard !tag.isDeleted, let name = try tag.value(forKey: "name") as? String else { continue }
      var request = FetchRequest<ManagedObject>(entityName: "Tag")
      request.predicate = .compare("name", .equal, name)
      let same = try context.fetch(request).map { (id: try $0.stableID?.uuidString ?? "", tag: $0) }.sorted { $0.id < $1.id }
      guard let kept = same.first?.tag else { continue }
      for (_, other) in same.dropFirst() {
        for (tags, notes) in [("tags", "notes"), ("mainTag", "mainNotes")] {
          guard let tagged = try other.value(forKey: notes) as? Set<ManagedObject> else { continue }
          for note in tagged {
            if tags == "mainTag" {
              try note.setValue(kept, forKey: tags)
            } else {
              let all = try note.value(forKey: tags) as? Set<ManagedObject> ?? []
              try note.setValue(all.subtracting([other]).union([kept]), forKey: tags)
            }
          }
        }
        context.delete(other)
      }
    }
  }

  private func device(_ name: String, _ handler: CloudImportHandler? = nil) async throws -> PersistentCloudContainer {
    let container = try PersistentCloudContainer(
      name: "Notes", managedObjectModel: Self.tagged, persistentStoreDescriptions: [try description(name)])
    container.importHandler = handler
    try await container.loadPersistentStores()
    return container
  }

  private static func addNote(_ text: String, tag: String, to container: PersistentContainer) async throws {
    try await container.performBackgroundTask { context in
      let new = try context.insertObject(entityName: "Tag")
      try new.setValue(tag, forKey: "name")
      let note = try context.insertObject(entityName: "Note")
      try note.setValue(text, forKey: "text")
      try note.setValue(Set([new]), forKey: "tags")
      try note.setValue(new, forKey: "mainTag")
      try context.save()
    }
  }

  /// The notes of a device with their tags, and the names of all tags.
  private func contents(_ container: PersistentContainer) async throws -> [String] {
    try await container.performBackgroundTask { context in
      let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).map { note in
        let tags = try (note.value(forKey: "tags") as? Set<ManagedObject> ?? []).map { try $0.stableID?.uuidString ?? "" }.sorted()
        let main = try (note.value(forKey: "mainTag") as? ManagedObject)?.stableID?.uuidString ?? ""
        return "\(try note.value(forKey: "text") ?? ""): \(tags.joined(separator: ",")) \(main)"
      }
      let tags = try context.fetch(FetchRequest<ManagedObject>(entityName: "Tag")).map {
        "\(try $0.value(forKey: "name") ?? "") \(try $0.stableID?.uuidString ?? "")"
      }
      return (notes + tags).sorted()
    }
  }

  func testTheSameTagOfTwoDevicesBecomesOneWithItsNotes() async throws {
    let one = try await device("one", Self.mergesTags)
    let key = try await one.createAccount()
    try await Self.addNote("first", tag: "red", to: one)
    try await one.waitUntilSynced()
    let other = try await device("other", Self.mergesTags)
    try await Self.addNote("second", tag: "red", to: other)
    try await other.joinAccount(recoveryKey: key)
    for _ in 0..<2 { for container in [other, one] { try await container.synchronize() } }
    let contents = try await contents(one)
    let same = try await self.contents(other)
    XCTAssertEqual(contents, same)
    XCTAssertEqual(contents.count, 3, "\(contents)")
    let id = try XCTUnwrap(contents.first { $0.hasPrefix("red") }).dropFirst(4)
    XCTAssertEqual(contents.filter { $0.hasSuffix(": \(id) \(id)") }.count, 2, "\(contents)")

    // At the same time on both, while they do not see each other.
    for container in [one, other] { try container.close() }
    try moveHub(to: "away")
    for name in ["one", "other"] {
      let away = try await device(name, Self.mergesTags)
      for tag in ["blue", "green"] { try await Self.addNote("\(tag) of \(name)", tag: tag, to: away) }
      try away.close()
    }
    try moveHub(from: "away", to: "hub.store")
    let (first, second) = (try await device("one", Self.mergesTags), try await device("other", Self.mergesTags))
    for _ in 0..<3 { for container in [first, second] { try await container.synchronize() } }
    let all = try await self.contents(first)
    let others = try await self.contents(second)
    XCTAssertEqual(all, others)
    XCTAssertEqual(all.count, 6 + 3, "\(all)")
    for container in [first, second] {
      let isEqual = try await container.verifyState()
      XCTAssertTrue(isEqual)
      try container.close()
    }
  }

  func testTheImportAndTheChangesOfTheHandlerAreOneChangeSetAndTwoTransactions() async throws {
    let one = try await device("one")
    let key = try await one.createAccount()
    try await Self.addNote("kept", tag: "unwanted", to: one)
    try await one.waitUntilSynced()
    let received = Mutex<[CloudImport]>([])
    let other = try await device("other") { context, changes in
      received.withLock { $0.append(changes) }
      for id in changes.inserted where id.entityName == "Tag" { context.delete(context.object(with: id)) }
    }
    let sets = Mutex<[ChangeSet]>([])
    let changes = other.persistentStoreCoordinator.changes()
    let listening = Task { for await change in changes { sets.withLock { $0.append(change) } } }
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    try await other.waitUntilSynced()
    let tags = try await count("Tag", in: other)
    XCTAssertEqual(tags, 0)
    XCTAssertEqual(received.withLock { $0.first?.inserted.count }, 2)
    XCTAssertEqual(received.withLock { $0.first?.deleted }, [])
    for _ in 0..<100 where sets.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(50)) }
    try other.close()
    listening.cancel()
    let published = sets.withLock { $0 }.filter { !$0.isEmpty }
    XCTAssertEqual(published.first?.inserted.map(\.entityName), ["Note"], "\(published)")
    XCTAssertEqual(published.first?.deleted.map(\.entityName), ["Tag"])

    // The deletion reaches the device that has made the tag.
    try await one.synchronize()
    let contents = try await contents(one)
    XCTAssertEqual(contents, ["kept:  "])
    try one.close()
  }

  func testContextsWithLoadedMembersMergeTheImportAndTheChangesOfTheHandler() async throws {
    let one = try await device("one")
    let key = try await one.createAccount()
    try await Self.addNote("first", tag: "red", to: one)
    try await one.waitUntilSynced()
    let other = try await device("other", Self.mergesTags)
    try await Self.addNote("second", tag: "red", to: other)
    let notes = try await other.performBackgroundTask { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).map(\.objectID)
    }
    let merged = Mutex<[[String]]>([])
    let context = ContextActor(container: other)
    try await context.perform { context in
      context.automaticallyMergesChangesFromParent = true
      let note = context.object(with: notes[0])
      XCTAssertEqual((try note.value(forKey: "tags") as? Set<ManagedObject>)?.count, 1)
      let tag = try XCTUnwrap(try note.value(forKey: "mainTag") as? ManagedObject)
      XCTAssertEqual((try tag.value(forKey: "mainNotes") as? Set<ManagedObject>)?.count, 1)
      context.userInfo["loaded"] = [note, tag]
    }
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    try await context.perform { context in
      context.processPendingChanges()
      let note = context.object(with: notes[0])
      let tags = try XCTUnwrap(try note.value(forKey: "tags") as? Set<ManagedObject>)
      let main = try XCTUnwrap(try note.value(forKey: "mainTag") as? ManagedObject)
      XCTAssertEqual(tags, [main])
      for members in ["notes", "mainNotes"] {
        let texts = try (main.value(forKey: members) as? Set<ManagedObject> ?? []).compactMap { try $0.value(forKey: "text") as? String }
        merged.withLock { $0.append(texts.sorted()) }
      }
    }
    XCTAssertEqual(merged.withLock { $0 }, [["first", "second"], ["first", "second"]])
    for container in [one, other] { try container.close() }
  }

  func testAnImportWhoseHandlerThrowsIsInvisibleAndRepeated() async throws {
    let one = try await device("one")
    let key = try await one.createAccount()
    try await Self.addNote("first", tag: "red", to: one)
    try await one.waitUntilSynced()
    let refuses = Mutex(true)
    let other = try await device("other") { context, changes in
      for id in changes.inserted where id.entityName == "Note" { try context.object(with: id).setValue("handled", forKey: "text") }
      // What was saved is undone too.
      try context.save()
      if refuses.withLock({ $0 }) { throw Refusal() }
    }
    try await Self.addNote("local", tag: "blue", to: other)
    try await other.joinAccount(recoveryKey: key)
    do {
      try await other.synchronize()
      XCTFail("The handler throws.")
    } catch let error as SyncError {
      XCTAssertEqual(error.code, .importHandlerFailed)
      XCTAssertTrue(error.underlying is Refusal, "\(error)")
    }
    var notes = try await contents(other)
    XCTAssertEqual(notes.count, 2, "\(notes)")
    let failed = try await other.performBackgroundTask { context in
      try context.execute(.fetchEvents(after: nil)).events.compactMap { ($0.error as? SyncError)?.code }
    }
    XCTAssertEqual(failed.last, .importHandlerFailed)
    let status = try await other.status()
    XCTAssertTrue(status.lastError?.contains("handler of imports has failed") ?? false, "\(status)")
    XCTAssertGreaterThan(status.pendingCount, 0)

    refuses.withLock { $0 = false }
    try await other.synchronize()
    notes = try await contents(other)
    XCTAssertEqual(notes.count, 4, "\(notes)")
    XCTAssertTrue(notes.contains { $0.hasPrefix("handled") })
    try await other.waitUntilSynced()
    try await one.synchronize()
    let same = try await contents(one)
    XCTAssertEqual(same, notes)
    for container in [one, other] { try container.close() }
  }

  /// A copy of the files is what a process finds that continues after a crash.
  func testACrashAfterTheSaveOfTheHandlerLeavesNeitherTheImportNorTheSave() async throws {
    let one = try await device("one")
    let key = try await one.createAccount()
    try await Self.addNote("first", tag: "red", to: one)
    try await one.waitUntilSynced()
    let (files, url) = (try XCTUnwrap(folder).url, try file("other.store"))
    let copied = Mutex(false)
    let other = try await device("other") { context, changes in
      for id in changes.inserted where id.entityName == "Note" { try context.object(with: id).setValue("handled", forKey: "text") }
      try context.save()
      if copied.withLock({ $0 }) { return }
      copied.withLock { $0 = true }
      for name in try FileManager.default.contentsOfDirectory(atPath: files.path) where name.hasPrefix("other.store") {
        let target = files.appendingPathComponent(name.replacingOccurrences(of: "other", with: "crashed"))
        if !name.hasSuffix("-sync"), !name.hasSuffix("-shm") {
          try FileManager.default.copyItem(at: url.deletingLastPathComponent().appendingPathComponent(name), to: target)
        }
      }
    }
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    var contents = try await contents(other)
    XCTAssertTrue(contents.contains { $0.hasPrefix("handled") }, "\(contents)")
    try other.close()
    let crashed = try PersistentContainer(
      name: "Notes", managedObjectModel: Self.tagged, persistentStoreDescriptions: [try description("crashed", hub: nil)])
    try await crashed.loadPersistentStores()
    contents = try await self.contents(crashed)
    XCTAssertEqual(contents, [])
    try crashed.close()
    try one.close()
  }
}
