import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// The files of large values in backups, key changes, key rotation, plaintext export, verification and sweeping.
final class ExternalStorageCopyTests: XCTestCase {
  private func bytes(_ count: Int, _ seed: Int = 1) -> Data { FilmStore.bytes(count, seed) }
  private let raw = StoreKey.raw(SecretBytes([UInt8](repeating: 3, count: 32)))
  private let other = StoreKey.raw(SecretBytes([UInt8](repeating: 4, count: 32)))

  /// A store with two large values and a small one.
  private func makeStore(_ key: StoreKey? = nil) throws -> FilmStore {
    let films = try FilmStore(key: key ?? raw)
    let store = try films.open()
    for number in 0..<2 { try store.addFilm("\(number)", bytes(200_000 + number, number)) }
    try store.addFilm("2", bytes(20, 2))
    try store.close()
    return films
  }

  private func check(_ films: FilmStore, at url: URL? = nil, key: StoreKey? = nil, fileCount: Int = 2) async throws {
    let findings = try await films.unlock(url, key).verify(.full)
    XCTAssertEqual(findings, [])
    let store = try films.open(at: url, key: key)
    XCTAssertEqual(try store.poster("0"), bytes0())
    XCTAssertEqual(try store.poster("1"), bytes(200_001, 1))
    XCTAssertEqual(try store.poster("2"), bytes(20, 2))
    try store.close()
    XCTAssertEqual(films.files(url).count, fileCount)
  }

  private func bytes0() -> Data { bytes(200_000, 0) }

  func testBackupIncludesTheFiles() async throws {
    let films = try makeStore()
    let copy = films.folder.file("copy.store")
    try await films.unlock().backUp(to: copy)
    try FileManager.default.removeItem(at: FilmStore.support(films.url))
    try await check(films, at: copy)
  }

  func testFailedBackupLeavesNoFolder() async throws {
    let films = try makeStore()
    let file = try XCTUnwrap(films.files().first)
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: file)
    let before = try FileManager.default.contentsOfDirectory(atPath: films.url.deletingLastPathComponent().path).sorted()
    do {
      try await films.unlock().backUp(to: films.folder.file("copy.store"))
      XCTFail("a damaged value was copied")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .storeCorrupt)
    }
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: films.url.deletingLastPathComponent().path).sorted(), before)
  }

  func testBackupWithAnotherKeyReencryptsTheFiles() async throws {
    let films = try makeStore()
    let copy = films.folder.file("copy.store")
    try await films.unlock().backUp(to: copy, key: other)
    let contents = try films.files().map { try Data(contentsOf: $0) }
    for file in films.files(copy) { XCTAssertFalse(contents.contains(try Data(contentsOf: file))) }
    XCTAssertTrue(Set(films.files().map(\.lastPathComponent)).isDisjoint(with: films.files(copy).map(\.lastPathComponent)))
    try await check(films, at: copy, key: other)
    try await check(films)
  }

  func testABackupOfAStoreInUseHasTheFilesOfItsSnapshot() async throws {
    let films = try makeStore()
    let store = try films.open()
    let copy = films.folder.file("copy.store")
    let file = try await films.unlock()
    let urls = (0..<6).map { films.folder.file("copy\($0).store") }
    let writing = Task.detached {
      for number in 0..<40 {
        try store.withFilm("2") { film, context in
          try film.setValue(FilmStore.bytes(150_000 + number, number), forKey: "poster")
          try context.save()
        }
      }
    }
    for url in urls { try await file.backUp(to: url) }
    try await writing.value
    try store.close()
    for url in urls {
      let findings = try await films.unlock(url).verify(.full)
      XCTAssertEqual(findings, [])
    }
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
    XCTAssertEqual(films.files().count, 3)
    XCTAssertFalse(FileManager.default.fileExists(atPath: copy.path))
  }

  /// Without a folder of large values, no lock protected the files until they were copied.
  func testBackupIncludesAFirstFileWrittenWhileItStarts() async throws {
    let films = try FilmStore(key: raw)
    let store = try films.open()
    let context = store.newContext()
    for number in 0..<3_000 { try context.insert("Film", ["title": "\(number)"]) }
    try context.save()
    let copy = films.folder.file("copy.store")
    let calls = Mutex((opened: 0, reported: 0))
    // A different page size requires an export. Its preparations happen behind the lock and before the snapshot.
    try await films.unlock().keyring.backUp(
      to: copy.path, key: .sqlcipherPassphrase(SecretBytes(utf8: "other"), .sqlcipher3), largeValues: ExternalTable.ids,
      onOpen: { connection in
        try StoredFunctionIndexes.register(on: connection)
        calls.withLock { $0.opened += 1 }
        if calls.withLock({ $0.opened }) == 1 { try store.addFilm("large", FilmStore.bytes(200_000)) }
      },
      progress: { _, _ in
        calls.withLock { $0.reported += 1 }
        if calls.withLock({ $0.reported }) == 2 { Self.clearPoster(store) }
        return true
      }
    ).close()
    XCTAssertEqual(calls.withLock { $0.opened }, 2, "it starts again")
    try store.close()
    XCTAssertEqual(films.files(), [])
    let findings = try await films.unlock(copy, .sqlcipherPassphrase(SecretBytes(utf8: "other"), .sqlcipher3)).findings(.full)
    XCTAssertEqual(findings.map(\.description), [])
  }

  private static func clearPoster(_ store: OpenStore) {
    do {
      try store.withFilm("large") { film, context in
        try film.setValue(nil, forKey: "poster")
        try context.save()
      }
    } catch { XCTFail("\(error)") }
  }

  /// Two concurrent backups to one name each treated the other's files as orphans, and the later one removed them.
  func testOneOfTwoConcurrentBackupsWithOneNameIsComplete() async throws {
    for key in [FilmStore.databaseKey, raw] {
      let films = try makeStore(key)
      let copy = films.folder.file("copy.store")
      let support = FilmStore.support(copy).path
      let file = try await films.unlock()
      let later = try await films.unlock()
      let second = Mutex<Task<Bool, Never>?>(nil)
      let isFirstMade = await Self.isMade {
        try await file.backUp(to: copy) { _, _ in
          second.withLock { second in
            guard second == nil, let names = try? FileManager.default.contentsOfDirectory(atPath: support), !names.isEmpty else { return }
            second = Task.detached { await Self.isMade { try await later.backUp(to: copy) } }
            // Leave the other backup time to interfere.
            usleep(200_000)
          }
          return true
        }
      }
      let isSecondMade = await second.withLock { $0 }?.value
      XCTAssertNotEqual(isFirstMade, try XCTUnwrap(isSecondMade))
      try await check(films, at: copy, key: key)
      let findings = try await films.unlock(copy).findings(.full)
      XCTAssertEqual(findings.map(\.description), [])
    }
  }

  private static func isMade(_ copy: () async throws -> Void) async -> Bool {
    do { try await copy() } catch {
      XCTAssertEqual((error as? StoreError)?.code, .alreadyExists, "\(error)")
      return false
    }
    return true
  }

  func testAfterARotationTheOldKeyOpensNoFile() async throws {
    let films = try makeStore()
    let before = films.files()
    let kept = films.folder.file("kept")
    try FileManager.default.copyItem(at: FilmStore.support(films.url), to: kept)
    try await films.unlock().rotateDataKey()
    XCTAssertTrue(Set(before).isDisjoint(with: films.files()))
    try await check(films)
    XCTAssertFalse(films.isPending)
    // Restored files of earlier values do not belong to the store.
    for file in before {
      try FileManager.default.copyItem(at: kept.appendingPathComponent(file.lastPathComponent), to: file)
    }
    let findings = try await films.verify()
    XCTAssertEqual(findings.count, 2)
    XCTAssertTrue(findings.allSatisfy { $0.contains("belongs to no value") })
  }

  func testRotationDoesNotWaitForUnsavedValues() async throws {
    let films = try makeStore()
    let store = try films.open()
    let writer = try store.store.makeExternalDataWriter()
    try writer.write(bytes(200_000))
    let file = try await films.unlock()
    do {
      try await file.rotateDataKey()
      XCTFail("it succeeded")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .busy)
    }
    withExtendedLifetime(writer) {}
    try store.close()
  }

  func testPlaintextCopyInlinesAllValuesAndCanBeReimported() async throws {
    let films = try makeStore()
    let (plain, back) = (films.folder.file("plain.sqlite"), films.folder.file("back.store"))
    try await films.unlock().exportPlaintext(to: plain)
    let data = try Data(contentsOf: plain)
    XCTAssertNotNil(data.range(of: bytes0().prefix(2_000)))
    XCTAssertEqual(films.files(plain), [])
    _ = try await SQLCipherStoreFile.importPlaintext(from: plain, to: back, key: raw)
    try await check(films, at: back, key: raw, fileCount: 2)
    let store = try films.open(at: back)
    try store.withFilm("0") { film, context in
      try film.setValue(bytes(20, 8), forKey: "poster")
      try context.save()
    }
    XCTAssertEqual(films.files(back).count, 1)
    try store.close()
  }

  func testStoreWithASQLCipherPassphraseSupportsFiles() async throws {
    let films = try FilmStore(key: .sqlcipherPassphrase(SecretBytes(utf8: "secret"), .portable))
    let store = try films.open()
    try store.addFilm("A", bytes(200_000))
    try store.close()
    let again = try films.open()
    XCTAssertEqual(try again.poster("A"), bytes(200_000))
    try again.close()
  }

  func testVerificationReportsDamage() async throws {
    let films = try makeStore()
    let (first, second) = (films.files()[0], films.files()[1])
    let support = FilmStore.support(films.url)
    try bytes(5_000).write(to: support.appendingPathComponent(String(repeating: "ab", count: 16)))
    try bytes(10).write(to: support.appendingPathComponent("letter.txt"))
    try FileManager.default.removeItem(at: first)
    var damaged = try Data(contentsOf: second)
    damaged[damaged.count / 2] ^= 1
    try damaged.write(to: second)
    let findings = try await films.verify()
    XCTAssertEqual(findings.count, 4, "\(findings)")
    for text in [
      "belongs to no value", "letter.txt", "missing: \(first.lastPathComponent)", "damaged or was exchanged: \(second.lastPathComponent)",
    ] {
      XCTAssertTrue(findings.contains { $0.contains(text) }, text)
    }
    // A quick check reads no content.
    let quick = try await films.verify(.quick)
    XCTAssertEqual(quick.count, 3)
    let count = try await films.unlock().sweepExternalFiles()
    XCTAssertEqual(count, 1)
    let after = try await films.verify()
    XCTAssertEqual(after.count, 3)
  }

  func testVerificationReportsDanglingReferences() async throws {
    let films = try makeStore()
    try films.execute("INSERT INTO cipherdata_external (id, size, digest) VALUES (5, 10, x'00')")
    try films.execute("UPDATE \"Film\" SET \"poster\" = 77 WHERE \"title\" = '2'")
    let findings = try await films.verify()
    for text in ["refers to the large value 77, which is not listed", "no row refers to the large value 5", "large value 5 is missing"] {
      XCTAssertTrue(findings.contains { $0.contains(text) }, "\(text): \(findings)")
    }
    XCTAssertEqual(findings.count, 3)
  }

  func testOpeningRemovesLeftoversOfADeadWriter() async throws {
    let films = try makeStore()
    let support = FilmStore.support(films.url)
    for number in 0..<3 { try bytes(9).write(to: support.appendingPathComponent(String(repeating: "\(number)a", count: 16))) }
    try Data().write(to: support.appendingPathComponent("pending"))
    XCTAssertEqual(films.files().count, 5)
    // A read-only store changes nothing.
    let reader = try films.open { $0.isReadOnly = true }
    XCTAssertEqual(try reader.poster("0"), bytes0())
    try reader.close()
    XCTAssertEqual(films.files().count, 5)
    let store = try films.open()
    XCTAssertEqual(films.files().count, 2)
    XCTAssertFalse(films.isPending)
    try store.close()
  }

  func testStoresAreReplacedAndDestroyedWithTheirFiles() async throws {
    let films = try makeStore()
    let target = films.folder.file("target.store")
    try await films.unlock().backUp(to: target)
    let coordinator = PersistentStoreCoordinator(compiledModel: try FilmStore.model())
    try await coordinator.destroyPersistentStore(with: PersistentStoreDescription(url: target))
    XCTAssertFalse(FileManager.default.fileExists(atPath: FilmStore.support(target).path))
    try await check(films)
  }

  func testMigrationKeepsLargeValuesAndRemovesUnusedOnes() async throws {
    let films = try FilmStore()
    func model(_ version: String, _ properties: [AttributeDescription], others: Bool) throws -> CompiledModel {
      var entity = EntityDescription(name: "Film")
      entity.properties = properties.map { .attribute($0) }
      var clip = EntityDescription(name: "Clip")
      var data = AttributeDescription(name: "data", type: .binary, isOptional: true)
      data.allowsExternalBinaryDataStorage = true
      clip.properties = [.attribute(data)]
      var model = ManagedObjectModel(entities: others ? [entity, clip] : [entity])
      model.versionIdentifiers = [version]
      return try CompiledModel(model)
    }
    func attribute(_ name: String, _ type: AttributeType, external: Bool = false, was: String? = nil) -> AttributeDescription {
      var attribute = AttributeDescription(name: name, type: type, isOptional: true)
      attribute.allowsExternalBinaryDataStorage = external
      attribute.renamingIdentifier = was
      return attribute
    }
    let first = try model(
      "1", [attribute("title", .string), attribute("poster", .binary, external: true), attribute("cut", .binary, external: true)],
      others: true)
    let second = try model(
      "2", [attribute("title", .string), attribute("picture", .binary, was: "poster"), attribute("year", .integer32)], others: false)
    var store = try films.open(first)
    let context = store.newContext()
    try context.insert("Film", ["title": "A", "poster": bytes(200_000), "cut": bytes(200_000, 2)])
    try context.insert("Clip", ["data": bytes(200_000, 3)])
    try context.save()
    XCTAssertEqual(films.files().count, 3)
    try store.close()
    store = try films.open(second)
    try store.withFilm("A") { film, _ in XCTAssertEqual(try film.value(forKey: "picture") as? Data, bytes(200_000)) }
    let found = try await films.verify()
    XCTAssertEqual(found, [])
    // The next save removes unreferenced files.
    try store.withFilm("A") { film, context in
      try film.setValue(Int32(1999), forKey: "year")
      try context.save()
    }
    XCTAssertEqual(films.files().count, 1)
    try store.withFilm("A") { film, _ in XCTAssertEqual(try film.value(forKey: "picture") as? Data, bytes(200_000)) }
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }
}
