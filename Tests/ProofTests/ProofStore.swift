// ProofStore: the models and stores that proofs work with, and all that is in one.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _StoreSpecification

/// The models of a store of films: the second one follows from the first by what is inferred.
enum ProofModel {
  static func model(_ version: Int) throws -> CompiledModel { try CompiledModel(version == 1 ? first : second) }

  private static let first = ManagedObjectModel(version: "1") {
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

  private static let second = ManagedObjectModel(version: "2") {
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

/// How a proof's store is opened.
struct ProofSettings: Codable, Sendable {
  var key = UInt8(1)
  var model = 1
  var isFast = false
  var hasHistory = false

  static func key(_ number: UInt8) -> StoreKey { .raw(SecretBytes([UInt8](repeating: number, count: 32))) }

  func description(_ url: URL) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url, key: Self.key(key))
    description.durability = isFast ? .fast : .full
    description.externalStorageThreshold = 3_000
    // Pages leave the memory before a commit, and nobody waits long for a lock.
    description.cacheSize = 64 << 10
    description.busyTimeout = 0.05
    if hasHistory { description.historyTracking = true }
    return description
  }

  func open(_ url: URL) throws -> OpenStore { try OpenStore(description(url), model: ProofModel.model(model)) }

  func unlock(_ url: URL) throws -> SQLCipherStoreFile {
    let key = Self.key(key)
    return try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key) }
  }

  /// What is damaged.
  func damage(_ url: URL) throws -> [String] {
    let file = try unlock(url)
    return try waitFor { try await file.verify(.full) }
  }

  /// Opens the store, and closes it.
  func contents(_ url: URL) throws -> [String] {
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
  /// All that the store holds, in words that are the same for both models; its history too.
  func contents() throws -> [String] {
    let context = newContext()
    let yearName = try entity("Film").slots.contains { $0.name == "made" } ? "made" : "year"
    var lines = try context.all("Film").map { film in
      let year = film[yearName]
      let poster = try film.externalData(forKey: "poster")?.data()
      let tags = film.members("tags").compactMap { $0.text("name") }.sorted().joined(separator: ",")
      return "\(film.text("title") ?? "?") \(year ?? "-") \(poster.map { "\($0.count) \(Self.sum($0))" } ?? "-") [\(tags)]"
    }
    lines += try context.all("Tag").map { "tag \($0.text("name") ?? "?")" }
    if let error = context.pendingError { throw error }
    if try persistentStore.historyLevel != nil {
      lines.append("history \(try coordinator.execute(.fetchHistory(after: nil)).transactions.count)")
    }
    return lines.sorted()
  }

  private static func sum(_ data: Data) -> UInt64 {
    data.withUnsafeBytes { bytes in
      var sum: UInt64 = 0
      for offset in stride(from: 0, to: bytes.count & ~7, by: 8) {
        sum = sum &* 31 &+ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      }
      return sum
    }
  }

  /// Inserts films, each with a tag, in one save.
  func addFilms(_ titles: [String], poster: Int? = nil) throws {
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

  /// Changes the films of some titles, in one save.
  func edit(_ titles: Set<String>, _ body: (ManagedObject, ManagedObjectContext) throws -> Void) throws {
    let context = newContext()
    for film in try context.all("Film") where titles.contains(film.text("title") ?? "") { try body(film, context) }
    try context.save()
  }

  /// Bytes that differ from seed to seed.
  static func bytes(_ count: Int, _ seed: Int) -> Data {
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
