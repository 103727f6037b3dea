import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _ProofStore
import _StoreSpecification
import _TestSupport

/// A store as files, with its contents before the damage.
struct DamageBase: Codable, Sendable {
  var name: String
  var settings: ProofSettings
  /// The files by path in the store's folder.
  var files: [String: Data] = [:]
  var folders: [String] = []
  var contents: [String] = []
  /// The files and contents of earlier states.
  var olderFiles: [[String: Data]] = []
  var earlier: [[String]] = []

  /// Whether the database has a log. Pages in the log are not read from the database.
  var hasLog: Bool { (files["proof.store-wal"]?.count ?? 0) > 0 }

  /// Whether all of a range lies in the unused part of a page: 12 bytes after the page's authentication code, which SQLCipher 3's format
  /// fills with random bytes.
  static func isPadding(_ range: Range<Int>) -> Bool {
    let padding = 12
    return range.count <= padding && range.lowerBound % Damage.pageSize >= Damage.pageSize - padding
      && range.lowerBound / Damage.pageSize == (range.upperBound - 1) / Damage.pageSize
  }

  /// Makes all the stores.
  static func make() throws -> [DamageBase] { try [closed(), withLog(), withHistory(), backup(), rotated()] }

  private mutating func take(_ attempt: Attempt, contents: [String]) throws {
    if !files.isEmpty {
      olderFiles.append(files)
      earlier.append(self.contents)
    }
    self.contents = contents
    (files, folders) = ([:], [])
    let root = attempt.folder.url
    for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) {
      // A folder cannot be read as data.
      if let data = try? Data(contentsOf: root.appendingPathComponent(path)) { files[path] = data } else { folders.append(path) }
    }
  }

  /// Adds rows of one page and of several pages, and large values.
  private static func fill(_ store: OpenStore, _ name: String, _ count: Int) throws {
    try store.addFilms((0..<count).map { "\(name) \($0)" })
    try store.addFilms(["\(name), a long title" + String(repeating: " and longer", count: 1_100)])
    try store.addFilms(["\(name), large", "\(name), larger"], poster: 4_000)
  }

  private static func closed() throws -> DamageBase {
    var base = DamageBase(name: "closed", settings: ProofSettings())
    let attempt = try Attempt(base.settings, [:])
    for round in 0..<3 {
      try attempt.openStore()
      try fill(attempt.open, "film \(round)", 20)
      try attempt.open.edit(["film 0 1", "film 0 2"]) { film, _ in try film.setValue(1_950 + round, forKey: "year") }
      let contents = try attempt.contents()
      try attempt.closeStore()
      try base.take(attempt, contents: contents)
    }
    return base
  }

  private static func withLog() throws -> DamageBase {
    var base = DamageBase(name: "with a log", settings: ProofSettings())
    base.settings.observesOthers = true
    let attempt = try Attempt(base.settings, [:])
    try attempt.openStore()
    try fill(attempt.open, "film", 10)
    try attempt.closeStore()
    try attempt.openStore()
    try base.take(attempt, contents: try attempt.contents())
    for round in 0..<4 {
      try attempt.open.addFilms(["new \(round)"])
      try base.take(attempt, contents: try attempt.contents())
      try attempt.open.edit(["film 1", "film 2"]) { film, _ in try film.setValue(1_950 + round, forKey: "year") }
      try base.take(attempt, contents: try attempt.contents())
    }
    try attempt.open.addFilms(["large"], poster: 5_000)
    try base.take(attempt, contents: try attempt.contents())
    try attempt.closeStore()
    return base
  }

  private static func withHistory() throws -> DamageBase {
    var base = DamageBase(name: "with a history", settings: ProofSettings(hasHistory: true))
    let attempt = try Attempt(base.settings, [:])
    for round in 0..<2 {
      try attempt.openStore()
      try fill(attempt.open, "film \(round)", 15)
      try attempt.open.edit(["film 0 1"]) { film, context in context.delete(film) }
      let contents = try attempt.contents()
      try attempt.closeStore()
      try base.take(attempt, contents: contents)
    }
    return base
  }

  /// A backup that has replaced the store.
  private static func backup() throws -> DamageBase {
    var base = DamageBase(name: "a backup", settings: ProofSettings())
    let attempt = try Attempt(base.settings, [:])
    try attempt.openStore()
    try fill(attempt.open, "film", 25)
    let contents = try attempt.contents()
    try attempt.closeStore()
    let copy = try Attempt(base.settings, [:])
    let file = try base.settings.unlock(attempt.url)
    let place = copy.url
    try waitFor { try await file.backUp(to: place) }
    try base.take(copy, contents: contents)
    return base
  }

  /// A store whose keys have changed, so that its earlier files have other keys.
  private static func rotated() throws -> DamageBase {
    var base = DamageBase(name: "rotated", settings: ProofSettings())
    let attempt = try Attempt(base.settings, [:])
    try attempt.openStore()
    try fill(attempt.open, "film", 15)
    let contents = try attempt.contents()
    try attempt.closeStore()
    try base.take(attempt, contents: contents)
    let file = try base.settings.unlock(attempt.url)
    try waitFor {
      _ = try await file.addKey(ProofSettings.key(3))
      try await file.rotateDataKey()
    }
    try base.take(attempt, contents: contents)
    return base
  }
}
