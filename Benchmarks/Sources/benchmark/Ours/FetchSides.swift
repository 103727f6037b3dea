import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W2 to W8 on our side: opening, fetching, querying, counting.
@MainActor
final class FetchSides {
  private static let opens = 20
  private let stores: OurStores
  private var containers: [PersistentContainer] = []
  private var context: ManagedObjectContext?
  private var books: [Book] = []
  private var second: [Book] = []
  private var touched: UInt64 = 0
  private let dear = Book.all.where { $0.price > 50 }

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W2b": Side(prepare: prepareOpens, run: open, finish: finishOpens),
      "W3": Side(prepare: prepareCold, run: fetchAndTouch, finish: finishCold),
      "W4": Side(prepare: prepareWarm, run: fetchAndTouch, finish: finish),
      "W5": Side(prepare: prepareWarm, run: fetch, finish: touchAndFinish),
      "W6": Side(prepare: prepareAgain, run: fetch, finish: touchAndFinish),
      "W7": Side(prepare: prepareWarm, run: fetchTop, finish: finishTop),
      "W8a": Side(prepare: prepareWarm, run: count, finish: finishCount),
      "W8b": Side(prepare: prepareWarm, run: countDear, finish: finishCount),
    ]
  }

  // MARK: W2

  private func openPath(_ index: Int) -> String { stores.path("ours-open-\(index).store") }

  private func prepareOpens() async throws {
    for index in 0..<Self.opens {
      OurStores.remove(openPath(index))
      try await OurStores.open(openPath(index)).close()
    }
  }

  private func open() async throws {
    for index in 0..<Self.opens { containers.append(try await OurStores.open(openPath(index))) }
  }

  private func finishOpens() async throws -> UInt64 {
    let count = containers.count { !$0.persistentStoreCoordinator.persistentStores.isEmpty }
    for container in containers { try container.close() }
    for index in 0..<Self.opens { OurStores.remove(openPath(index)) }
    containers = []
    return UInt64(count)
  }

  // MARK: W3 to W6

  /// Opens a separate container on a store that was never read: none of its pages are cached.
  private func prepareCold() async throws {
    containers = [try await OurStores.open(try await stores.copy("ours-cold.store"))]
    context = containers[0].newBackgroundContext()
  }

  private func finishCold() async throws -> UInt64 {
    let sum = try await finish()
    for container in containers { try container.close() }
    containers = []
    OurStores.remove(stores.path("ours-cold.store"))
    return sum
  }

  private func prepareWarm() async throws {
    let container = try await stores.needReading()
    _ = try container.newBackgroundContext().fetch(Book.all).count
    context = container.newBackgroundContext()
  }

  private func prepareAgain() async throws {
    try await prepareWarm()
    second = try context?.fetch(Book.all) ?? []
  }

  private func fetch() async throws { books = try context?.fetch(Book.all) ?? [] }

  private func touch() {
    var sum: UInt64 = 0
    for book in books { sum &+= OurStores.touch(book) }
    touched = sum
  }

  private func fetchAndTouch() async throws {
    try await fetch()
    touch()
  }

  private func touchAndFinish() async throws -> UInt64 {
    touch()
    return try await finish()
  }

  private func finish() async throws -> UInt64 {
    let deep = books.reduce(UInt64(0)) { $0 &+ OurStores.deep($1) }
    books = []
    second = []
    context = nil
    return bench_mix(touched, deep)
  }

  // MARK: W7

  private func fetchTop() async throws {
    books = try context?.fetch(dear.sorted { $0.title }.limit(1_000)) ?? []
    touch()
  }

  private func finishTop() async throws -> UInt64 {
    let order = books.reduce(UInt64(0)) { bench_mix($0, UInt64(OurStores.index($1))) }
    return bench_mix(order, try await finish())
  }

  // MARK: W8

  private func count() async throws { touched = UInt64(try context?.count(for: Book.all) ?? 0) }

  private func countDear() async throws {
    touched = UInt64(try context?.count(for: dear) ?? 0)
  }

  private func finishCount() async throws -> UInt64 {
    context = nil
    return touched
  }
}
