import Foundation
import ObjectContext
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _ProofStore
import _StoreSpecification
import _TestSupport

/// A store in a separate folder, for one attempt at an operation.
final class Attempt {
  let folder: WatchedFolder
  var settings: ProofSettings
  var store: OpenStore?
  /// The result of an operation that only reads.
  var answer: [String]?
  var url: URL { folder.store }

  init(_ settings: ProofSettings, _ files: DiskImage) throws {
    folder = try WatchedFolder()
    self.settings = settings
    try CrashDisk.write(files, to: folder.url)
  }

  func openStore() throws { store = try settings.open(url) }

  func closeStore() throws {
    try store?.close()
    store = nil
  }

  var open: OpenStore { get throws { try XCTUnwrap(store, "no store is open") } }

  /// The contents of the open store, or of one that is opened for this.
  func contents() throws -> [String] {
    if let store { return try store.contents() }
    return try settings.contents(url)
  }
}

/// An operation that runs under faults. It can be retried after a failure.
struct FailingWork: Sendable {
  var name: String
  var settings = ProofSettings()
  /// Whether a store exists before.
  var hasStore = true
  /// Prepares the store, without faults.
  var prepare: @Sendable (Attempt) throws -> Void = { _ in }
  var body: @Sendable (Attempt) throws -> Void
  /// Checks the new state beyond the contents of the store.
  var check: @Sendable (Attempt) throws -> Void = { _ in }

  static let all: [FailingWork] = [
    make, open, close, fetch, save, update, delete, purge, migrate, changeKey, rotate, compact, backUp, replace, destroy, verify,
  ]

  static let make = FailingWork(name: "make", hasStore: false) { try $0.openStore() }
  static let open = FailingWork(name: "open") { try $0.openStore() }
  static let close = FailingWork(
    name: "close",
    prepare: {
      try $0.openStore()
      try $0.open.addFilms(["closing"])
    }
  ) { try $0.closeStore() }
  static let fetch = FailingWork(name: "fetch", prepare: { try $0.openStore() }) { $0.answer = try $0.contents() }
  static let save = FailingWork(name: "save", prepare: { try $0.openStore() }) { attempt in
    let context = try attempt.open.newContext()
    for film in try context.all("Film") {
      guard let title = film.text("title") else { continue }
      if title == "film 1" { context.delete(film) }
      if title == "film 2" { try film.setValue(OpenStore.bytes(7_000, 2), forKey: "poster") }
      if title == "large" { try film.setValue(nil, forKey: "poster") }
    }
    for number in 0..<20 {
      try context.insert("Film", ["title": "saved \(number)", "poster": number == 0 ? OpenStore.bytes(4_000, 1) : nil])
    }
    try context.save()
  }
  static let update = FailingWork(name: "batch update", prepare: { try $0.openStore() }) { attempt in
    try attempt.open.newContext().execute(
      BatchUpdateRequest(entityName: "Film", propertiesToUpdate: ["year": Int64(7), "poster": OpenStore.bytes(5_000, 3)]))
  }
  static let delete = FailingWork(name: "batch delete", prepare: { try $0.openStore() }) { attempt in
    try attempt.open.newContext().execute(BatchDeleteRequest(entityName: "Film", predicate: .compare("title", .beginsWith, "film 1")))
  }
  static let purge = FailingWork(
    name: "purge", settings: ProofSettings(hasHistory: true),
    prepare: {
      try $0.openStore()
      for number in 0..<4 { try $0.open.addFilms(["kept \(number)"]) }
    }
  ) { attempt in
    let transactions = try attempt.open.coordinator.execute(.fetchHistory(after: nil)).transactions
    guard transactions.count > 2 else { return }
    _ = try attempt.open.coordinator.execute(.deleteHistory(before: transactions.dropLast(2).last?.token))
  }
  static let migrate = FailingWork(name: "migrate", prepare: { $0.settings.model = 2 }) { try $0.openStore() }
  static let changeKey = FailingWork(name: "change a key") { attempt in
    let file = try attempt.settings.unlock(attempt.url)
    let old = ProofSettings.key(attempt.settings.key)
    try waitFor { _ = try await file.changeKey(from: old, to: ProofSettings.key(2)) }
    attempt.settings.key = 2
  }
  static let rotate = FailingWork(name: "rotate") { attempt in
    let file = try attempt.settings.unlock(attempt.url)
    try waitFor { try await file.rotateDataKey() }
  }
  static let compact = FailingWork(name: "compact") { attempt in
    let file = try attempt.settings.unlock(attempt.url)
    try waitFor { _ = try await file.compact() }
  }
  static let backUp = FailingWork(
    name: "back up",
    body: { attempt in
      let file = try attempt.settings.unlock(attempt.url)
      let place = attempt.folder.url.appendingPathComponent("copy.store")
      // The retry removes the files that the failed attempt could not remove.
      for suffix in ["", ".keys", ".keys.new"] { unlink(place.path + suffix) }
      try waitFor { try await file.backUp(to: place) }
    },
    check: { attempt in
      let copy = try attempt.settings.contents(attempt.folder.url.appendingPathComponent("copy.store"))
      XCTAssertEqual(copy, try attempt.contents())
    })
  static let replace = FailingWork(
    name: "replace",
    prepare: { attempt in
      let source = try attempt.settings.open(attempt.folder.url.appendingPathComponent("other.store"))
      try source.addFilms(["other"], poster: 4_500)
      try source.close()
    }
  ) { attempt in
    let coordinator = PersistentStoreCoordinator(compiledModel: try ProofModel.model(1))
    let source = attempt.settings.description(attempt.folder.url.appendingPathComponent("other.store"))
    let target = attempt.settings.description(attempt.url)
    try waitFor { try await coordinator.replacePersistentStore(with: target, withPersistentStoreFrom: source) }
  }
  static let destroy = FailingWork(name: "destroy") { attempt in
    let coordinator = PersistentStoreCoordinator(compiledModel: try ProofModel.model(1))
    let description = attempt.settings.description(attempt.url)
    try waitFor { try await coordinator.destroyPersistentStore(with: description) }
  }
  static let verify = FailingWork(name: "verify") { attempt in
    let damage = try attempt.settings.damage(attempt.url)
    XCTAssertEqual(damage, [], "a store that is not damaged")
  }

  /// The files of a store for the attempts.
  func files() throws -> DiskImage {
    guard hasStore else { return [:] }
    let attempt = try Attempt(settings, [:])
    try attempt.openStore()
    try attempt.open.addFilms((0..<25).map { "film \($0)" })
    try attempt.open.addFilms(["large", "larger"], poster: 5_000)
    try attempt.closeStore()
    var files: DiskImage = [:]
    let root = attempt.folder.url
    for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) {
      let place = root.appendingPathComponent(path)
      files[path] = .some(try? Data(contentsOf: place))
    }
    return files
  }
}
