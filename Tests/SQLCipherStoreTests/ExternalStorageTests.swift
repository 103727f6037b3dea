import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// When large values are stored in files, the lifetime of the files, and lazy reading.
final class ExternalStorageTests: XCTestCase {
  private func bytes(_ count: Int, _ seed: Int = 1) -> Data { FilmStore.bytes(count, seed) }

  func testOnlyLargeValuesOfAllowingAttributesAreStoredInFiles() async throws {
    let films = try FilmStore()
    let store = try films.open()
    try store.addFilm("small", bytes(131_071))
    XCTAssertEqual(films.files(), [])
    try store.addFilm("large", bytes(131_072))
    XCTAssertEqual(films.files().count, 1)
    let context = store.newContext()
    try context.insert("Film", ["title": "plain", "plain": bytes(300_000)])
    try context.save()
    XCTAssertEqual(films.files().count, 1)
    XCTAssertFalse(films.isPending)
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
    let mode = try FileManager.default.attributesOfItem(atPath: films.files()[0].path)[.posixPermissions] as? NSNumber
    XCTAssertEqual(mode, 0o600)
    let folderMode = try FileManager.default.attributesOfItem(atPath: FilmStore.support(films.url).path)[.posixPermissions] as? NSNumber
    XCTAssertEqual(folderMode, 0o700)
  }

  func testThresholdIsSetByTheDescription() throws {
    let films = try FilmStore()
    let store = try films.open { $0.externalStorageThreshold = 100 }
    try store.addFilm("99", bytes(99))
    try store.addFilm("100", bytes(100))
    XCTAssertEqual(films.files().count, 1)
    XCTAssertEqual(try store.poster("100"), bytes(100))
    try store.close()
    // Values in files stay there under a higher threshold.
    let again = try films.open { $0.externalStorageThreshold = 1_000_000 }
    XCTAssertEqual(try again.poster("100"), bytes(100))
    try again.addFilm("large", bytes(200_000))
    XCTAssertEqual(films.files().count, 1)
    try again.close()
  }

  func testFileRevealsNeitherBytesNorSizeNorName() throws {
    let films = try FilmStore()
    let store = try films.open()
    let marker = Data("THIS-IS-THE-MARKER-OF-A-SECRET-VALUE".utf8)
    var value = Data()
    while value.count < 200_000 { value.append(marker) }
    try store.addFilm("MARKER-TITLE", value)
    try store.addFilm("MARKER-TITLE-2", value + Data(count: 100))
    let sizes = try films.files().map { try Data(contentsOf: $0).count }
    XCTAssertEqual(sizes.count, 2)
    // Values of similar size have files of equal size.
    XCTAssertEqual(sizes[0], sizes[1])
    try store.close()
    for case let file as URL in try XCTUnwrap(FileManager.default.enumerator(at: films.folder.url, includingPropertiesForKeys: nil)) {
      guard let data = try? Data(contentsOf: file) else { continue }
      for text in [marker, Data("MARKER".utf8), Data("poster".utf8)] { XCTAssertNil(data.range(of: text), file.lastPathComponent) }
    }
  }

  func testReadingAndSavingOtherPropertiesAccessesNoFile() throws {
    let films = try FilmStore()
    let store = try films.open()
    try store.addFilm("A", bytes(300_000))
    let (support, elsewhere) = (FilmStore.support(films.url), films.folder.file("elsewhere"))
    try FileManager.default.moveItem(at: support, to: elsewhere)
    try store.withFilm("A") { film, context in
      XCTAssertEqual(film.text("title"), "A")
      XCTAssertNotNil(try film.externalData(forKey: "poster"))
      films.observer.reset()
      try film.setValue("B", forKey: "title")
      try context.save()
      XCTAssertEqual(films.observer.statements.filter { $0.hasPrefix("UPDATE") }.count, 1)
      XCTAssertFalse("\(film)".isEmpty)
    }
    XCTAssertEqual(
      try store.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Film", predicate: FetchPredicate(format: "poster != nil")))
        .count, 1)
    assertStoreError(.externalDataMissing) { try store.poster("B") }
    // Properties cannot throw; the next save reports the error.
    try store.withFilm("B") { film, context in
      assertStoreError(.externalDataMissing) { _ = try film.value(forKey: "poster") }
      XCTAssertNil(film["poster"])
      try film.setValue("C", forKey: "title")
      assertStoreError(.externalDataMissing) { try context.save() }
    }
    try FileManager.default.moveItem(at: elsewhere, to: support)
    XCTAssertEqual(try store.poster("B"), bytes(300_000))
    try store.close()
  }

  func testFileIsRemovedWhenItsValueIsReplacedClearedOrDeleted() async throws {
    let films = try FilmStore()
    let store = try films.open()
    for number in 0..<4 { try store.addFilm("\(number)", bytes(200_000, number)) }
    let before = films.files()
    XCTAssertEqual(before.count, 4)
    try store.withFilm("0") { film, context in
      try film.setValue(bytes(200_000, 10), forKey: "poster")
      try context.save()
    }
    XCTAssertEqual(films.files().count, 4)
    XCTAssertEqual(Set(films.files()).subtracting(before).count, 1)
    try store.withFilm("1") { film, context in
      try film.setValue(bytes(10), forKey: "poster")
      try context.save()
    }
    XCTAssertEqual(films.files().count, 3)
    try store.withFilm("2") { film, context in
      context.delete(film)
      try context.save()
    }
    XCTAssertEqual(films.files().count, 2)
    let context = store.newContext()
    _ = try context.execute(
      BatchUpdateRequest(entityName: "Film", predicate: .compare("title", .equal, "0"), propertiesToUpdate: ["poster": Data([1])]))
    XCTAssertEqual(films.files().count, 1)
    _ = try context.execute(BatchDeleteRequest(entityName: "Film"))
    XCTAssertEqual(films.files(), [])
    XCTAssertFalse(films.isPending)
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }

  func testBatchInsertionStoresLargeValuesInFiles() async throws {
    let films = try FilmStore()
    let store = try films.open()
    _ = try store.newContext().execute(
      BatchInsertRequest(entityName: "Film", objects: (0..<6).map { ["title": "\($0)", "poster": bytes($0 % 2 == 0 ? 200_000 : 20, $0)] }))
    XCTAssertEqual(films.files().count, 3)
    for number in 0..<6 { XCTAssertEqual(try store.poster("\(number)"), bytes(number % 2 == 0 ? 200_000 : 20, number)) }
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }

  func testFailedSaveLeavesNoFile() throws {
    struct Stop: Error {}
    let films = try FilmStore()
    let store = try films.open()
    try store.addFilm("A", bytes(200_000))
    let before = films.files()
    let context = store.newContext()
    XCTAssertThrowsError(
      try context.performTransaction {
        try context.insert("Film", ["title": "B", "poster": bytes(200_000, 2)])
        try context.save()
        XCTAssertEqual(films.files().count, 2)
        throw Stop()
      })
    XCTAssertEqual(films.files(), before)
    // A nested transaction that fails alone.
    try store.newContext().performTransaction {
      let inner = store.newContext()
      XCTAssertThrowsError(
        try inner.performTransaction {
          try inner.insert("Film", ["title": "C", "poster": bytes(200_000, 3)])
          try inner.save()
          throw Stop()
        })
      try store.addFilm("D", bytes(200_000, 4))
    }
    XCTAssertEqual(films.files().count, 2)
    // A conflict.
    try store.withFilm("A") { film, context in
      try store.withFilm("A") { other, otherContext in
        try other.setValue("A2", forKey: "title")
        try otherContext.save()
      }
      try film.setValue(bytes(200_000, 5), forKey: "poster")
      assertStoreError(.mergeConflict) { try context.save() }
    }
    XCTAssertEqual(films.files().count, 2)
    XCTAssertFalse(films.isPending)
    try store.close()
  }

  func testAnUnusedWriterLeavesNoFile() throws {
    let films = try FilmStore()
    let store = try films.open()
    try store.addFilm("A", bytes(200_000))
    do {
      let writer = try store.store.makeExternalDataWriter()
      try writer.write(bytes(500_000))
      XCTAssertEqual(films.files().count, 2)
      XCTAssertTrue(films.isPending)
    }
    XCTAssertEqual(films.files().count, 1)
    do {
      let writer = try store.store.makeExternalDataWriter()
      try writer.write(bytes(500_000))
      let value = try writer.finish()
      XCTAssertEqual(try value.data(), bytes(500_000))
      // The file of a waiting save is not treated as an orphan.
      XCTAssertEqual(films.files().count, 2)
      try store.addFilm("B", bytes(200_000, 2))
      XCTAssertEqual(films.files().count, 3)
    }
    XCTAssertEqual(films.files().count, 2)
    XCTAssertFalse(films.isPending)
    try store.close()
  }

  func testPendingValuesShareOneFileDescriptor() async throws {
    let films = try FilmStore()
    let store = try films.open { $0.externalStorageThreshold = 10 }
    /// The number of open descriptors of the folder.
    func descriptors() throws -> Int {
      let own = "/proc/self/fd"
      let targets = try FileManager.default.contentsOfDirectory(atPath: own).compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: own + "/" + $0)
      }
      return targets.filter { $0.hasPrefix(FilmStore.support(films.url).path) }.count
    }
    let context = store.newContext()
    for number in 0..<100 {
      let film = try context.insert("Film", ["title": "\(number)"])
      let writer = try film.makeExternalDataWriter()
      try writer.write(bytes(100, number))
      try film.setExternalData(writer.finish(), forKey: "poster")
    }
    XCTAssertEqual(try descriptors(), 1)
    // Other contexts save and sweep meanwhile.
    try store.addFilm("other", bytes(20))
    try store.withFilm("other") { film, context in
      context.delete(film)
      try context.save()
    }
    let swept = try await films.unlock().sweepExternalFiles()
    XCTAssertEqual(swept, 0)
    try context.save()
    XCTAssertEqual(try descriptors(), 0)
    XCTAssertEqual(films.files().count, 100)
    XCTAssertFalse(films.isPending)
    XCTAssertEqual(try store.poster("77"), bytes(100, 77))
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }

  func testOlderRowReadsTheCurrentValue() throws {
    let films = try FilmStore()
    let store = try films.open()
    try store.addFilm("A", bytes(200_000))
    try store.withFilm("A") { older, _ in
      let value = try XCTUnwrap(older.externalData(forKey: "poster"))
      let reader = try value.makeReader()
      let first = try reader.next()
      try store.withFilm("A") { film, context in
        try film.setValue(bytes(300_000, 2), forKey: "poster")
        try context.save()
      }
      // A reader continues with the file that it opened.
      var rest = try XCTUnwrap(first)
      while let piece = try reader.next() { rest.append(piece) }
      XCTAssertEqual(rest, bytes(200_000))
      XCTAssertEqual(try value.data(), bytes(300_000, 2))
      try store.withFilm("A") { film, context in
        try film.setValue(bytes(7, 3), forKey: "poster")
        try context.save()
      }
      XCTAssertEqual(try value.data(), bytes(7, 3))
      try store.withFilm("A") { film, context in
        context.delete(film)
        try context.save()
      }
      assertStoreError(.externalDataMissing) { try value.data() }
    }
    try store.close()
  }

  func testExternalStorageCanBeEnabledAndDisabledLater() async throws {
    let films = try FilmStore()
    let (inside, outside) = (try FilmStore.model(external: false), try FilmStore.model())
    var store = try films.open(inside)
    try store.addFilm("A", bytes(200_000))
    try store.close()
    XCTAssertEqual(films.files(), [])
    store = try films.open(outside)
    XCTAssertEqual(try store.poster("A"), bytes(200_000))
    try store.addFilm("B", bytes(200_000, 2))
    XCTAssertEqual(films.files().count, 1)
    try store.close()
    for _ in 0..<2 {
      store = try films.open(inside)
      XCTAssertEqual(try store.poster("A"), bytes(200_000))
      XCTAssertEqual(try store.poster("B"), bytes(200_000, 2))
      let found = try store.newContext().texts(
        "title", FetchRequest<ManagedObject>(entityName: "Film", predicate: .compare("poster", .equal, bytes(200_000, 2))))
      XCTAssertEqual(found, ["B"])
      try store.addFilm("C", bytes(200_000, 3))
      XCTAssertEqual(films.files().count, 1)
      try store.close()
    }
    store = try films.open(inside)
    try store.withFilm("B") { film, context in
      context.delete(film)
      try context.save()
    }
    XCTAssertEqual(films.files(), [])
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }

  func testValuesUnderAConstraintStayInTheirRows() throws {
    let films = try FilmStore()
    let store = try films.open(FilmStore.model(unique: true))
    try store.addFilm("A", bytes(200_000))
    XCTAssertEqual(films.files(), [])
    assertStoreError(.constraintConflict) { try store.addFilm("B", bytes(200_000)) }
    try store.close()
  }

  func testLargeStreamUsesBoundedMemory() async throws {
    let films = try FilmStore()
    let store = try films.open()
    let piece = bytes(1 << 20)
    func residentPeak() throws -> Int {
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS") }
      return Int(line?.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
    }
    let before = try residentPeak()
    var peak = before
    let context = store.newContext()
    let film = try context.insert("Film", ["title": "long"])
    let writer = try film.makeExternalDataWriter()
    for number in 0..<64 {
      try writer.write(piece)
      if number % 16 == 0 { peak = max(peak, try residentPeak()) }
    }
    try film.setExternalData(writer.finish(), forKey: "poster")
    try context.save()
    peak = max(peak, try residentPeak())
    let value = try XCTUnwrap(store.withFilm("long") { film, _ in try film.externalData(forKey: "poster") })
    XCTAssertEqual(try value.count, 64 << 20)
    var count = 0
    for try await piece in value.chunks {
      count += piece.count
      if count % (8 << 20) == 0 { peak = max(peak, try residentPeak()) }
    }
    XCTAssertEqual(count, 64 << 20)
    // From one file to another.
    let second = try context.insert("Film", ["title": "second"])
    try second.setExternalData(value, forKey: "poster")
    try context.save()
    peak = max(peak, try residentPeak())
    XCTAssertLessThan(peak - before, 24 << 10, "KiB more than before")
    XCTAssertEqual(films.files().count, 2)
    try store.close()
  }

  func testSequenceIsConsumedIncrementally() async throws {
    let films = try FilmStore()
    let store = try films.open()
    let pieces = AsyncStream<Data> { continuation in
      for number in 0..<5 { continuation.yield(FilmStore.bytes(50_000, number)) }
      continuation.finish()
    }
    let context = store.newContext()
    let film = try context.insert("Film", ["title": "A"])
    try await film.setExternalData(collecting: pieces, forKey: "poster")
    try context.save()
    XCTAssertEqual(try store.poster("A"), (0..<5).reduce(Data()) { $0 + FilmStore.bytes(50_000, $1) })
    XCTAssertEqual(films.files().count, 1)
    try store.close()
  }
}
