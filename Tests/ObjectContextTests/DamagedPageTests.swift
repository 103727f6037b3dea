import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

/// Contexts on a store with a page that was zeroed, truncated, swapped or taken from another store: an error, or the correct result.
final class DamagedPageTests: XCTestCase {
  private static let pageSize = 4096

  /// To-one, to-many, ordered and many-to-many relationships, values on overflow pages, a full-text index.
  private static let model = ManagedObjectModel(version: "letters") {
    Entity("Letter") {
      Attribute("name", .string).required()
      Attribute("body", .binary)
      Relationship("sender", to: "Person", inverse: "letters")
      Relationship("labels", toMany: "Label", inverse: "letters")
      Relationship("copies", toMany: "Person", inverse: "received").ordered()
      Index("words", fullText: "name")
    }
    Entity("Person") {
      Attribute("name", .string).required()
      Attribute("notes", .string)
      Relationship("letters", toMany: "Letter", inverse: "sender")
      Relationship("received", toMany: "Letter", inverse: "copies")
    }
    Entity("Label") {
      Attribute("name", .string).required()
      Relationship("letters", toMany: "Letter", inverse: "labels")
      Index("byName", on: "name")
    }
  }

  /// Makes a store with contents that depend on `seed`.
  private func makeStore(_ description: PersistentStoreDescription, seed: Int) async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.model)
    let store = try await coordinator.addPersistentStore(with: description)
    let context = ManagedObjectContext(coordinator: coordinator, classes: ManagedObjectClasses([:]))
    let labels = try (0..<30).map { try context.make("Label", ["name": "label \($0 * seed % 97)"]) }
    let people = try (0..<40).map {
      try context.make("Person", ["name": "person \($0 + seed)", "notes": String(repeating: "note \($0) ", count: $0 % 8 == 0 ? 900 : 9)])
    }
    for index in 0..<32 {
      let letter = try context.make("Letter", ["name": "letter \(index) of word\(index * seed % 13)", "sender": people[index % 40]])
      try letter.setValue(Data((0..<(index % 9 * 5_000)).map { UInt8(truncatingIfNeeded: $0 &* seed) | 1 }), forKey: "body")
      try letter.setValue(Set((0..<4).map { labels[(index * 7 + $0 * 3) % 30] }), forKey: "labels")
      try letter.setValue((0..<3).map { people[(index * 11 + $0) % 40] }, forKey: "copies")
    }
    try context.save()
    // Pages that become unused.
    for label in labels { try label.setValue(String(repeating: "x", count: 3_000), forKey: "name") }
    try context.save()
    for (index, label) in labels.enumerated() { try label.setValue("label \(index)", forKey: "name") }
    try context.save()
    try coordinator.remove(store)
  }

  private struct Contents: Equatable {
    let lines: [String]
    let bodies: [Data?]
  }

  /// Returns the contents of the store; nil if an error reports damage.
  private func contents(_ description: PersistentStoreDescription) async throws -> Contents? {
    do {
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.model)
      let store = try await coordinator.addPersistentStore(with: description)
      defer { try? coordinator.remove(store) }
      let context = ManagedObjectContext(coordinator: coordinator, classes: ManagedObjectClasses([:]))
      var lines: [String] = []
      var bodies: [Data?] = []
      for letter in try context.objects("Letter", by: "name") {
        lines.append(letter.text("name") ?? "-")
        lines.append(letter.one("sender")?.text("name") ?? "-")
        bodies.append(letter["body"] as? Data)
        lines.append(letter.sortedNames("labels").joined(separator: ","))
        lines.append(letter.names("copies").joined(separator: ","))
      }
      for person in try context.objects("Person", by: "name") {
        lines.append("\(person.text("notes") ?? "-") \(person.sortedNames("letters"))")
      }
      for format in ["name SEARCH 'word5'", "ANY labels.name == 'label 7'", "sender.name == 'person 12'", "labels.@count > 3"] {
        var request = FetchRequest<ManagedObject>(entityName: "Letter")
        request.predicate = try FetchPredicate(format: format)
        lines.append("\(format): \(try context.count(for: request))")
      }
      if let error = context.pendingError { throw error }
      return Contents(lines: lines, bodies: bodies)
    } catch let error as StoreError {
      XCTAssertTrue([.storeCorrupt, .unreadableStore].contains(error.code), "\(error)")
      return nil
    }
  }

  func testDamagedPagesNeverYieldWrongResults() async throws {
    let folder = try TemporaryFolder()
    let description = PersistentStoreDescription.encrypted(in: folder)
    let foreign = PersistentStoreDescription.encrypted(in: folder, "other.store")
    try await makeStore(description, seed: 1)
    try await makeStore(foreign, seed: 3)
    let url = folder.file("test.store")
    let (good, other) = (try Data(contentsOf: url), try Data(contentsOf: folder.file("other.store")))
    let whole = try await contents(description)
    let expected = try XCTUnwrap(whole)
    let count = good.count / Self.pageSize
    XCTAssertGreaterThan(count, 100)
    var (reported, tried) = (0, 0)
    for page in 0..<count {
      func range(_ page: Int) -> Range<Int> { page * Self.pageSize..<(page + 1) * Self.pageSize }
      var changes: [(String, Data)] = [("cut", good.prefix(max(1, page) * Self.pageSize))]
      for (name, bytes) in [
        ("zeroed", Data(count: Self.pageSize)), ("exchanged", good[range((page + 1) % count)]), ("foreign", other[range(page)]),
      ] {
        var changed = good
        changed.replaceSubrange(range(page), with: bytes)
        changes.append((name, changed))
      }
      for (name, changed) in changes {
        try changed.write(to: url)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: url.path + suffix) }
        tried += 1
        if let found = try await contents(description) {
          XCTAssertEqual(found, expected, "page \(page + 1) \(name)")
        } else {
          reported += 1
        }
        if testRun?.totalFailureCount ?? 0 > 0 { return }
      }
    }
    XCTAssertGreaterThan(Double(reported), 0.7 * Double(tried), "only unused pages are never read")
  }
}
