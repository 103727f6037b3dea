import BenchmarkData
import CipherData
import Foundation
import LibraryClasses
import RawSQLCipher

/// W30 at one size: both sides of its workloads, and their stores.
@MainActor
final class LargeSides {
  static let ids = ["W30a", "W30b", "W30c", "W30d", "W30e", "W30f", "W30g"]
  private static let cacheSize = 64 << 20
  /// So small that the cache is full at every size and does not grow.
  private static let smallCacheSize = 4 << 20
  private let folder: String
  private let books: Int
  private var raw: OpaquePointer?
  private var ours: LargeLibrary?
  private var context: ManagedObjectContext?
  private var points: [UInt32] = []
  private var pointIDs: [ManagedObjectID] = []
  private var saves: [UInt32] = []
  private var saveIDs: [ManagedObjectID] = []
  private var savedBooks: [Book] = []
  private var touched: UInt64 = 0

  init(folder: String, books: Int) {
    self.folder = folder
    self.books = books
  }

  func workloads() -> [Workload] {
    points = sample(30, min(10_000, books / 10))
    saves = sample(14, min(500, books / 20))
    let (each, points, saves) = (Double(books), Double(points.count), Double(saves.count))
    return [
      workload("W30a", "insert in batches", .nanoseconds, each) { self.importing($0, self.path($0), Self.cacheSize, keeps: true) },
      workload("W30b", "memory of an import", .megabytes) {
        self.importing($0, self.path($0) + "-small", Self.smallCacheSize, keeps: false)
      },
      workload("W30c", "memory of an enumeration", .megabytes, side: enumerating),
      workload("W30d", "point", .nanoseconds, points, side: reading),
      workload("W30e", "one-object save", .nanoseconds, saves, side: saving),
      workload("W30f", "count_where, by an index", .milliseconds) {
        self.asking($0, raw: { raw_large_count($0) }, ours: { try $0.count($1) })
      },
      workload("W30g", "query_top", .milliseconds) { self.asking($0, raw: { raw_large_top($0) }, ours: { try $0.top($1) }) },
    ]
  }

  /// Closes the stores and removes them.
  func end() {
    closeAll()
    for contender in [Contender.raw, .ours] { OurStores.remove(path(contender)) }
  }

  private func workload(
    _ id: String, _ name: String, _ unit: Unit, _ operations: Double = 1, side: (Contender) -> Side
  ) -> Workload {
    var workload = Workload(
      id: "\(id)-\(books)", name: "\(name), \(books) books", unit: unit, operations: operations,
      sides: [.raw: side(.raw), .ours: side(.ours)])
    workload.books = books
    return workload
  }

  // MARK: Stores

  private func path(_ contender: Contender) -> String { "\(folder)/\(contender.rawValue)-large.store" }

  private func sample(_ seed: UInt64, _ count: Int) -> [UInt32] {
    guard let sample = bench_sample(books, seed, count) else { return [] }
    defer { free(sample) }
    return Array(UnsafeBufferPointer(start: sample, count: count))
  }

  private func closeAll() {
    raw_large_close(raw)
    (raw, context, savedBooks) = (nil, nil, [])
    try? ours?.close()
    ours = nil
  }

  /// Fills a store, unless W30a left one.
  private func needStore(_ contender: Contender) throws {
    guard !FileManager.default.fileExists(atPath: path(contender)) else { return }
    _ = try LargeChild(work: .fill, contender: contender, path: path(contender), books: books, cacheSize: Self.cacheSize).start()
  }

  private func needRaw() throws -> OpaquePointer? {
    if let raw { return raw }
    try needStore(.raw)
    raw = raw_large_open(path(.raw), UInt32(books), UInt32(Self.cacheSize >> 10))
    // Read all pages once, as far as the cache can hold them.
    _ = raw_large_enumerate(raw)
    return raw
  }

  private func needOurs() async throws -> LargeLibrary {
    if let ours { return ours }
    try needStore(.ours)
    let library = try await LargeLibrary(path(.ours), books: books, cacheSize: Self.cacheSize)
    let ids = try library.ids(points + saves)
    (pointIDs, saveIDs) = (Array(ids.prefix(points.count)), Array(ids.suffix(saves.count)))
    ours = library
    return library
  }

  // MARK: In child processes

  private func importing(_ contender: Contender, _ path: String, _ cacheSize: Int, keeps: Bool) -> Side {
    var answer: Child.Answer?
    let child = LargeChild(work: .fill, contender: contender, path: path, books: books, cacheSize: cacheSize)
    return Side(
      prepare: {
        self.closeAll()
        OurStores.remove(path)
      }, run: { answer = try child.start() },
      finish: {
        if !keeps { OurStores.remove(path) }
        return answer?.checksum ?? 0
      }, report: { answer?.measured ?? Measured() })
  }

  private func enumerating(_ contender: Contender) -> Side {
    var answer: Child.Answer?
    let child = LargeChild(work: .enumerate, contender: contender, path: path(contender), books: books, cacheSize: Self.smallCacheSize)
    return Side(
      prepare: { try self.needStore(contender) }, run: { answer = try child.start() }, finish: { answer?.checksum ?? 0 },
      report: { answer?.measured ?? Measured() })
  }

  // MARK: In this process

  private func prepareContext() async throws {
    context = try await needOurs().newContext()
    context?.refreshAllObjects()
  }

  private func reading(_ contender: Contender) -> Side {
    if contender == .raw {
      return Side(
        prepare: { _ = try self.needRaw() }, run: { self.touched = raw_large_point(self.raw, self.points, self.points.count) },
        finish: { self.touched })
    }
    return Side(
      prepare: prepareContext,
      run: {
        guard let ours = self.ours, let context = self.context else { return }
        self.touched = try ours.point(self.pointIDs, context)
      }, finish: finish)
  }

  private func asking(
    _ contender: Contender, raw ask: @escaping (OpaquePointer?) -> UInt64,
    ours askOurs: @escaping (LargeLibrary, ManagedObjectContext) throws -> UInt64
  ) -> Side {
    if contender == .raw {
      return Side(prepare: { _ = try self.needRaw() }, run: { self.touched = ask(self.raw) }, finish: { self.touched })
    }
    return Side(
      prepare: prepareContext,
      run: {
        guard let ours = self.ours, let context = self.context else { return }
        self.touched = try askOurs(ours, context)
      }, finish: finish)
  }

  private func finish() async throws -> UInt64 {
    context = nil
    return touched
  }

  /// Saves the books one by one. The prices are restored before the next round.
  private func saving(_ contender: Contender) -> Side {
    let (old, new) = prices()
    if contender == .raw {
      return Side(
        prepare: { _ = try self.needRaw() }, run: { raw_large_save(self.raw, self.saves, new, self.saves.count) },
        finish: {
          let sum = raw_large_point(self.raw, self.saves, self.saves.count)
          raw_large_save(self.raw, self.saves, old, self.saves.count)
          return sum
        })
    }
    return Side(
      prepare: {
        try await self.prepareContext()
        self.savedBooks = try self.saveIDs.compactMap { try self.context?.existingObject(with: $0) as? Book }
      }, run: { try self.save(new) },
      finish: {
        guard let ours = self.ours else { return 0 }
        let sum = try ours.point(self.saveIDs, ours.newContext())
        try self.save(old)
        (self.savedBooks, self.context) = ([], nil)
        return sum
      })
  }

  private func save(_ prices: [Double]) throws {
    for (book, price) in zip(savedBooks, prices) {
      book.price = price
      try context?.save()
    }
  }

  /// The old and new prices of the books to save.
  private func prices() -> (old: [Double], new: [Double]) {
    var library = bench_large_make(UInt32(books))
    var row = bench_large_row()
    let old = saves.map { index in
      bench_large_book(&library, index, &row)
      return row.book.price
    }
    return (old, zip(old, saves).map { bench_new_price($0, $1) })
  }
}
