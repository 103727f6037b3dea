import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Batch requests store large values in files as saves do, one per row, and leave no unused files.
final class ExternalBatchTests: XCTestCase {
  private func bytes(_ count: Int, _ seed: Int = 1) -> Data { FilmStore.bytes(count, seed) }

  private func makeStore(_ count: Int) throws -> (films: FilmStore, store: OpenStore) {
    let films = try FilmStore()
    let store = try films.open(Self.model) { $0.externalStorageThreshold = 1_000 }
    let context = store.newContext()
    for number in 0..<count {
      try context.insert("Film", ["title": "\(number)", "poster": bytes(2_000, number), "plain": bytes(number < 2 ? 10 : 3_000, -number)])
    }
    try context.save()
    return (films, store)
  }

  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Film") {
        Attribute("title", .string)
        Attribute("poster", .binary).externalStorage()
        Attribute("cut", .binary).externalStorage()
        Attribute("plain", .binary)
        Unique("title")
      }
    }
    guard let compiled = try? CompiledModel(model) else { preconditionFailure("\(model.validationIssues())") }
    return compiled
  }()

  private func values(_ store: OpenStore, _ key: String) throws -> [String: Data] {
    var found: [String: Data] = [:]
    for film in try store.newContext().all("Film") { found[film.text("title") ?? ""] = try film.value(forKey: key) as? Data }
    return found
  }

  private func finish(_ films: FilmStore, _ store: OpenStore, fileCount: Int, line: UInt = #line) async throws {
    XCTAssertEqual(films.files().count, fileCount, line: line)
    XCTAssertFalse(films.isPending, line: line)
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [], line: line)
  }

  func testBatchUpdateGivesEachRowItsOwnFile() async throws {
    let (films, store) = try makeStore(5)
    let before = films.files()
    let request = BatchUpdateRequest(
      entityName: "Film", predicate: .compare("title", .notEqual, "4"), propertiesToUpdate: ["poster": bytes(5_000, 7)])
    XCTAssertEqual(try store.newContext().execute(request).count, 4)
    XCTAssertEqual(Set(films.files()).subtracting(before).count, 4)
    XCTAssertEqual(Set(before).intersection(films.files()).count, 1)
    XCTAssertEqual(
      try values(store, "poster"),
      ["0": bytes(5_000, 7), "1": bytes(5_000, 7), "2": bytes(5_000, 7), "3": bytes(5_000, 7), "4": bytes(2_000, 4)])
    // One row releases its file; the others keep theirs.
    try store.withFilm("2") { film, context in
      try film.setValue(nil, forKey: "poster")
      try context.save()
    }
    XCTAssertEqual(try values(store, "poster")["3"], bytes(5_000, 7))
    try await finish(films, store, fileCount: 4)
  }

  func testBatchUpdateToASmallOrNilValueRemovesTheFiles() async throws {
    let (films, store) = try makeStore(4)
    let context = store.newContext()
    _ = try context.execute(
      BatchUpdateRequest(entityName: "Film", predicate: .compare("title", .equal, "0"), propertiesToUpdate: ["poster": bytes(999)]))
    _ = try context.execute(
      BatchUpdateRequest(entityName: "Film", predicate: .compare("title", .equal, "1"), propertiesToUpdate: ["poster": nil as Data?]))
    XCTAssertEqual(try values(store, "poster"), ["0": bytes(999), "2": bytes(2_000, 2), "3": bytes(2_000, 3)])
    try await finish(films, store, fileCount: 2)
  }

  func testComputedLargeValuesOfABatchUpdateAreStoredInFiles() async throws {
    let (films, store) = try makeStore(4)
    // From values in rows, from values in files, and from both with one request.
    _ = try store.newContext().execute(
      BatchUpdateRequest(
        entityName: "Film", propertiesToUpdate: ["poster": FetchExpression.keyPath("plain"), "cut": FetchExpression.keyPath("poster")]))
    XCTAssertEqual(try values(store, "cut"), Dictionary(uniqueKeysWithValues: (0..<4).map { ("\($0)", bytes(2_000, $0)) }))
    XCTAssertEqual(
      try values(store, "poster"), Dictionary(uniqueKeysWithValues: (0..<4).map { ("\($0)", bytes($0 < 2 ? 10 : 3_000, -$0)) }))
    // Back into an attribute without external storage.
    _ = try store.newContext().execute(
      BatchUpdateRequest(entityName: "Film", propertiesToUpdate: ["plain": FetchExpression.keyPath("cut")]))
    XCTAssertEqual(try values(store, "plain"), try values(store, "cut"))
    try await finish(films, store, fileCount: 6)
  }

  func testFailedBatchUpdateLeavesFilesUnchanged() async throws {
    struct Stop: Error {}
    let (films, store) = try makeStore(4)
    let before = films.files()
    // A constraint violation is found after the values were written.
    assertStoreError(.constraintConflict) {
      try store.newContext().execute(
        BatchUpdateRequest(
          entityName: "Film", propertiesToUpdate: ["title": "same", "poster": bytes(5_000), "cut": FetchExpression.keyPath("plain")]))
    }
    XCTAssertEqual(films.files(), before)
    // A transaction, and a savepoint in one.
    let context = store.newContext()
    let request = BatchUpdateRequest(entityName: "Film", propertiesToUpdate: ["poster": bytes(5_000)])
    XCTAssertThrowsError(
      try context.performTransaction {
        _ = try context.execute(request)
        XCTAssertEqual(films.files().count, 8)
        throw Stop()
      })
    XCTAssertEqual(films.files(), before)
    try context.performTransaction {
      XCTAssertThrowsError(
        try context.performTransaction {
          _ = try context.execute(request)
          throw Stop()
        })
      _ = try context.execute(
        BatchUpdateRequest(entityName: "Film", predicate: .compare("title", .equal, "0"), propertiesToUpdate: ["cut": bytes(3_000)]))
    }
    XCTAssertEqual(try values(store, "poster"), Dictionary(uniqueKeysWithValues: (0..<4).map { ("\($0)", bytes(2_000, $0)) }))
    try await finish(films, store, fileCount: 5)
  }

  func testBatchUpdateReportsFileWriteErrorsLikeASave() throws {
    let films = try FilmStore()
    let store = try films.open(Self.model)
    let context = store.newContext()
    try context.insert("Film", ["title": "A"])
    try context.save()
    try Data().write(to: FilmStore.support(films.url))
    var codes: [StoreError.Code] = []
    func note(_ body: () throws -> Void) throws {
      XCTAssertThrowsError(try body()) { if let error = $0 as? StoreError { codes.append(error.code) } else { XCTFail("\($0)") } }
    }
    try note {
      try context.insert("Film", ["title": "B", "poster": bytes(200_000)])
      try context.save()
    }
    try note { _ = try context.execute(BatchUpdateRequest(entityName: "Film", propertiesToUpdate: ["poster": bytes(200_000)])) }
    XCTAssertEqual(codes.count, 2)
    XCTAssertEqual(codes.first, codes.last)
    try FileManager.default.removeItem(at: FilmStore.support(films.url))
    XCTAssertEqual(try values(store, "poster"), [:])
    try store.close()
  }

  func testUpsertReplacesFilesOfMatchingRows() async throws {
    let (films, store) = try makeStore(4)
    let before = films.files()
    let objects: [[String: Any]] = (2..<6).map { ["title": "\($0)", "poster": bytes($0 == 3 ? 10 : 6_000, $0)] }
    let result = try store.newContext().execute(BatchInsertRequest(entityName: "Film", objects: objects, onConflict: .update()))
    XCTAssertEqual(result.count, 4)
    XCTAssertEqual(Set(films.files()).intersection(before).count, 2)
    XCTAssertEqual(
      try values(store, "poster"),
      [
        "0": bytes(2_000, 0), "1": bytes(2_000, 1), "2": bytes(6_000, 2), "3": bytes(10, 3), "4": bytes(6_000, 4), "5": bytes(6_000, 5),
      ])
    // Skipped rows leave no files.
    _ = try store.newContext().execute(BatchInsertRequest(entityName: "Film", objects: objects, onConflict: .ignore))
    try await finish(films, store, fileCount: 5)
  }

  func testRandomRequestsLeaveOneFilePerLargeValue() async throws {
    for seed in 1...6 {
      var random = SeededGenerator(seed: UInt64(seed))
      let (films, store) = try makeStore(0)
      var expected: [String: Data] = [:]
      func value() -> Data? {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: nil
        case 1: bytes(Int.random(in: 0..<1_000, using: &random), Int.random(in: 0..<100, using: &random))
        default: bytes(Int.random(in: 1_000..<70_000, using: &random), Int.random(in: 0..<100, using: &random))
        }
      }
      for step in 0..<40 {
        let title = "\(Int.random(in: 0..<8, using: &random))"
        let context = store.newContext()
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1:
          let objects = Set((0..<4).map { _ in "\(Int.random(in: 0..<8, using: &random))" }).sorted().map { ($0, value()) }
          for (title, value) in objects { expected[title] = .some(value ?? Data()) }
          _ = try context.execute(
            BatchInsertRequest(
              entityName: "Film", objects: objects.map { ["title": $0.0, "poster": $0.1 ?? Data()] }, onConflict: .update()))
        case 2:
          let new = value() ?? Data()
          for known in expected.keys where known <= title { expected[known] = new }
          _ = try context.execute(
            BatchUpdateRequest(
              entityName: "Film", predicate: .compare("title", .lessOrEqual, title), propertiesToUpdate: ["poster": new]))
        case 3:
          expected[title] = nil
          _ = try context.execute(BatchDeleteRequest(entityName: "Film", predicate: .compare("title", .equal, title)))
        default:
          guard expected[title] != nil else { continue }
          let new = value() ?? Data()
          expected[title] = new
          try store.withFilm(title) { film, context in
            try film.setValue(new, forKey: "poster")
            try context.save()
          }
        }
        XCTAssertEqual(films.files().count, expected.values.filter { $0.count >= 1_000 }.count, "seed \(seed), step \(step)")
      }
      XCTAssertEqual(try values(store, "poster"), expected, "seed \(seed)")
      try await finish(films, store, fileCount: expected.values.filter { $0.count >= 1_000 }.count)
    }
  }
}
