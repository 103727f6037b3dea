import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Compaction of stores, and the statistics that the query planner uses.
final class CompactionTests: XCTestCase {
  private static let key = StoreKey.passphrase("correct horse", .cheapForTests())

  /// A store of films, some with posters in files, after most of them were deleted. It has a case-insensitive index, a full-text index and
  /// a history.
  private func store(_ count: Int = 600, keeping kept: Int = 60) throws -> FilmStore {
    let films = try FilmStore(key: Self.key)
    let store = try open(films)
    let context = store.newContext()
    for number in 0..<count {
      let film = try context.insert("Film", ["title": "Film \(number)", "plain": FilmStore.bytes(3_000, number)])
      if number % 100 == 0 { try film.setValue(FilmStore.bytes(150_000, number), forKey: "poster") }
    }
    try context.save()
    for (index, film) in try context.all("Film").enumerated() where index >= kept { context.delete(film) }
    try context.save()
    try store.close()
    return films
  }

  private static func model() throws -> CompiledModel {
    var film = EntityDescription(name: "Film")
    var poster = AttributeDescription(name: "poster", type: .binary, isOptional: true)
    poster.allowsExternalBinaryDataStorage = true
    film.properties = [
      .attribute(AttributeDescription(name: "title", type: .string, isOptional: true)), .attribute(poster),
      .attribute(AttributeDescription(name: "plain", type: .binary, isOptional: true)),
    ]
    var folded = FetchIndexElement(property: "title")
    folded.collation = .caseAndDiacriticInsensitive
    film.indexes = [
      FetchIndexDescription(name: "byTitle", elements: [FetchIndexElement(property: "title")]),
      FetchIndexDescription(name: "folded", elements: [folded]),
      FetchIndexDescription(name: "words", elements: [.fullText("title")]),
    ]
    return try CompiledModel(ManagedObjectModel(entities: [film]))
  }

  private func open(_ films: FilmStore) throws -> OpenStore {
    try films.open(Self.model()) { $0.historyTracking = true }
  }

  /// The contents of all remaining films, ordered by key.
  private func contents(_ films: FilmStore) throws -> [String] {
    let store = try open(films)
    defer { try? store.close() }
    return try store.newContext().all("Film").map { film in
      let poster = try film.externalData(forKey: "poster")?.data()
      let plain = try film.value(forKey: "plain") as? Data
      return "\(film.objectID) \(film.text("title") ?? "") \(plain?.base64EncodedString() ?? "") \(poster?.base64EncodedString() ?? "")"
    }.sorted()
  }

  private func names(_ films: FilmStore) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: films.url.deletingLastPathComponent().path).sorted()
  }

  func testCompactedStoreIsSmallerWithTheSameContent() async throws {
    let films = try store()
    XCTAssertEqual(chmod(films.url.path, 0o640), 0)
    let (before, files) = (try contents(films), films.files())
    let keyFile = try Data(contentsOf: URL(fileURLWithPath: films.url.path + ".keys"))
    let historyBefore = try await history(films)
    let salt = try Data(contentsOf: films.url).prefix(16)
    let file = try await films.unlock()
    let old = try await file.information()
    XCTAssertGreaterThan(old.freePageCount, old.pageCount / 2)

    let result = try await file.compact()

    let new = try await file.information()
    XCTAssertEqual(new.freePageCount, 0)
    XCTAssertEqual(result.bytesBefore, old.fileSize + old.logSize)
    XCTAssertEqual(result.bytesAfter, new.fileSize)
    XCTAssertLessThan(result.bytesAfter, result.bytesBefore / 2)
    XCTAssertEqual(try contents(films), before)
    XCTAssertEqual(films.files(), files)
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: films.url.path + ".keys")), keyFile)
    let historyAfter = try await history(films)
    XCTAssertEqual(historyAfter, historyBefore)
    XCTAssertFalse(historyBefore.isEmpty)
    XCTAssertEqual(new.storeIdentifier, old.storeIdentifier)
    XCTAssertEqual(new.formatVersion, old.formatVersion)
    XCTAssertEqual(try Data(contentsOf: films.url).prefix(16), salt)
    let mode = try FileManager.default.attributesOfItem(atPath: films.url.path)[.posixPermissions] as? NSNumber
    XCTAssertEqual(mode?.intValue, 0o640)
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
    XCTAssertFalse(try names(films).contains("films.store.new"))
  }

  private func history(_ films: FilmStore) async throws -> [String] {
    let store = try open(films)
    defer { try? store.close() }
    var lines: [String] = []
    for try await transaction in store.coordinator.history(after: nil) {
      lines.append("\(transaction.transactionNumber) \(transaction.changes?.count ?? 0)")
    }
    return lines
  }

  func testRecentlyCompactedStoreIsUnchanged() async throws {
    let films = try store(40, keeping: 40)
    let file = try await films.unlock()
    let first = try await file.compact()
    let second = try await file.compact()
    XCTAssertEqual(second.bytesBefore, first.bytesAfter)
    XCTAssertEqual(second.bytesAfter, first.bytesAfter)
  }

  func testAStoreInUseIsRejectedAndUnchanged() async throws {
    let films = try store(40, keeping: 4)
    let open = try open(films)
    _ = try open.newContext().all("Film")
    let file = try await films.unlock()
    do {
      try await file.compact()
      XCTFail("another process has the store open")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .busy)
    }
    XCTAssertEqual(try open.newContext().all("Film").count, 4)
    try open.close()
    XCTAssertFalse(try names(films).contains("films.store.new"))
    try await file.compact()
    XCTAssertEqual(try contents(films).count, 4)
  }

  func testProgressIncreasesAndCanCancel() async throws {
    let films = try store(3_000, keeping: 2_500)
    let before = try contents(films)
    let file = try await films.unlock()
    let reported = Mutex<[(Int, Int)]>([])
    do {
      try await file.compact { done, total in
        reported.withLock { $0.append((done, total)) }
        return false
      }
      XCTFail("the task was canceled")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .cancelled)
      XCTAssertEqual(error.operation, .compact)
    }
    XCTAssertEqual(reported.withLock { $0.count }, 1)
    XCTAssertFalse(try names(films).contains("films.store.new"))
    XCTAssertEqual(try contents(films), before)

    reported.withLock { $0 = [] }
    try await file.compact { done, total in
      reported.withLock { $0.append((done, total)) }
      return true
    }
    let steps = reported.withLock { $0 }
    XCTAssertEqual(steps.map(\.0), steps.map(\.0).sorted())
    XCTAssertEqual(Set(steps.map(\.1)).count, 1)
    XCTAssertEqual(steps.last?.0, steps.last?.1)
    XCTAssertGreaterThan(steps.count, 3)
  }

  func testADamagedStoreIsNotCompacted() async throws {
    let films = try store(40, keeping: 30)
    let file = try await films.unlock()
    let pages = try await file.information().pageCount
    let handle = try FileHandle(forUpdating: films.url)
    for page in 2..<pages where page % 3 == 0 {
      try handle.seek(toOffset: UInt64(page * 4_096 + 100))
      try handle.write(contentsOf: Data([1, 2, 3, 4]))
    }
    try handle.close()
    let bytes = try Data(contentsOf: films.url)
    do {
      try await file.compact()
      XCTFail("pages are damaged")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .storeCorrupt)
    }
    XCTAssertEqual(try Data(contentsOf: films.url).count, bytes.count)
    XCTAssertFalse(try names(films).contains("films.store.new"))
  }

  func testCompactionFollowsSymbolicLinks() async throws {
    let films = try store(200, keeping: 10)
    let link = films.folder.file("elsewhere")
    try FileManager.default.createDirectory(at: link, withIntermediateDirectories: false)
    let place = link.appendingPathComponent("films.store")
    for suffix in ["", ".keys"] {
      try FileManager.default.moveItem(atPath: films.url.path + suffix, toPath: place.path + suffix)
    }
    try FileManager.default.createSymbolicLink(at: films.url, withDestinationURL: place)
    let before = try Data(contentsOf: place).count
    try await films.unlock().compact()
    XCTAssertEqual(try FileManager.default.destinationOfSymbolicLink(atPath: films.url.path), place.path)
    XCTAssertLessThan(try Data(contentsOf: place).count, before)
    XCTAssertEqual(try films.open(Self.model()).newContext().all("Film").count, 10)
  }

  func testLeftoversOfAKilledCompactionAreReportedAndRemoved() async throws {
    let films = try store(40, keeping: 4)
    let copy = films.url.path + ".new"
    for sweeps in [true, false] {
      try Data(count: 10_000).write(to: URL(fileURLWithPath: copy))
      let file = try await films.unlock()
      let findings = try await file.findings(.quick)
      XCTAssertEqual(findings.map(\.kind), [.leftover])
      XCTAssertTrue(findings[0].description.contains("films.store.new"))
      if sweeps {
        let count = try await file.sweepExternalFiles()
        XCTAssertEqual(count, 1)
      } else {
        try open(films).close()
      }
      XCTAssertFalse(FileManager.default.fileExists(atPath: copy))
    }
  }

  func testKilledCompactionLeavesTheOldOrTheNewStore() async throws {
    guard ProcessInfo.processInfo.environment["CIPHERDATA_COMPACTION"] == nil else { return }
    let films = try store(2_000, keeping: 500)
    let before = try contents(films)
    var random = SeededGenerator(seed: 77)
    let rounds = ProcessInfo.processInfo.environment["CIPHERDATA_CRASH_ROUNDS"].flatMap(Int.init) ?? 8
    for round in 0..<rounds {
      let process = Process()
      let pipe = Pipe()
      process.executableURL = URL(fileURLWithPath: try XCTUnwrap(CommandLine.arguments.first))
      process.arguments = ["SQLCipherStoreTests.CompactionTests/testChildProcessEntryPoint"]
      process.environment = ProcessInfo.processInfo.environment.merging(["CIPHERDATA_COMPACTION": films.url.path]) { $1 }
      process.standardOutput = pipe
      process.standardError = FileHandle.nullDevice
      try process.run()
      var output = Data()
      while !output.contains(Data("ACK\n".utf8)) {
        let data = pipe.fileHandleForReading.availableData
        if data.isEmpty { break }
        output += data
      }
      usleep(UInt32(random.next() % 250_000))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      XCTAssertTrue(output.contains(Data("ACK\n".utf8)), "round \(round)")
      let damage = try await films.unlock().verify(.full)
      XCTAssertEqual(damage, [], "round \(round)")
      XCTAssertEqual(try contents(films), before, "round \(round)")
      XCTAssertFalse(try names(films).contains { $0.hasSuffix(".new") }, "round \(round)")
    }
  }

  /// The entry point of the child process that the test kills.
  func testChildProcessEntryPoint() async throws {
    guard let path = ProcessInfo.processInfo.environment["CIPHERDATA_COMPACTION"] else { return }
    let file = try await SQLCipherStoreFile.unlock(at: URL(fileURLWithPath: path), key: Self.key)
    while true {
      FileHandle.standardOutput.write(Data("ACK\n".utf8))
      try await file.compact()
    }
  }

  func testStatisticsAreCountedAndRemovedAndChangeNoResult() async throws {
    let films = try store(200, keeping: 100)
    let before = try contents(films)
    let file = try await films.unlock()
    func tables() throws -> [String] {
      let keyring = try waitFor { [path = films.url.path] in try await StoreKeyring.unlock(storePath: path, key: Self.key) }
      let connection = try Connection(opening: films.url.path, key: try keyring.databaseKey())
      defer { connection.close() }
      return try connection.objects(.statistics).map(\.name)
    }
    XCTAssertEqual(try tables(), [])
    let open = try open(films)
    // Statistics can be updated while the store is open.
    try await file.updateStatistics()
    XCTAssertEqual(try open.newContext().all("Film").count, 100)
    try open.close()
    XCTAssertEqual(try tables(), ["sqlite_stat1"])
    XCTAssertEqual(try contents(films), before)
    var findings = try await films.verify()
    XCTAssertEqual(findings, [])
    // Compaction and backup preserve the statistics.
    let result = try await file.compact()
    XCTAssertGreaterThan(result.bytesAfter, 0)
    XCTAssertEqual(try tables(), ["sqlite_stat1"])
    try await file.removeStatistics()
    XCTAssertEqual(try tables(), [])
    try await file.compact(updatesStatistics: true)
    XCTAssertEqual(try tables(), ["sqlite_stat1"])
    XCTAssertEqual(try contents(films), before)
    findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }
}
