import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore
@testable import StoreFiles

/// The mark next to a store, by which a file that another program has overwritten in place with an earlier state of itself is recognized.
final class LineageMarkTests: XCTestCase {
  private let key = StoreKey.raw(SecretBytes([UInt8](repeating: 7, count: 32)))

  /// A closed store with stable IDs and one object.
  private func makeStore(_ name: String = "original.store") throws -> (folder: TemporaryFolder, url: URL) {
    let folder = try TemporaryFolder("LineageMark")
    let url = folder.file(name)
    try use(url) { try $0.insert("Tag", ["name": .text("first")]) }
    return (folder, url)
  }

  @discardableResult
  private func use<Result>(_ url: URL, isReadOnly: Bool = false, _ body: (OpenStore) throws -> Result) throws -> Result {
    var description = PersistentStoreDescription(url: url, key: key)
    if isReadOnly { description.isReadOnly = true } else { description.tracksObjectIdentity = true }
    let open = try OpenStore(description, model: SpecificationModels.library)
    defer { XCTAssertNoThrow(try open.close()) }
    return try body(open)
  }

  private func lineage(_ url: URL, isReadOnly: Bool = false) throws -> String? {
    try use(url, isReadOnly: isReadOnly) { $0.persistentStore.metadata.lineageIdentifier }
  }

  private func lineageStore(_ open: OpenStore) throws -> any LineageStore { try XCTUnwrap(open.store as? any LineageStore) }

  /// Records that other devices will know what the store contains.
  private func mark(_ url: URL, publishes: Bool = true) throws {
    try use(url) { open in
      try lineageStore(open).advanceLineageMark()
      if publishes { XCTAssertTrue(try lineageStore(open).publishLineageMark()) }
    }
  }

  private func insert(_ url: URL) throws -> UUID {
    try use(url) { open in
      let context = open.newContext()
      let tag = try context.insert("Tag", ["name": UUID().uuidString])
      try context.save()
      return try XCTUnwrap(context.stableIDs(of: [tag])[0])
    }
  }

  private func markFile(_ url: URL) -> URL { URL(fileURLWithPath: StoreFile.lineageMarkPath(for: url.path)) }

  private func file(_ url: URL) throws -> SQLCipherStoreFile {
    let key = key
    return try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key) }
  }

  private func information(_ url: URL) throws -> StoreFileInformation {
    let file = try file(url)
    return try waitFor { try await file.information() }
  }

  // MARK: Overwriting in place

  func testAnEarlierStateFromBeforeAMarkGetsAnotherLineage() throws {
    for hasEarlierMark in [false, true] {
      let (folder, url) = try makeStore()
      defer { withExtendedLifetime(folder) {} }
      if hasEarlierMark { try mark(url) }
      let before = try XCTUnwrap(lineage(url))
      let older = try Data(contentsOf: url)
      let lost = try insert(url)
      try mark(url)
      XCTAssertEqual(try lineage(url), before)
      try older.overwrite(url)
      // Readers do not know a lineage.
      XCTAssertNil(try information(url).lineageIdentifier)
      XCTAssertNil(try lineage(url, isReadOnly: true))
      let now = try XCTUnwrap(lineage(url))
      XCTAssertNotEqual(now, before)
      XCTAssertEqual(try lineage(url), now, "It is assigned once.")
      XCTAssertEqual(try lineage(url, isReadOnly: true), now)
      XCTAssertEqual(try information(url).lineageIdentifier, now)
      XCTAssertNotEqual(try insert(url), lost)
    }
  }

  func testTheFirstInsertionRecognizesAnEarlierState() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    let older = try Data(contentsOf: url)
    let lost = try insert(url)
    try mark(url)
    try older.overwrite(url)
    XCTAssertNotEqual(try insert(url), lost)
    // In a transaction that is rolled back, and again.
    try older.overwrite(url)
    struct Refusal: Error {}
    try use(url) { open in
      XCTAssertThrowsError(
        try open.persistentStore.performTransaction {
          try open.insert("Tag", ["name": .text("rolled back")])
          throw Refusal()
        })
      let context = open.newContext()
      let tag = try context.insert("Tag", ["name": "another"])
      try context.save()
      XCTAssertNotEqual(try context.stableIDs(of: [tag])[0], lost)
    }
  }

  func testAnEarlierStateThatContainsAllThatIsKnownElsewhereKeepsTheLineage() throws {
    for isMarked in [false, true] {
      let (folder, url) = try makeStore()
      defer { withExtendedLifetime(folder) {} }
      if isMarked { try mark(url) }
      let before = try XCTUnwrap(lineage(url))
      let older = try Data(contentsOf: url)
      _ = try insert(url)
      try older.overwrite(url)
      XCTAssertEqual(try lineage(url), before)
    }
  }

  func testTheSameCopyIsRecognizedAgain() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    try mark(url)
    var lineages: Set<String> = [try XCTUnwrap(lineage(url))]
    var ids: Set<UUID> = []
    let older = try Data(contentsOf: url)
    for isMarkedBetween in [true, true, false, true] {
      if isMarkedBetween { try mark(url) }
      XCTAssertTrue(ids.insert(try insert(url)).inserted)
      if isMarkedBetween { try mark(url) }
      try older.overwrite(url)
      XCTAssertTrue(lineages.insert(try XCTUnwrap(lineage(url))).inserted)
    }
  }

  func testRotationAndCompactionOfAnEarlierStateDoNotKeepItsLineage() throws {
    let preparations: [@Sendable (SQLCipherStoreFile) async throws -> Void] = [
      { _ = try await $0.compact() }, { try await $0.rotateDataKey() },
    ]
    for prepare in preparations {
      let (folder, url) = try makeStore()
      defer { withExtendedLifetime(folder) {} }
      try mark(url)
      let before = try XCTUnwrap(lineage(url))
      let older = try Data(contentsOf: url)
      let kept = try file(url)
      try waitFor { _ = try await kept.compact() }
      XCTAssertEqual(try lineage(url), before, "It contains what the mark requires.")
      try mark(url)
      try older.overwrite(url)
      let file = try file(url)
      try waitFor { try await prepare(file) }
      let now = try XCTUnwrap(information(url).lineageIdentifier)
      XCTAssertNotEqual(now, before)
      XCTAssertEqual(try lineage(url), now)
    }
  }

  // MARK: Crashes and missing files

  func testACrashBetweenTheStoreAndItsMarkChangesNothing() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    let before = try XCTUnwrap(lineage(url))
    for hasFile in [false, true] {
      try mark(url, publishes: false)
      XCTAssertEqual(FileManager.default.fileExists(atPath: markFile(url).path), hasFile)
      XCTAssertEqual(try lineage(url), before)
      // The mark is written later.
      try use(url) { XCTAssertTrue(try lineageStore($0).publishLineageMark()) }
      XCTAssertEqual(try lineage(url), before)
      let number = try XCTUnwrap(LineageMark(nextTo: url.path)?.number)
      XCTAssertEqual(number, hasFile ? 2 : 1)
    }
  }

  /// With the durability `fast`, a power cut can lose commits that were sent.
  func testAMarkThatIsLaterThanTheStoreMeansThatCommitsAreLost() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    try mark(url)
    let before = try XCTUnwrap(lineage(url))
    let known = try XCTUnwrap(LineageMark(nextTo: url.path))
    XCTAssertTrue(LineageMark(series: known.series, number: known.number + 1).write(nextTo: url.path))
    XCTAssertNotEqual(try lineage(url), before)
  }

  func testAMissingOrUnreadableMarkIsNoError() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    try mark(url)
    let before = try XCTUnwrap(lineage(url))
    try FileManager.default.removeItem(at: markFile(url))
    XCTAssertEqual(try lineage(url), before)
    let valid = LineageMark(series: "a", number: 1)
    for text in ["", "\n", "a", "a 1", "a b\n", "a -1\n", "a 9223372036854775807\n", "a 1 2\n", String(repeating: "a", count: 200)] {
      try Data(text.utf8).write(to: markFile(url))
      XCTAssertNil(LineageMark(nextTo: url.path), text)
      XCTAssertEqual(try lineage(url), before, text)
    }
    XCTAssertTrue(valid.write(nextTo: url.path))
    XCTAssertEqual(LineageMark(nextTo: url.path), valid)
    try FileManager.default.removeItem(at: markFile(url))
    try mark(url)
    XCTAssertEqual(LineageMark(nextTo: url.path)?.number, 2)
  }

  func testAMarkThatCannotBeWrittenIsNoError() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    let before = try XCTUnwrap(lineage(url))
    let target = folder.file("target")
    for isLink in [false, true] {
      if isLink {
        try FileManager.default.createSymbolicLink(at: markFile(url), withDestinationURL: target)
      } else {
        try FileManager.default.createDirectory(at: markFile(url), withIntermediateDirectories: false)
      }
      try use(url) { open in
        try lineageStore(open).advanceLineageMark()
        XCTAssertFalse(try lineageStore(open).publishLineageMark())
      }
      XCTAssertEqual(try lineage(url), before)
      try FileManager.default.removeItem(at: markFile(url))
    }
    XCTAssertFalse(FileManager.default.fileExists(atPath: target.path))
  }

  func testAnOpenReadOnlyStorePublishesItsMark() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    try mark(url, publishes: false)
    try use(url, isReadOnly: true) { open in
      XCTAssertThrowsError(try lineageStore(open).advanceLineageMark())
      XCTAssertTrue(try lineageStore(open).publishLineageMark())
    }
    XCTAssertNotNil(LineageMark(nextTo: url.path))
  }

  func testALostTableOfTheLineageContinuesTheMark() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    try mark(url)
    let before = try XCTUnwrap(lineage(url))
    let (path, key) = (url.path, key)
    let keyring = try waitFor { try await StoreKeyring.unlock(storePath: path, key: key) }
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute("DROP TABLE cipherdata_lineage")
    connection.close()
    let now = try XCTUnwrap(lineage(url))
    XCTAssertNotEqual(now, before)
    XCTAssertEqual(try lineage(url), now)
    try mark(url)
    XCTAssertEqual(try lineage(url), now)
    XCTAssertEqual(LineageMark(nextTo: url.path)?.number, 2)
  }

  // MARK: Other files

  func testARenamedStoreKeepsItsLineageWithItsMarkAndWithoutIt() throws {
    for movesMark in [false, true] {
      let (folder, url) = try makeStore()
      try mark(url)
      let before = try XCTUnwrap(lineage(url))
      let moved = folder.file("moved.store")
      for suffix in ["", ".keys"] { try FileManager.default.moveItem(atPath: url.path + suffix, toPath: moved.path + suffix) }
      if movesMark { try FileManager.default.moveItem(at: markFile(url), to: markFile(moved)) }
      XCTAssertEqual(try lineage(moved), before)
      try mark(moved)
      XCTAssertEqual(try lineage(moved), before)
      XCTAssertEqual(LineageMark(nextTo: moved.path)?.number, 2)
    }
  }

  func testTheMarkOfAnotherStoreChangesTheLineageOnce() throws {
    let (folder, url) = try makeStore()
    defer { withExtendedLifetime(folder) {} }
    try mark(url)
    let before = try XCTUnwrap(lineage(url))
    XCTAssertTrue(LineageMark(series: "another", number: 7).write(nextTo: url.path))
    let now = try XCTUnwrap(lineage(url))
    XCTAssertNotEqual(now, before)
    try mark(url)
    XCTAssertEqual(LineageMark(nextTo: url.path), LineageMark(series: "another", number: 8))
    XCTAssertEqual(try lineage(url), now)
  }

  func testTheMarkIsNextToTheTargetOfALink() throws {
    let (folder, url) = try makeStore()
    let link = folder.file("link.store")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
    try mark(link)
    XCTAssertNotNil(LineageMark(nextTo: url.path))
    XCTAssertEqual(folder.fileNames().filter { $0.hasSuffix("-mark") }, [".original.store-mark"])
  }

  func testBackupsReplacementsAndRemovals() throws {
    let (folder, url) = try makeStore()
    try mark(url)
    let before = try XCTUnwrap(lineage(url))
    let (backup, file) = (folder.file("backup.store"), try file(url))
    try waitFor { try await file.backUp(to: backup) }
    XCTAssertFalse(FileManager.default.fileExists(atPath: markFile(backup).path))
    let copied = try XCTUnwrap(lineage(backup))
    XCTAssertNotEqual(copied, before)
    try mark(backup)
    XCTAssertEqual(try lineage(backup), copied)
    XCTAssertEqual(try lineage(url), before)

    // A backup that overwrites the original in place.
    let original = try Data(contentsOf: url)
    try Data(contentsOf: backup).overwrite(url)
    XCTAssertFalse([before, copied].contains(try XCTUnwrap(lineage(url))))
    try original.overwrite(url)

    let coordinator = PersistentStoreCoordinator(compiledModel: SpecificationModels.library)
    let (destination, source) = (PersistentStoreDescription(url: url, key: key), PersistentStoreDescription(url: backup, key: key))
    try waitFor { try await coordinator.replacePersistentStore(with: destination, withPersistentStoreFrom: source) }
    let replaced = try XCTUnwrap(information(url).lineageIdentifier)
    XCTAssertEqual(try lineage(url), replaced, "The mark of the old store has no effect.")
    try mark(url)
    try waitFor { try await coordinator.destroyPersistentStore(with: destination) }
    XCTAssertEqual(folder.fileNames().filter { $0.contains("original") }, [])
  }

  func testOnlyWhatIsSentNeedsAMark() throws {
    let (folder, url) = try makeStore()
    for _ in 0..<3 { _ = try insert(url) }
    XCTAssertNotNil(try lineage(url))
    XCTAssertEqual(folder.fileNames(), ["original.store", "original.store.keys"])
    XCTAssertNil(LineageMark(nextTo: url.path))
  }
}
