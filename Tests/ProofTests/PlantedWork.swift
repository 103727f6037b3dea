import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import Synchronization
import XCTest
import _FaultInjection
import _StoreSpecification
import _TestSupport

/// The planted values: 500 values and the 2,000 words of texts, each long enough for every fragment to be detected.
enum Planted {
  private static func words(_ count: Int, seed: UInt64) -> [String] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { _ in random.word(length: 24...30) }
  }
  static let values = words(500, seed: 500)
  static let words = words(2_000, seed: 2_000)

  /// Registers the values, so that no write of this process may contain one, in any letter case.
  static func note() {
    for text in values + words {
      for form in [text, text.uppercased()] {
        let bytes = Array(form.utf8)
        write_watch_note(bytes, bytes.count)
        // Also as UTF-16, which systems write too.
        let wide = Array(bytes.map { [$0, 0] }.joined())
        write_watch_note(wide, wide.count)
      }
    }
  }

  /// Whether `data` contains a planted value.
  static func isIn(_ data: Data) -> Bool { data.withUnsafeBytes { write_watch_finds($0.baseAddress, $0.count) } }
}

/// Performs every operation on a store with planted values, and collects its output.
final class PlantedWork {
  private let folder: URL
  private var url: URL { folder.appendingPathComponent("letters.store") }
  private var key = StoreKey.passphrase(SecretBytes(utf8: Planted.values[0]), .cheapForTests())
  private var open: OpenStore?
  /// The texts of errors and notifications.
  private(set) var texts: [String] = []
  /// The number of errors.
  private(set) var errorCount = 0
  /// The number of files searched.
  private(set) var fileCount = 0

  /// The texts of notifications that contain no objects, whose descriptions include values.
  private final class TextRecorder: Sendable { let texts = Mutex<[String]>([]) }
  private let received = TextRecorder()
  private var observers: [any NSObjectProtocol] = []
  var receivedTexts: [String] { received.texts.withLock { $0 } }

  init(in folder: URL) {
    self.folder = folder
    for name in [ManagedObjectContext.didSaveObjectIDsNotification, .persistentStoreRemoteChange] {
      observers.append(
        NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [received] notification in
          let text = "\(notification.name.rawValue) \(notification.userInfo ?? [:])"
          received.texts.withLock { $0.append(text) }
        })
    }
  }

  deinit { for observer in observers { NotificationCenter.default.removeObserver(observer) } }

  private static func model(_ version: Int) throws -> CompiledModel {
    try CompiledModel(
      ManagedObjectModel(version: "\(version)") {
        Entity("Letter") {
          Attribute("title", .string).required().length(...60)
          Attribute("body", .string)
          Attribute("place", .uri)
          Attribute("data", .binary)
          Attribute("picture", .binary).externalStorage()
          Attribute("year", .integer64)
          if version == 2 { Attribute("note", .string).initially("nothing") }
          Relationship("writer", to: "Person", inverse: "letters")
          Index("words", fullText: "body")
          Index("byTitle", on: "title")
          Unique("title")
        }
        Entity("Person") {
          Attribute("name", .string).required().preservedOnDeletion()
          Relationship("letters", toMany: "Letter", inverse: "writer")
        }
      })
  }

  private func openStore(_ version: Int = 1) throws -> OpenStore {
    var description = PersistentStoreDescription(url: url, key: key)
    description.externalStorageThreshold = 3_000
    (description.historyTracking, description.historyLevel) = (true, .values)
    description.postsRemoteChangeNotifications = true
    description.cacheSize = 64 << 10
    let store = try OpenStore(description, model: Self.model(version))
    open = store
    return store
  }

  private func closeStore() throws {
    try open?.close()
    open = nil
  }

  /// Records all texts of an error.
  private func failing(_ what: String, _ body: () throws -> Void) {
    do {
      try body()
      XCTFail("\(what) should fail")
    } catch {
      errorCount += 1
      texts += ["\(error)", String(reflecting: error), error.localizedDescription, "\(error as NSError)"]
      if let error = error as? any LocalizedError {
        texts += [error.errorDescription, error.failureReason, error.recoverySuggestion, error.helpAnchor].compactMap { $0 }
      }
    }
  }

  /// Searches the names and contents of all files in a folder.
  func search(_ folder: URL, _ moment: String) throws {
    for case let file as URL in try XCTUnwrap(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)) {
      XCTAssertFalse(Planted.isIn(Data(file.lastPathComponent.utf8)), "\(moment): a name has it")
      guard let data = try? Data(contentsOf: file) else { continue }
      fileCount += 1
      XCTAssertFalse(Planted.isIn(data), "\(moment): \(file.path) has it")
    }
  }

  private func letters(_ predicate: FetchPredicate? = nil) -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: "Letter", predicate: predicate, sortDescriptors: [FetchSortDescriptor("title")])
  }

  // MARK: The steps

  /// Saves letters that contain every value and every word.
  func write() throws {
    let context = try openStore().newContext()
    (context.transactionAuthor, context.name) = (Planted.values[1], Planted.values[2])
    for number in 0..<125 {
      let values = Planted.values[(number * 4)..<(number * 4 + 4)].map { $0 }
      let words = Planted.words[(number * 16)..<(number * 16 + 16)]
      let writer = try context.insert("Person", ["name": values[0]])
      let picture = Data(String(repeating: values[3] + " ", count: number % 5 == 0 ? 300 : 2).utf8)
      try context.insert(
        "Letter",
        [
          "title": values[1], "body": words.joined(separator: " "), "place": URL(string: "https://example.org/" + values[2]),
          "data": Data(values[3].utf8), "picture": picture, "year": Int64(number), "writer": writer,
        ])
      if number % 25 == 24 { try context.save() }
    }
    try context.save()
    try search(folder, "written")
  }

  /// Runs every kind of request that takes values.
  func ask() throws {
    let context = try XCTUnwrap(open).newContext()
    let (value, word) = (Planted.values[5], Planted.words[20])
    let predicates: [FetchPredicate] = try [
      FetchPredicate(format: "title == %@", value), FetchPredicate(format: "title CONTAINS[cd] %@", value),
      FetchPredicate(format: "title LIKE[c] %@", value + "*"), FetchPredicate(format: "title MATCHES %@", value),
      FetchPredicate(format: "body SEARCH %@", word), FetchPredicate(format: "title IN %@", Planted.values),
      FetchPredicate(format: "writer.name > %@ OR place == %@", value, XCTUnwrap(URL(string: "https://example.org/" + value))),
      FetchPredicate(format: "data == %@", Data(value.utf8)), FetchPredicate(format: "uppercase:(title) == %@", value.uppercased()),
    ]
    var found = 0
    for predicate in predicates { found += try context.fetch(letters(predicate)).count }
    XCTAssertGreaterThan(found, 100)
    for letter in try context.fetch(letters()) {
      XCTAssertGreaterThan(try letter.externalData(forKey: "picture")?.data().count ?? 0, 40)
    }
  }

  /// Changes the letters by saves, undo and batch requests.
  func change() throws {
    let store = try XCTUnwrap(open)
    let context = store.newContext()
    context.undoManager = ContextUndoManager()
    for (number, letter) in try context.fetch(letters()).enumerated() {
      try letter.setValue(Planted.words[number], forKey: "title")
      if number % 10 == 0 { context.delete(letter) }
    }
    try context.save()
    try context.undoManager?.undo()
    try context.save()
    try context.execute(
      BatchInsertRequest(entityName: "Letter", objects: (0..<50).map { ["title": Planted.words[1_000 + $0], "body": Planted.values[$0]] }))
    try context.execute(
      BatchUpdateRequest(
        entityName: "Letter", predicate: .compare("year", .less, 20),
        propertiesToUpdate: ["body": Planted.words[7], "data": Data(Planted.values[8].utf8)]))
    try context.execute(BatchDeleteRequest(entityName: "Letter", predicate: .compare("title", .beginsWith, Planted.words[1_010])))
    let history = try context.execute(.fetchHistory(after: nil))
    XCTAssertGreaterThan(history.transactions.count, 5)
    try search(folder, "changed")
  }

  /// Causes the errors that concern values.
  func fail() throws {
    let store = try XCTUnwrap(open)
    let value = Planted.values[9]
    let one = try XCTUnwrap(store.newContext().fetch(letters().limit(1)).first?.objectID)
    failing("a title that is there already") {
      let context = store.newContext()
      let titles = try context.fetch(letters().limit(2)).compactMap { $0.text("title") }
      for title in titles { try context.insert("Letter", ["title": title]) }
      try context.save()
    }
    failing("a title that is too long") {
      let context = store.newContext()
      try context.insert("Letter", ["title": value + value + value])
      try context.save()
    }
    failing("a writer without a name") {
      let context = store.newContext()
      try context.insert("Letter", ["title": value, "writer": try context.insert("Person")])
      try context.save()
    }
    failing("a letter that another context has changed") {
      let (first, second) = (store.newContext(), store.newContext())
      let letters = try [first, second].map { try $0.existingObject(with: one) }
      try letters[0].setValue(Planted.values[10], forKey: "title")
      try letters[1].setValue(Planted.values[11], forKey: "title")
      try first.save()
      try second.save()
    }
    failing("a text for a number") {
      _ = try store.newContext().fetch(letters(.compare("year", .equal, value)))
    }
    failing("a value of another type") {
      try store.newContext().insert("Letter", ["year": value])
    }
    failing("an invalid pattern") { _ = try store.newContext().fetch(letters(.compare("title", .matches, "(" + value))) }
    failing("a batch of values that are there already") {
      let titles = try store.newContext().fetch(letters().limit(2)).compactMap { $0.text("title") }
      try store.newContext().execute(BatchInsertRequest(entityName: "Letter", objects: titles.map { ["title": $0] }))
    }
  }

  /// Performs the operations on the store's file, including failing ones.
  func keep() throws {
    try closeStore()
    let (url, other) = (url, folder.appendingPathComponent("copy.store"))
    failing("another passphrase") {
      let wrong = StoreKey.passphrase(SecretBytes(utf8: Planted.values[12]), .cheapForTests())
      _ = try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: wrong) }
    }
    let (old, new) = (key, StoreKey.passphrase(SecretBytes(utf8: Planted.values[13]), .cheapForTests()))
    try waitFor {
      let file = try await SQLCipherStoreFile.unlock(at: url, key: old)
      try await file.backUp(to: other)
      try await file.changeKey(from: old, to: new)
      try await file.rotateDataKey()
      _ = try await file.compact(updatesStatistics: true)
      try await file.updateStatistics()
      _ = try await file.addKey(new, label: "another")
    }
    key = new
    try search(folder, "kept")
    let store = try openStore(2)
    XCTAssertEqual(try store.newContext().fetch(letters(.compare("note", .equal, "nothing"))).count, try store.count("Letter"))
    _ = try store.coordinator.execute(.deleteHistory(before: nil))
    try closeStore()
    let findings = try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: new).verify(.full) }
    texts += findings.map { "\($0)" }
    try search(folder, "migrated")
  }

  /// Reads a store with damaged pages.
  func damage() throws {
    let handle = try FileHandle(forUpdating: url)
    let size = try handle.seekToEnd()
    for offset in stride(from: UInt64(3 * 4_096 + 100), to: size, by: 2 * 4_096) {
      try handle.seek(toOffset: offset)
      try handle.write(contentsOf: Data([1, 2, 3, 4]))
    }
    try handle.close()
    failing("a damaged store") {
      let store = try openStore(2)
      for letter in try store.newContext().fetch(letters()) { _ = letter.text("body") }
    }
    let (url, key) = (url, key)
    let findings = try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key).verify(.full) }
    XCTAssertGreaterThan(findings.count, 3)
    texts += findings.map { "\($0)" }
    try? closeStore()
    try search(folder, "damaged")
  }
}
