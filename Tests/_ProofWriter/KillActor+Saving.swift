import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import _ProofStore
import _StoreSpecification

extension KillActor {
  /// The name of the property with a film's year, which differs in the newer model.
  private func yearName(_ store: OpenStore) throws -> String {
    try store.entity("Film").slots.contains { $0.name == "made" } ? "made" : "year"
  }

  private func someTitle() -> String? { titles.randomElement(using: &random) }

  func save(migrates: Bool = false) throws {
    var step = KillStep("save")
    step.migrates = migrates
    let new = newTitles(Int.random(in: 1...4, using: &random))
    let year = Int.random(in: 1_900...2_000, using: &random)
    let poster = Int.random(in: 0..<3, using: &random) == 0 ? Int.random(in: 3_001...9_000, using: &random) : nil
    for title in new { step.films[title] = ProofFilm.line(title, year: year, poster: poster.map { OpenStore.bytes($0, year) }) }
    let changed = someTitle()
    if let changed { step.films[changed] = .some(nil) }
    let changesOnly = Bool.random(using: &random)
    if let changed, changesOnly { step.films[changed] = ProofFilm.line(changed, year: year + 1, poster: nil) }
    let isDone = try self.step(step) {
      try withStore { store in
        let context = store.newContext()
        let yearName = try yearName(store)
        for title in new {
          try context.insert("Film", ["title": title, yearName: year, "poster": poster.map { OpenStore.bytes($0, year) }])
        }
        if let changed {
          var request = FetchRequest<ManagedObject>(entityName: "Film")
          request.predicate = .compare("title", .equal, changed)
          for film in try context.fetch(request) {
            guard changesOnly else {
              context.delete(film)
              continue
            }
            try film.setValue(year + 1, forKey: yearName)
            try film.setValue(nil, forKey: "poster")
          }
        }
        try context.save()
      }
    }
    guard isDone else { return }
    titles += new
    if !changesOnly { titles.removeAll { $0 == changed } }
  }

  func batch() throws {
    let prefix = "p\(order.number)."
    var step = KillStep("batch")
    let year = Int.random(in: 1_900...2_000, using: &random)
    let kind = titles.isEmpty ? 0 : Int.random(in: 0..<4, using: &random)
    let new = kind < 2 ? newTitles(Int.random(in: 5...30, using: &random)) : []
    for title in new { step.films[title] = ProofFilm.line(title, year: year, poster: nil) }
    if kind == 2 { for title in titles { step.films[title] = ProofFilm.line(title, year: year, poster: OpenStore.bytes(3_500, year)) } }
    if kind == 3 { for title in titles { step.films[title] = .some(nil) } }
    let isDone = try self.step(step) {
      try withStore { store in
        let yearName = try yearName(store)
        let context = store.newContext()
        switch kind {
        case 2:
          try context.execute(
            BatchUpdateRequest(
              entityName: "Film", predicate: .compare("title", .beginsWith, prefix),
              propertiesToUpdate: [yearName: Int64(year), "poster": OpenStore.bytes(3_500, year)]))
        case 3: try context.execute(BatchDeleteRequest(entityName: "Film", predicate: .compare("title", .beginsWith, prefix)))
        default:
          try context.execute(BatchInsertRequest(entityName: "Film", objects: new.map { ["title": $0, yearName: year] as [String: Any] }))
        }
      }
    }
    guard isDone else { return }
    titles = kind == 3 ? [] : titles + new
  }

  func purge() throws {
    _ = try step(KillStep("purge")) {
      try withStore { store in
        let transactions = try store.coordinator.execute(.fetchHistory(after: nil)).transactions
        guard transactions.count > 2 else { return }
        do { _ = try store.coordinator.execute(.deleteHistory(before: transactions.dropLast(2).last?.token)) } catch let error as StoreError
          where error.code == .historyTokenExpired
        {
          // Another process has deleted it.
        }
      }
    }
  }
}
