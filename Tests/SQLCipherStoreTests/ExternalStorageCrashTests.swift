import Foundation
import ObjectContext
import ObjectStore
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Processes killed while they save large values: every reference has its file, and no unreferenced file remains.
final class ExternalStorageCrashTests: XCTestCase {
  /// The number of processes to kill. The environment can increase it.
  private var rounds: Int { ProcessInfo.processInfo.environment["CIPHERDATA_CRASH_ROUNDS"].flatMap(Int.init) ?? 8 }
  private var random = SeededGenerator(seed: 4_711)

  func testKilledSaveLeavesNoDanglingReferencesOrOrphans() async throws {
    guard ProcessInfo.processInfo.environment["CIPHERDATA_EXTERNAL_CRASH"] == nil else { return }
    let films = try FilmStore()
    try films.open().close()
    var leftOver = 0
    for round in 0..<rounds {
      let child = try Victim("save", films.url.path)
      let acknowledged = child.kill(after: Int(random.next() % 6) + 1, microseconds: UInt32(random.next() % 12_000))
      // Before any sweep, every reference has its complete file.
      let before = try await films.verify()
      XCTAssertTrue(before.allSatisfy { $0.contains("belongs to no value") }, "round \(round): \(before)")
      leftOver += before.count
      let damage = try await films.unlock().verify(.full)
      XCTAssertEqual(damage, [], "round \(round)")
      let store = try films.open()
      let titles = Set(try store.newContext().all("Film").compactMap { $0.text("title") })
      for title in acknowledged { XCTAssertTrue(titles.contains(title), "round \(round): \(title) is lost") }
      for title in titles {
        let seed = Int(title.split(separator: "/").last ?? "") ?? 0
        XCTAssertEqual(try store.poster(title), FilmStore.bytes(140_000 + seed, seed), "round \(round)")
      }
      XCTAssertEqual(films.files().count, titles.count, "round \(round)")
      try store.close()
      let after = try await films.verify()
      XCTAssertEqual(after, [], "round \(round)")
    }
    print("files left over by \(rounds) killed processes: \(leftOver)")
  }

  func testKilledBatchRequestLeavesNoDanglingReferencesOrOrphans() async throws {
    guard ProcessInfo.processInfo.environment["CIPHERDATA_EXTERNAL_CRASH"] == nil else { return }
    let films = try FilmStore()
    try films.open().close()
    var leftOver = 0
    for round in 0..<rounds {
      let child = try Victim("batch", films.url.path)
      let acknowledged = child.kill(after: Int(random.next() % 6) + 1, microseconds: UInt32(random.next() % 40_000))
      let before = try await films.verify()
      XCTAssertTrue(before.allSatisfy { $0.contains("belongs to no value") }, "round \(round): \(before)")
      leftOver += before.count
      let store = try films.open()
      // A request affects all rows or none.
      let values = try store.newContext().all("Film").map { try XCTUnwrap($0.value(forKey: "poster") as? Data) }
      XCTAssertLessThanOrEqual(Set(values).count, 1, "round \(round)")
      XCTAssertTrue(values.isEmpty || values.count == BatchVictim.rowCount, "round \(round): \(values.count)")
      if let number = acknowledged.last.flatMap(Int.init), let value = values.first {
        // The process may have committed more than it could report.
        XCTAssertTrue((number...number + 1).contains { BatchVictim.value($0) == value }, "round \(round): \(number)")
      }
      XCTAssertEqual(films.files().count, values.count, "round \(round)")
      try store.close()
      let after = try await films.verify()
      XCTAssertEqual(after, [], "round \(round)")
    }
    print("files left over by \(rounds) killed processes: \(leftOver)")
  }

  func testKilledRotationLeavesReadableFiles() async throws {
    guard ProcessInfo.processInfo.environment["CIPHERDATA_EXTERNAL_CRASH"] == nil else { return }
    let films = try FilmStore(key: .raw(SecretBytes([UInt8](repeating: 6, count: 32))))
    let store = try films.open()
    for number in 0..<6 { try store.addFilm("\(number)", FilmStore.bytes(200_000, number)) }
    try store.close()
    for round in 0..<rounds {
      let child = try Victim("rotate", films.url.path)
      _ = child.kill(after: 1 + round % 2, microseconds: UInt32(random.next() % 60_000))
      let store = try films.open()
      for number in 0..<6 { XCTAssertEqual(try store.poster("\(number)"), FilmStore.bytes(200_000, number), "round \(round)") }
      XCTAssertEqual(films.files().count, 6, "round \(round)")
      try store.close()
      let findings = try await films.verify()
      XCTAssertEqual(findings, [], "round \(round)")
    }
  }

  func testTwoProcessesSaveAndSweepSafely() async throws {
    guard ProcessInfo.processInfo.environment["CIPHERDATA_EXTERNAL_CRASH"] == nil else { return }
    let films = try FilmStore()
    try films.open().close()
    let child = try Victim("save", films.url.path)
    let file = try await films.unlock()
    for _ in 0..<60 {
      // Opening and sweeping must not remove the files of a concurrent save.
      _ = try await file.sweepExternalFiles()
      let store = try films.open()
      for film in try store.newContext().all("Film") {
        do { _ = try film.externalData(forKey: "poster")?.data() } catch let error as StoreError where error.code == .externalDataMissing {}
      }
      try store.close()
    }
    let acknowledged = child.kill(after: 3, microseconds: 0)
    XCTAssertFalse(acknowledged.isEmpty)
    let store = try films.open()
    for film in try store.newContext().all("Film") { XCTAssertNotNil(try film.externalData(forKey: "poster")?.data()) }
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }

  /// The entry point of the child process that the test kills.
  func testChildProcessEntryPoint() async throws {
    let environment = ProcessInfo.processInfo.environment
    guard let role = environment["CIPHERDATA_EXTERNAL_CRASH"], let path = environment["CIPHERDATA_EXTERNAL_PATH"] else { return }
    func acknowledge(_ text: String) { FileHandle.standardOutput.write(Data("ACK \(text)\n".utf8)) }
    let url = URL(fileURLWithPath: path)
    if role == "rotate" {
      let file = try await SQLCipherStoreFile.unlock(at: url, key: .raw(SecretBytes([UInt8](repeating: 6, count: 32))))
      for number in 0..<1_000 {
        acknowledge("\(number)")
        try await file.rotateDataKey()
      }
      return
    }
    var description = PersistentStoreDescription(url: url, key: FilmStore.databaseKey)
    description.durability = .fast
    let store = try OpenStore(description, model: try FilmStore.model())
    if role == "batch" {
      // Insert, update twice, delete; each affects all rows.
      for number in 0..<10_000 {
        let context = store.newContext()
        switch number % 4 {
        case 0:
          _ = try context.execute(BatchDeleteRequest(entityName: "Film"))
          _ = try context.execute(
            BatchInsertRequest(
              entityName: "Film", objects: (0..<BatchVictim.rowCount).map { ["title": "\($0)", "poster": BatchVictim.value(number)] }))
        case 1, 2:
          _ = try context.execute(BatchUpdateRequest(entityName: "Film", propertiesToUpdate: ["poster": BatchVictim.value(number)]))
        default: _ = try context.execute(BatchDeleteRequest(entityName: "Film"))
        }
        acknowledge("\(number)")
      }
      return
    }
    let run = UInt64.random(in: 0...UInt64.max)
    let context = store.newContext()
    var old: [ManagedObject] = try context.all("Film")
    for number in 1..<10_000 {
      // Insert, replace, delete and stream: in turn, and some of them combined.
      let film = try context.insert("Film", ["title": "\(run)/\(number)"])
      if number % 3 == 0 {
        let writer = try film.makeExternalDataWriter()
        try writer.write(FilmStore.bytes(140_000 + number, number))
        try film.setExternalData(writer.finish(), forKey: "poster")
      } else {
        try film.setValue(FilmStore.bytes(140_000 + number, number), forKey: "poster")
      }
      if old.count > 4 { context.delete(old.removeFirst()) }
      if number % 4 == 0, let first = old.first {
        let seed = number + 20_000
        try first.setValue("\(run)/\(seed)", forKey: "title")
        try first.setValue(FilmStore.bytes(140_000 + seed, seed), forKey: "poster")
      }
      try context.save()
      old.append(film)
      acknowledge("\(run)/\(number)")
    }
  }
}

/// The values that the batch process writes.
private enum BatchVictim {
  static let rowCount = 6
  static func value(_ number: Int) -> Data { FilmStore.bytes(140_000 + number, number) }
}

/// A child process of this test program that the test kills.
private struct Victim {
  private let process = Process()
  private let pipe = Pipe()

  init(_ role: String, _ path: String) throws {
    process.executableURL = URL(fileURLWithPath: try XCTUnwrap(CommandLine.arguments.first))
    process.arguments = ["SQLCipherStoreTests.ExternalStorageCrashTests/testChildProcessEntryPoint"]
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["CIPHERDATA_EXTERNAL_CRASH": role, "CIPHERDATA_EXTERNAL_PATH": path]) { $1 }
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  /// Kills the process a while after it has acknowledged `count` steps, and returns its last acknowledgment.
  func kill(after count: Int, microseconds: UInt32) -> [String] {
    func acknowledged(_ output: String) -> [String] {
      let lines = output.components(separatedBy: "\n").dropLast()
      return lines.compactMap { $0.hasPrefix("ACK ") ? String($0.dropFirst(4)) : nil }
    }
    let output = process.kill(reading: pipe, when: { acknowledged($0).count >= count }, microseconds: microseconds)
    return acknowledged(output).last.map { [$0] } ?? []
  }
}
