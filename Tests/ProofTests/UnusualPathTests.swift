import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _ProofStore
import _StoreSpecification
import _TestSupport

/// The whole life of a store at unusual paths.
final class UnusualPathTests: XCTestCase {
  /// Power loss is not tested here.
  private let settings = {
    var settings = ProofSettings()
    settings.isFast = true
    return settings
  }()

  /// Makes a store, performs every operation that makes files next to it, and removes it.
  ///
  /// - Parameter isWhole: Whether to copy, replace and compact it too, which takes some tenths of a second.
  private func live(at url: URL, isWhole: Bool = true) throws {
    let store = try settings.open(url)
    try store.addFilms(["one", "two"], poster: 4_000)
    let contents = try store.contents()
    try store.close()
    XCTAssertEqual(contents.count, 3)
    XCTAssertEqual(try settings.contents(url), contents)
    let file = try settings.unlock(url)
    let copy = url.deletingLastPathComponent().appendingPathComponent("copy")
    let description = settings.description(url)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
    guard isWhole else {
      XCTAssertEqual(try settings.damage(url), [])
      return try waitFor { try await coordinator.destroyPersistentStore(with: description) }
    }
    let source = settings.description(copy)
    try waitFor {
      try await file.rotateDataKey()
      _ = try await file.compact()
      try await file.addKey(.passphrase("second", .cheapForTests()))
      try await file.backUp(to: copy)
    }
    let changed = try settings.open(url)
    try changed.addFilms(["three"])
    try changed.close()
    try waitFor { try await coordinator.replacePersistentStore(with: description, withPersistentStoreFrom: source) }
    XCTAssertEqual(try settings.contents(url), contents)
    XCTAssertEqual(try settings.damage(url), [])
    try waitFor {
      try await coordinator.destroyPersistentStore(with: description)
      try await coordinator.destroyPersistentStore(with: source)
    }
  }

  /// The same in a separate folder, which must be empty afterwards.
  private func live(named name: String, isWhole: Bool = true) throws {
    let folder = try TemporaryFolder("UnusualPathTests")
    do { try live(at: folder.file(name), isWhole: isWhole) } catch { XCTFail("“\(name)”: \(error)") }
    XCTAssertEqual(folder.fileNames(), [], "“\(name)”")
  }

  func testSpecialCharactersInNamesAreLiteral() throws {
    let names = [
      "with spaces in it", " ", "new\nline", "tab\tand\u{1B}[31m", "it's \"quoted\"", "`$(touch x)`; rm -rf", "100%41",
      "?mode=memory&x=1#fragment",
      ":memory:", "file:x?mode=memory", "-dash", "--help", "[a]*?", "back\\slash", ".hidden", "...", "é", "e\u{301}", "ß漢字👩‍👩‍👧",
      "\u{202E}txt.exe",
      "\u{FEFF}mark", "a-wal", "a-journal", "a.keys", "CON", "a.",
    ]
    for name in names { try live(named: name, isWhole: false) }
    for name in ["new\nline", ":memory:", "file:x?mode=memory", "e\u{301}"] { try live(named: name) }
  }

  func testCanonicallyEquivalentNamesAreDifferentStores() throws {
    let folder = try TemporaryFolder("UnusualPathTests")
    let stores = ["caf\u{E9}", "cafe\u{301}"].map { folder.file($0) }
    for (number, url) in stores.enumerated() {
      let store = try settings.open(url)
      try store.addFilms(["film \(number)"])
      try store.close()
    }
    for (number, url) in stores.enumerated() {
      XCTAssertTrue(try settings.contents(url).contains { $0.hasPrefix("film \(number)") })
    }
  }

  /// A name that leaves too few bytes for the names of the other files is rejected before a file is created.
  func testNamesTooLongForCompanionFilesAreRejected() throws {
    for length in [242, 243, 245, 255, 256, 1_000] {
      let folder = try TemporaryFolder("UnusualPathTests")
      let url = folder.file(String(repeating: "x", count: length))
      do {
        try live(at: url)
        XCTAssertLessThanOrEqual(length, 242)
      } catch let error as StoreError {
        XCTAssertGreaterThan(length, 242, "\(error)")
        XCTAssertEqual(error.code, .io)
        XCTAssertTrue("\(error)".contains("too long"), "\(error)")
      }
      XCTAssertEqual(folder.fileNames(), [], "\(length)")
    }
    // The limit counts bytes, not characters.
    try live(named: String(repeating: "漢", count: 80))
  }

  func testPathsTooLongForSQLiteAreRejected() throws {
    var ends: [Bool] = []
    for length in [300, 440, 485, 495, 505, 515, 1_500, 5_000] {
      let folder = try TemporaryFolder("UnusualPathTests")
      var place = folder.url
      while place.path.utf8.count + 202 < length {
        place.appendPathComponent(String(repeating: "y", count: 200), isDirectory: true)
        // Longer paths cannot be created.
        guard place.path.utf8.count < 4_000 else { break }
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
      }
      let left = length - place.path.utf8.count - 1
      let url = place.appendingPathComponent(String(repeating: "x", count: max(1, min(left, 240))))
      do {
        try live(at: url)
        ends.append(true)
      } catch let error as StoreError {
        ends.append(false)
        XCTAssertTrue([.io, .storeNotFound].contains(error.code), "\(error)")
        XCTAssertTrue("\(error)".contains("too long") || "\(error)".contains("does not exist"), "\(length): \(error)")
      }
      XCTAssertEqual(folder.fileNames().filter { !$0.hasSuffix("y") }, [], "\(length)")
    }
    XCTAssertEqual(ends, ends.sorted { $0 && !$1 }, "longer paths are refused, and shorter ones are not")
    XCTAssertEqual(ends.first, true)
    XCTAssertEqual(ends.last, false)
  }

  /// An earlier version may have made such a store, or it was moved.
  func testStoresWithOverlongNamesCanBeReadAndRemoved() throws {
    let folder = try TemporaryFolder("UnusualPathTests")
    let (url, long) = (folder.file("short"), folder.file(String(repeating: "x", count: 244)))
    let store = try settings.open(url)
    try store.addFilms(["one"])
    let contents = try store.contents()
    try store.close()
    try FileManager.default.moveItem(at: url, to: long)
    try FileManager.default.moveItem(at: folder.file("short.keys"), to: folder.file(long.lastPathComponent + ".keys"))
    XCTAssertEqual(try settings.contents(long), contents)
    let file = try settings.unlock(long)
    for work in [{ try await file.rotateDataKey() }, { _ = try await file.compact() }] as [@Sendable () async throws -> Void] {
      XCTAssertThrowsError(try waitFor { try await work() }) { XCTAssertEqual(($0 as? StoreError)?.code, .io, "\($0)") }
      XCTAssertEqual(try settings.contents(long), contents)
    }
    let description = settings.description(long)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
    try waitFor { try await coordinator.destroyPersistentStore(with: description) }
    XCTAssertEqual(folder.fileNames(), [])
  }

  // MARK: Links

  func testSymbolicLinksToFoldersReachTheStore() throws {
    let folder = try TemporaryFolder("UnusualPathTests")
    let files = FileManager.default
    try files.createDirectory(at: folder.file("place"), withIntermediateDirectories: false)
    try files.createSymbolicLink(atPath: folder.file("link").path, withDestinationPath: "place")
    try live(at: folder.url.appendingPathComponent("link/store"))
    try live(at: folder.url.appendingPathComponent("place/../link/../place/./store"))
    XCTAssertEqual(folder.fileNames(), ["link", "place"])
    // Two names of one file are one store.
    let (direct, linked) = (folder.url.appendingPathComponent("place/store"), folder.url.appendingPathComponent("link/store"))
    let first = try settings.open(direct)
    let second = try settings.open(linked)
    try first.addFilms(["one"])
    try second.addFilms(["two"])
    XCTAssertEqual(try first.contents(), try second.contents())
    XCTAssertEqual(try first.contents().count, 4)
    try first.close()
    try second.close()
    XCTAssertEqual(try settings.damage(linked), [])
  }

  /// Key files, large values and replacement stores were created next to the link: one store became two, and the old key still opened one
  /// of them.
  func testSymbolicLinksToStoreFilesReachTheStore() throws {
    let folder = try TemporaryFolder("UnusualPathTests")
    let files = FileManager.default
    for name in ["place", "links"] { try files.createDirectory(at: folder.file(name), withIntermediateDirectories: false) }
    let (direct, linked) = (folder.file("place/store"), folder.file("links/second"))
    let first = try settings.open(direct)
    try first.addFilms(["one"], poster: 4_000)
    try first.close()
    try files.createSymbolicLink(atPath: folder.file("links/first").path, withDestinationPath: "../place/store")
    try files.createSymbolicLink(atPath: linked.path, withDestinationPath: "first")
    let store = try settings.open(linked)
    try store.addFilms(["two"], poster: 4_500)
    let contents = try store.contents()
    try store.close()
    XCTAssertEqual(contents.count, 4)
    XCTAssertEqual(try settings.contents(direct), contents)

    let file = try settings.unlock(linked)
    var renewed = settings
    renewed.key = 2
    let copy = folder.file("copy")
    try waitFor {
      _ = try await file.changeKey(from: ProofSettings.key(1), to: ProofSettings.key(2))
      try await file.rotateDataKey()
      _ = try await file.compact()
      try await file.backUp(to: copy)
    }
    for url in [direct, linked, copy] {
      XCTAssertThrowsError(try settings.contents(url)) { XCTAssertEqual(($0 as? StoreError)?.code, .wrongKey) }
      XCTAssertEqual(try renewed.contents(url), contents)
      XCTAssertEqual(try renewed.damage(url), [])
    }
    let information = try waitFor { try await file.information() }
    XCTAssertEqual(information.fileSize, try Data(contentsOf: direct).count)

    let (target, source) = (renewed.description(linked), renewed.description(copy))
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
    let changed = try renewed.open(direct)
    try changed.addFilms(["three"])
    try changed.close()
    try waitFor { try await coordinator.replacePersistentStore(with: target, withPersistentStoreFrom: source) }
    XCTAssertEqual(try renewed.contents(direct), contents)
    XCTAssertEqual(try files.contentsOfDirectory(atPath: folder.file("links").path).sorted(), ["first", "second"])
    XCTAssertEqual(try files.destinationOfSymbolicLink(atPath: linked.path), "first")
    try waitFor { try await coordinator.destroyPersistentStore(with: target) }
    XCTAssertEqual(try files.contentsOfDirectory(atPath: folder.file("place").path), [])
    // The named folder stays empty.
    XCTAssertEqual(try files.contentsOfDirectory(atPath: folder.file("links").path), ["first"])
  }

  /// A key file can be stored elsewhere through a link. It stays there, and no older version of it remains.
  func testSymbolicLinksToKeyFilesStayLinks() throws {
    let folder = try TemporaryFolder("UnusualPathTests")
    let files = FileManager.default
    let (url, keys, elsewhere) = (folder.file("store"), folder.file("store.keys"), folder.file("elsewhere"))
    let store = try settings.open(url)
    try store.addFilms(["one"])
    try store.close()
    try files.moveItem(at: keys, to: elsewhere)
    try files.createSymbolicLink(atPath: keys.path, withDestinationPath: elsewhere.path)
    let old = try Data(contentsOf: elsewhere)
    let file = try settings.unlock(url)
    try waitFor {
      _ = try await file.changeKey(from: ProofSettings.key(1), to: ProofSettings.key(2))
      try await file.rotateDataKey()
    }
    var renewed = settings
    renewed.key = 2
    XCTAssertEqual(try renewed.contents(url).count, 2)
    XCTAssertNotEqual(try Data(contentsOf: elsewhere), old)
    XCTAssertEqual(try files.destinationOfSymbolicLink(atPath: keys.path), elsewhere.path)
    let description = renewed.description(url)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
    try waitFor { try await coordinator.destroyPersistentStore(with: description) }
    XCTAssertEqual(folder.fileNames(), [])
  }

  func testDanglingLinksAreReportedAndLeftUnchanged() throws {
    let folder = try TemporaryFolder("UnusualPathTests")
    let files = FileManager.default
    try files.createSymbolicLink(atPath: folder.file("dangling").path, withDestinationPath: "nowhere")
    try files.createSymbolicLink(atPath: folder.file("a").path, withDestinationPath: "b")
    try files.createSymbolicLink(atPath: folder.file("b").path, withDestinationPath: "a")
    try files.createSymbolicLink(atPath: folder.file("null").path, withDestinationPath: "/dev/null")
    let codes: [String: Set<StoreError.Code>] = [
      "dangling": [.alreadyExists, .storeNotFound], "a": [.notAStore, .alreadyExists], "null": [.notAStore],
    ]
    let before = folder.fileNames()
    for (name, expected) in codes {
      XCTAssertThrowsError(try settings.open(folder.file(name)), name) { error in
        XCTAssertTrue((error as? StoreError).map { expected.contains($0.code) } ?? false, "\(name): \(error)")
      }
      XCTAssertEqual(folder.fileNames(), before, name)
    }
    XCTAssertThrowsError(try settings.open(folder.file("no/such/folder/store")))
    XCTAssertThrowsError(try settings.open(URL(fileURLWithPath: "/")))
    XCTAssertThrowsError(try settings.open(folder.url)) { XCTAssertEqual(($0 as? StoreError)?.code, .notAStore) }
    XCTAssertEqual(folder.fileNames(), before)
  }
}
