package import Foundation
package import ObjectContext
package import ObjectModel
import ObjectQuery
package import ObjectStore
package import SQLCipherStore
package import StoreKeys
import XCTest
package import _StoreSpecification
import _TestSupport

/// The two models of a store of films. Lightweight migration leads from the first to the second.
package enum ProofModel {
  package static func model(_ version: Int) throws -> CompiledModel { try CompiledModel(version == 1 ? first : second) }

  package static let first = ManagedObjectModel(version: "1") {
    Entity("Film") {
      Attribute("title", .string).required()
      Attribute("year", .integer64)
      Attribute("poster", .binary).externalStorage()
      Relationship("tags", toMany: "Tag", inverse: "films")
      Index("byYear", on: "year")
    }
    Entity("Tag") {
      Attribute("name", .string).required()
      Relationship("films", toMany: "Film", inverse: "tags")
    }
  }

  package static let second = ManagedObjectModel(version: "2") {
    Entity("Film") {
      Attribute("title", .string).required()
      Attribute("made", .integer64).renamed(from: "year")
      Attribute("rating", .integer64).required().initially(5)
      Attribute("poster", .binary).externalStorage()
      Relationship("tags", toMany: "Tag", inverse: "films").ordered()
      Index("byRating", on: "rating")
    }
    Entity("Tag") {
      Attribute("name", .string).required()
      Relationship("films", toMany: "Film", inverse: "tags")
    }
  }
}

/// The options for opening a test store.
package struct ProofSettings: Codable, Sendable {
  package var key = UInt8(1)
  package var model = 1
  package var isFast = false
  package var hasHistory = false
  /// Whether the store observes remote changes.
  package var observesOthers = false
  /// Whether a missing store is created.
  package var makesStore = true
  /// Whether a migration makes a backup first.
  package var backsUp = false
  /// A passphrase to use instead of the raw key.
  package var passphrase: String?
  /// The time to wait for a lock, in seconds.
  package var patience = 0.05

  package init(key: UInt8 = 1, hasHistory: Bool = false, patience: Double = 0.05) {
    (self.key, self.hasHistory, self.patience) = (key, hasHistory, patience)
  }

  /// Returns a raw key.
  package static func key(_ number: UInt8) -> StoreKey { .raw(SecretBytes([UInt8](repeating: number, count: 32))) }

  private var storeKey: StoreKey { passphrase.map { .passphrase($0, .cheapForTests()) } ?? Self.key(key) }

  package func description(_ url: URL) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url, key: storeKey)
    description.createsStore = makesStore
    description.durability = isFast ? .fast : .full
    description.externalStorageThreshold = 3_000
    // A small cache moves pages to the log before the commit.
    description.cacheSize = 64 << 10
    description.busyTimeout = patience
    if hasHistory { description.historyTracking = true }
    if backsUp { description.migrationBackupURL = url.deletingLastPathComponent().appendingPathComponent("before.store") }
    description.postsRemoteChangeNotifications = observesOthers
    return description
  }

  package func open(_ url: URL) throws -> OpenStore { try OpenStore(description(url), model: ProofModel.model(model)) }

  package func unlock(_ url: URL) throws -> SQLCipherStoreFile {
    let key = storeKey
    return try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key) }
  }

  /// Returns the damage that verification finds.
  package func damage(_ url: URL) throws -> [String] {
    let file = try unlock(url)
    return try waitFor { try await file.verify(.full) }
  }

  /// Opens the store, reads its contents, and closes it.
  package func contents(_ url: URL) throws -> [String] {
    let store = try open(url)
    let contents: [String]
    do { contents = try store.contents() } catch {
      try? store.close()
      throw error
    }
    try store.close()
    return contents
  }
}

extension OpenStore {
  /// The contents of the store and its history, in a notation common to both models.
  package func contents() throws -> [String] {
    let context = newContext()
    let yearName = try entity("Film").slots.contains { $0.name == "made" } ? "made" : "year"
    var lines = try context.all("Film").map { film in
      let year = film[yearName]
      let poster = try film.externalData(forKey: "poster")?.data()
      return ProofFilm.line(
        film.text("title") ?? "?", year: (year as? Int64).map(Int.init) ?? year as? Int, poster: poster,
        tags: film.members("tags").compactMap { $0.text("name") })
    }
    lines += try context.all("Tag").map { "tag \($0.text("name") ?? "?")" }
    if let error = context.pendingError { throw error }
    if try persistentStore.historyLevel != nil {
      lines.append("history \(try coordinator.execute(.fetchHistory(after: nil)).transactions.count)")
    }
    return lines.sorted()
  }

  /// Inserts films, each with a tag, in one save.
  package func addFilms(_ titles: [String], poster: Int? = nil) throws {
    let context = newContext()
    let tag = try context.insert("Tag", ["name": "tag of \(titles.first ?? "")"])
    let isOrdered = try relationship("Film", "tags").isOrdered
    for (number, title) in titles.enumerated() {
      let film = try context.insert("Film", ["title": title])
      if isOrdered { try film.setValue([tag], forKey: "tags") } else { try film.setValue(Set([tag]), forKey: "tags") }
      if let poster { try film.setValue(Self.bytes(poster + number, title.count + number), forKey: "poster") }
    }
    try context.save()
  }

  /// Changes the films with the given titles in one save.
  package func edit(_ titles: Set<String>, _ body: (ManagedObject, ManagedObjectContext) throws -> Void) throws {
    let context = newContext()
    for film in try context.all("Film") where titles.contains(film.text("title") ?? "") { try body(film, context) }
    try context.save()
  }

  /// Returns bytes that depend on `seed`.
  package static func bytes(_ count: Int, _ seed: Int) -> Data {
    var data = Data(count: count)
    data.withUnsafeMutableBytes { bytes in
      var value = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1
      for offset in stride(from: 0, to: bytes.count & ~7, by: 8) {
        value ^= value << 13
        value ^= value >> 7
        value ^= value << 17
        bytes.storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
      }
    }
    return data
  }
}
