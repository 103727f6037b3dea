import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Modification of a large value's file without the key is detected when the value is read. It never yields wrong bytes or a crash.
final class ExternalStorageTamperTests: XCTestCase {
  /// Three whole chunks and a partial one.
  private let value = FilmStore.bytes(200_000)
  private var random = SeededGenerator(seed: 77)

  private func makeStore() throws -> (FilmStore, OpenStore, URL) {
    let films = try FilmStore()
    let store = try films.open()
    try store.addFilm("A", value)
    return (films, store, try XCTUnwrap(films.files().first))
  }

  /// Asserts that reading a modified file yields either all the bytes or the expected error.
  private func assertNoticed(
    _ store: OpenStore, _ what: String, _ code: StoreError.Code = .storeCorrupt, file: StaticString = #filePath, line: UInt = #line
  ) throws {
    try store.withFilm("A") { film, _ in
      let content = try XCTUnwrap(film.externalData(forKey: "poster"), file: file, line: line)
      do {
        let data = try content.data()
        XCTFail("\(what): read \(data.count) bytes, \(data == value ? "the right" : "WRONG") ones", file: file, line: line)
      } catch let error as StoreError {
        XCTAssertEqual(error.code, code, "\(what): \(error)", file: file, line: line)
        XCTAssertNotNil(error.path, file: file, line: line)
      }
      // As a stream, the bytes before the modification are correct.
      var given = Data()
      do {
        let reader = try content.makeReader()
        while let piece = try reader.next() { given.append(piece) }
        XCTFail("\(what): the stream ends without an error", file: file, line: line)
      } catch let error as StoreError {
        XCTAssertEqual(error.code, code, what, file: file, line: line)
      }
      XCTAssertEqual(given, value.prefix(given.count), what, file: file, line: line)
    }
  }

  func testEveryFlippedBitIsDetected() throws {
    let (films, store, file) = try makeStore()
    defer { withExtendedLifetime(films) {} }
    let original = try Data(contentsOf: file)
    var places = Array(0..<44) + [44, 45, original.count - 1, original.count - 17, original.count - 24]
    places += (0..<60).map { _ in Int(random.next() % UInt64(original.count)) }
    var padding = 0
    for place in places {
      var changed = original
      changed[place] ^= UInt8(1 << (random.next() % 8))
      try changed.write(to: file)
      // A newer format version is a different error.
      if (8..<10).contains(place) {
        try store.withFilm("A") { film, _ in XCTAssertThrowsError(try film.externalData(forKey: "poster")?.data()) }
        continue
      }
      // A chunk that consists of padding is never read.
      if place >= 44 + 4 * 65_552 { padding += 1 }
      try assertNoticed(store, "bit at \(place)")
    }
    XCTAssertEqual(padding, 0)
    try original.write(to: file)
    XCTAssertEqual(try store.poster("A"), value)
    try store.close()
  }

  func testTruncatedAndExtendedFilesAreDetected() throws {
    let (films, store, file) = try makeStore()
    defer { withExtendedLifetime(films) {} }
    let original = try Data(contentsOf: file)
    for count in [0, 1, 43, 44, 45, 60, 68, 4_000, 44 + 65_552, 44 + 2 * 65_552, 44 + 3 * 65_552, original.count - 1, original.count - 16] {
      try original.prefix(count).write(to: file)
      try assertNoticed(store, "cut to \(count)")
    }
    for count in [1, 16, 24, 65_552] {
      try (original + Data(count: count)).write(to: file)
      try assertNoticed(store, "\(count) more")
    }
    try FileManager.default.removeItem(at: file)
    try assertNoticed(store, "removed", .externalDataMissing)
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    try assertNoticed(store, "a folder")
    try FileManager.default.removeItem(at: file)
    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: URL(fileURLWithPath: "/etc/hostname"))
    try store.withFilm("A") { film, _ in XCTAssertThrowsError(try film.externalData(forKey: "poster")?.data()) }
    try store.close()
  }

  func testReorderedChunksAreDetected() throws {
    let (films, store, file) = try makeStore()
    defer { withExtendedLifetime(films) {} }
    let original = try Data(contentsOf: file)
    func chunk(_ number: Int) -> Range<Int> { (44 + number * 65_552)..<min(44 + (number + 1) * 65_552, original.count) }
    var swapped = original
    swapped.replaceSubrange(chunk(0), with: original[chunk(1)])
    swapped.replaceSubrange(chunk(1), with: original[chunk(0)])
    try swapped.write(to: file)
    try assertNoticed(store, "two chunks exchanged")
    var doubled = original
    doubled.replaceSubrange(chunk(2), with: original[chunk(1)])
    try doubled.write(to: file)
    try assertNoticed(store, "a chunk twice")
    var removed = original
    removed.removeSubrange(chunk(1))
    try removed.write(to: file)
    try assertNoticed(store, "a chunk left out")
    try store.close()
  }

  func testFilesOfOtherValuesAndStoresAreDetected() async throws {
    let (films, store, file) = try makeStore()
    let original = try Data(contentsOf: file)
    try store.addFilm("B", FilmStore.bytes(200_000, 2))
    let second = try XCTUnwrap(films.files().first { $0 != file })
    try Data(contentsOf: second).write(to: file)
    try original.write(to: second)
    try assertNoticed(store, "the file of another value")
    assertStoreError(.storeCorrupt) { try store.poster("B") }
    let findings = try await films.verify()
    XCTAssertEqual(findings.filter { $0.contains("damaged or was exchanged") }.count, 2)
    // The same bytes in another store with the same raw key.
    let (otherFilms, otherStore, otherFile) = try makeStore()
    defer { withExtendedLifetime(otherFilms) {} }
    try Data(contentsOf: otherFile).write(to: file)
    try assertNoticed(store, "the file of another store")
    // Restore an older value.
    try original.write(to: file)
    XCTAssertEqual(try store.poster("A"), value)
    try store.withFilm("A") { film, context in
      try film.setValue(FilmStore.bytes(200_000, 5), forKey: "poster")
      try context.save()
    }
    let now = try XCTUnwrap(films.files().first { $0 != second && $0 != file })
    try original.write(to: now)
    assertStoreError(.storeCorrupt) { try store.poster("A") }
    try otherStore.close()
    try store.close()
  }

  func testPredicateOnADamagedValueThrows() throws {
    let (films, store, file) = try makeStore()
    defer { withExtendedLifetime(films) {} }
    var changed = try Data(contentsOf: file)
    changed[1_000] ^= 4
    try changed.write(to: file)
    assertStoreError(.storeCorrupt) {
      try store.count(FetchSpecification(entityName: "Film", predicate: .compare("poster", .equal, value)))
    }
    try FileManager.default.removeItem(at: file)
    assertStoreError(.externalDataMissing) {
      try store.count(FetchSpecification(entityName: "Film", predicate: .compare("poster", .equal, value)))
    }
    try store.close()
  }

  func testUnwritableFolderFailsTheSave() throws {
    let films = try FilmStore()
    let store = try films.open()
    try Data().write(to: FilmStore.support(films.url))
    XCTAssertThrowsError(try store.addFilm("A", value)) { XCTAssertTrue($0 is StoreError, "\($0)") }
    XCTAssertEqual(try store.count("Film"), 0)
    try FileManager.default.removeItem(at: FilmStore.support(films.url))
    try store.addFilm("A", value)
    XCTAssertEqual(try store.poster("A"), value)
    try store.close()
  }
}
