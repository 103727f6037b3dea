import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W1 and W13 to W15 on our side: inserting, updating, deleting; W21 with a history; W25b in a nested context.
@MainActor
final class WriteSides {
  private let stores: OurStores
  private let diskPath: String
  private var container: PersistentContainer?
  private var context: ManagedObjectContext?
  private var path = ""
  /// The parent context, if the context is nested.
  private var parent: ManagedObjectContext?
  /// Holds a generation from before the log was filled.
  private var holder: ManagedObjectContext?
  /// The books of the workload's sample, each with its new price.
  private var sample: [(book: Book, price: Double)] = []

  /// The history level of the stores; nil for no history.
  private let history: HistoryLevel?

  init(_ stores: OurStores, diskFolder: String, history: HistoryLevel? = nil) {
    self.stores = stores
    self.history = history
    diskPath = "\(diskFolder)/ours-disk.store"
  }

  func sides() -> [String: Side] {
    let memoryPath = stores.path("ours-work.store")
    return [
      "W1": Side(prepare: prepareInsert, run: insert, finish: finish),
      "W13": Side(prepare: { try await self.prepareSample(13, 10, memoryPath) }, run: update, finish: finish),
      "W25b": Side(prepare: { try await self.prepareSample(13, 10, memoryPath, isNested: true) }, run: update, finish: finish),
      "W14a": Side(prepare: { try await self.prepareSample(14, 200, memoryPath) }, run: commitEach, finish: finish),
      "W24d": Side(prepare: { try await self.prepareSample(14, 200, memoryPath, heldPages: 10_000) }, run: commitEach, finish: finish),
      "W14b": Side(
        prepare: { try await self.prepareSample(14, 200, self.diskPath, durability: .full) }, run: commitEach, finish: finish),
      "W15": Side(prepare: { try await self.prepareSample(15, 10, memoryPath) }, run: delete, finish: finish),
    ]
  }

  private func prepareInsert() async throws {
    path = stores.path("ours-work.store")
    OurStores.remove(path)
    _ = stores.library
    let container = try await OurStores.open(path, history: history)
    context = container.newBackgroundContext()
    self.container = container
  }

  private func insert() async throws {
    guard let context else { return }
    try stores.insertLibrary(context)
  }

  /// Prepares a fresh copy, with all pages read once by the writing connection, and the sample's books fetched.
  ///
  /// - Parameter heldPages: The pages in the log since the start of a held generation; 0 for none.
  private func prepareSample(
    _ seed: UInt64, _ divisor: Int, _ path: String, durability: StoreDurability = .fast, heldPages: Int = 0,
    isNested: Bool = false
  ) async throws {
    self.path = try await stores.copy(toPath: path)
    let container = try await OurStores.open(path, durability: durability, history: history)
    if heldPages > 0 { holder = try GenerationSides.hold(container, path, pages: heldPages) }
    // A transaction of the store makes the writing connection read the pages, as in C.
    let stores = stores
    try container.newBackgroundContext().performTransaction { _ = try stores.checksum(container) }
    var context = container.newBackgroundContext()
    if isNested {
      parent = context
      context = ManagedObjectContext(parent: context)
    }
    var byIndex = [Book?](repeating: nil, count: stores.data.pointee.book_count)
    for book in try context.fetch(Book.all) { byIndex[Int(OurStores.index(book))] = book }
    let count = byIndex.count / divisor
    guard let indexes = bench_sample_books(stores.data, seed, count) else { return }
    defer { free(indexes) }
    sample = (0..<count).compactMap { position in
      let index = indexes[position]
      return byIndex[Int(index)].map { ($0, bench_new_price($0.price, index)) }
    }
    self.context = context
    self.container = container
  }

  private func update() async throws {
    for item in sample { item.book.price = item.price }
    try context?.save()
  }

  private func commitEach() async throws {
    guard let context else { return }
    for item in sample {
      item.book.price = item.price
      try context.save()
    }
  }

  private func delete() async throws {
    guard let context else { return }
    for item in sample { context.delete(item.book) }
    try context.save()
  }

  private func finish() async throws -> UInt64 {
    guard let container else { return 0 }
    sample = []
    context = nil
    try parent?.save()
    parent = nil
    holder = nil
    let sum = try stores.checksum(container)
    try container.close()
    self.container = nil
    OurStores.remove(path)
    return sum
  }
}
