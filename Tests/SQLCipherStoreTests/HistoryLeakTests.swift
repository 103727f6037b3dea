import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// No file of a store or next to it reveals its history: values, authors, contexts, consumers, names.
final class HistoryLeakTests: XCTestCase {
  /// Byte sequences that must not occur: part of every value that the test writes, and names of the schema. None is short enough to occur
  /// by chance.
  private static let secrets = ["MARKER", "poster", "cipherdata_history", "CREATE TABLE", "INSERT", "properties", "values"]
    .flatMap { [Data($0.utf8), $0.data(using: .utf16LittleEndian) ?? Data()] }

  /// Scans all files in the store's folder.
  ///
  /// - Returns: The names of the files.
  @discardableResult
  private func scan(_ films: FilmStore, _ moment: String) throws -> Set<String> {
    var names: Set<String> = []
    for case let file as URL in try XCTUnwrap(FileManager.default.enumerator(at: films.folder.url, includingPropertiesForKeys: nil)) {
      names.insert(file.lastPathComponent)
      guard let data = try? Data(contentsOf: file) else { continue }
      for secret in Self.secrets {
        XCTAssertNil(data.range(of: secret), "\(moment): \(file.lastPathComponent) has “\(String(decoding: secret, as: UTF8.self))”")
      }
    }
    return names
  }

  private func edit(_ context: ManagedObjectContext) throws {
    context.transactionAuthor = "MARKER-AUTHOR"
    context.name = "MARKER-CONTEXT"
    let poster = Data("MARKER-POSTER".utf8)
    var large = poster
    while large.count < 200_000 { large.append(poster) }
    for number in 0..<200 { _ = try context.make("Film", ["title": "MARKER-TITLE-\(number)", "plain": poster]) }
    _ = try context.make("Film", ["title": "MARKER-LARGE", "poster": large])
    try context.save()
    for film in try context.fetch(FetchRequest<ManagedObject>(entityName: "Film")) {
      try film.setValue("MARKER-NEW-TITLE", forKey: "title")
    }
    try context.save()
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Film")).prefix(50).forEach(context.delete)
    try context.save()
  }

  func testNoFileRevealsHistoryContent() async throws {
    let films = try FilmStore()
    let store = try films.open { description in
      (description.historyTracking, description.historyLevel) = (true, .values)
      description.postsRemoteChangeNotifications = true
    }
    let context = ManagedObjectContext(coordinator: store.coordinator)
    try store.coordinator.registerHistoryConsumer("MARKER-CONSUMER")
    // A pinned reader keeps the log, with every version of every page.
    let pinned = ManagedObjectContext(coordinator: store.coordinator)
    try pinned.setQueryGeneration(from: .current)
    XCTAssertEqual(try pinned.count(for: FetchRequest<ManagedObject>(entityName: "Film")), 0)
    try edit(context)
    let names = try scan(films, "with a log")
    XCTAssertTrue(names.isSuperset(of: ["films.store", "films.store-wal", "films.store-shm", "films.store-changes"]), "\(names)")
    XCTAssertGreaterThan(try Data(contentsOf: URL(fileURLWithPath: films.url.path + "-wal")).count, 50_000)

    let transactions = try context.execute(.fetchHistory(after: nil)).transactions
    XCTAssertEqual(transactions.last?.author, "MARKER-AUTHOR")
    XCTAssertEqual(transactions.count, 3)
    try store.coordinator.markHistoryConsumed(upTo: try XCTUnwrap(transactions.last?.token), by: "MARKER-CONSUMER")
    _ = try context.execute(.deleteHistory(before: transactions.last?.token))
    try scan(films, "after a purge")
    try pinned.setQueryGeneration(from: nil)
    try store.coordinator.removeHistoryConsumer("MARKER-CONSUMER")
    try store.close()
    try scan(films, "closed")

    let backup = films.folder.file("backup.store")
    try await films.unlock().backUp(to: backup)
    try scan(films, "with a backup")
    try films.open { $0.historyTracking = false }.close()
    try scan(films, "switched off")
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }
}
