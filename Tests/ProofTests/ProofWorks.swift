import Foundation
import ObjectContext
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import _ProofStore
import _StoreSpecification
import _TestSupport

extension ProofWork {
  static let all: [ProofWork] = [saves, batches, largeValues, keys, rotation, migration, replacing, purging, copies]

  /// Saves of every kind, with checkpoints between them.
  static let saves = ProofWork(name: "saves") { work in
    try work.openStore("make")
    for round in 0..<3 {
      for number in 0..<4 {
        try work.step("insert") { try work.open.addFilms((0..<3).map { "film \(round).\(number).\($0)" }) }
      }
      try work.step("change") {
        try work.open.edit(["film \(round).0.0", "film 0.1.1"]) { film, _ in try film.setValue(1_900 + round, forKey: "year") }
      }
      try work.step("delete") { try work.open.edit(["film \(round).2.0"]) { film, context in context.delete(film) } }
      try work.step("a large save") { try work.open.addFilms((0..<60).map { "many \(round).\($0) " + String(repeating: "x", count: 200) }) }
      if round < 2 {
        try work.closeStore()
        try work.openStore()
      }
    }
  }

  static let batches = ProofWork(name: "batch requests") { work in
    try work.openStore("make")
    for round in 0..<2 {
      try work.step("insert") {
        let objects = (0..<40).map {
          ["title": "film \(round).\($0)", "poster": OpenStore.bytes($0 % 10 == 0 ? 5_000 : 40, $0)] as [String: Any]
        }
        try work.open.newContext().execute(BatchInsertRequest(entityName: "Film", objects: objects))
      }
      try work.step("update") {
        try work.open.newContext().execute(BatchUpdateRequest(entityName: "Film", propertiesToUpdate: ["year": Int64(round)]))
      }
      try work.step("update large values") {
        try work.open.newContext().execute(
          BatchUpdateRequest(
            entityName: "Film", predicate: .compare("title", .beginsWith, "film \(round).3"),
            propertiesToUpdate: ["poster": OpenStore.bytes(6_000, round)]))
      }
      try work.step("delete") {
        try work.open.newContext().execute(
          BatchDeleteRequest(entityName: "Film", predicate: .compare("title", .beginsWith, "film \(round).1")))
      }
    }
  }

  static let largeValues = ProofWork(name: "large values") { work in
    try work.openStore("make")
    for round in 0..<2 {
      for number in 0..<3 { try work.step("insert") { try work.open.addFilms(["film \(round).\(number)"], poster: 4_000 * (number + 1)) } }
      try work.step("replace") {
        try work.open.edit(["film \(round).0", "film \(round).1"]) { film, _ in
          try film.setValue(OpenStore.bytes(9_000, round), forKey: "poster")
        }
      }
      try work.step("take back") { try work.open.edit(["film \(round).1"]) { film, _ in try film.setValue(nil, forKey: "poster") } }
      try work.step("delete") { try work.open.edit(["film \(round).2"]) { film, context in context.delete(film) } }
      try work.step("stream") {
        try work.open.edit(["film \(round).1"]) { film, _ in
          let writer = try film.makeExternalDataWriter()
          for piece in 0..<5 { try writer.write(OpenStore.bytes(2_000, piece)) }
          try film.setExternalData(writer.finish(), forKey: "poster")
        }
      }
      try work.closeStore()
      try work.openStore()
    }
  }

  static let keys = ProofWork(name: "keys") { work in
    try work.openStore("make")
    try work.step("insert") { try work.open.addFilms(["one", "two"], poster: 4_000) }
    for round in UInt8(1)...3 {
      try work.step("change the key") {
        let file = try work.settings.unlock(work.url)
        try waitFor { _ = try await file.changeKey(from: ProofSettings.key(round), to: ProofSettings.key(round + 1)) }
        work.settings.key = round + 1
      }
      try work.step("add a key") {
        let file = try work.settings.unlock(work.url)
        try waitFor { _ = try await file.addKey(ProofSettings.key(100 + round)) }
      }
      try work.step("insert") { try work.open.addFilms(["film \(round)"]) }
      try work.step("remove a key") {
        let file = try work.settings.unlock(work.url)
        let slot = file.keySlots.last?.id
        try waitFor { if let slot { try await file.removeKey(slot) } }
      }
    }
  }

  static let rotation = ProofWork(name: "rotation") { work in
    try work.openStore("make")
    try work.step("insert") { try work.open.addFilms((0..<30).map { "film \($0)" }) }
    try work.step("insert large values") { try work.open.addFilms(["large", "larger"], poster: 5_000) }
    for round in 0..<2 {
      try work.closeStore()
      try work.step("rotate", isDurable: true) {
        let file = try work.settings.unlock(work.url)
        try waitFor { try await file.rotateDataKey() }
      }
      try work.openStore()
      try work.step("insert") { try work.open.addFilms(["after \(round)"], poster: 4_000) }
      try work.step("delete") { try work.open.edit(["film \(round)", "film \(round + 10)"]) { film, context in context.delete(film) } }
      try work.closeStore()
      try work.step("compact", isDurable: true) {
        let file = try work.settings.unlock(work.url)
        try waitFor { _ = try await file.compact() }
      }
      try work.openStore()
    }
  }

  static let migration = ProofWork(name: "migration") { work in
    try work.openStore("make")
    try work.step("insert") { try work.open.addFilms((0..<60).map { "film \($0)" }) }
    try work.step("insert large values") { try work.open.addFilms(["large", "larger"], poster: 5_000) }
    try work.step("change") { try work.open.edit(["film 1", "film 2"]) { film, _ in try film.setValue(1_999, forKey: "year") } }
    try work.closeStore()
    work.settings.model = 2
    try work.openStore("migrate")
    try work.step("insert") { try work.open.addFilms(["new", "newer"], poster: 4_000) }
    try work.closeStore()
    try work.openStore()
  }

  static let replacing = ProofWork(name: "replacing") { work in
    try work.openStore("make")
    try work.step("insert") { try work.open.addFilms((0..<20).map { "film \($0)" }) }
    try work.step("insert a large value") { try work.open.addFilms(["large"], poster: 5_000) }
    try work.closeStore()
    // Another store, with another key.
    var other = work.settings
    other.key = 9
    let place = work.folder.url.appendingPathComponent("other.store")
    let source = try other.open(place)
    try source.addFilms(["other", "another"], poster: 6_000)
    let contents = try source.contents()
    try source.close()
    func coordinator() throws -> PersistentStoreCoordinator { PersistentStoreCoordinator(compiledModel: try ProofModel.model(1)) }
    let settings = work.settings
    try work.step("replace", isDurable: true) {
      let (target, source) = (settings.description(work.url), other.description(place))
      let coordinator = try coordinator()
      try waitFor { try await coordinator.replacePersistentStore(with: target, withPersistentStoreFrom: source) }
      work.becomes(contents)
    }
    try work.openStore()
    try work.step("insert") { try work.open.addFilms(["after"], poster: 4_000) }
    try work.closeStore()
    try work.step("destroy", isDurable: true) {
      let description = work.settings.description(work.url)
      let coordinator = try coordinator()
      try waitFor { try await coordinator.destroyPersistentStore(with: description) }
      work.becomes(nil)
    }
    try work.openStore("make again")
    try work.step("insert") { try work.open.addFilms(["the last"], poster: 4_000) }
  }

  static let purging = ProofWork(name: "purging", hasHistory: true) { work in
    try work.openStore("make")
    for round in 0..<3 {
      for number in 0..<4 {
        try work.step("insert") { try work.open.addFilms(["film \(round).\(number)"], poster: number == 0 ? 4_000 : nil) }
      }
      try work.step("delete") { try work.open.edit(["film \(round).0"]) { film, context in context.delete(film) } }
      try work.step("purge") {
        let transactions = try work.open.coordinator.execute(.fetchHistory(after: nil)).transactions
        _ = try work.open.coordinator.execute(.deleteHistory(before: transactions.dropLast(2).last?.token))
      }
    }
    try work.closeStore()
    try work.openStore()
  }

  static let copies = ProofWork(name: "copies") { work in
    try work.openStore("make")
    for round in 0..<2 {
      try work.step("insert") { try work.open.addFilms((0..<10).map { "film \(round).\($0)" }, poster: 3_500) }
      try work.copyingStep("back up", copy: "copy \(round).store") {
        let file = try work.settings.unlock(work.url)
        let place = work.folder.url.appendingPathComponent("copy \(round).store")
        try waitFor { try await file.backUp(to: place) }
      }
    }
  }
}
