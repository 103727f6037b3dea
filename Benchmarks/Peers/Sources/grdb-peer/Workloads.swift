// GRDB's workloads. Preparation, run and checksum equal those of the benchmark's own sides.
import BenchmarkData
import Foundation
import GRDB

/// One workload.
struct Work {
  var prepare: () throws -> Void
  var run: () throws -> Void
  var finish: () throws -> UInt64
}

final class Workloads {
  private static let step = 10
  private static let passes = 10
  private let shop: Shop
  private var queue: DatabaseQueue?
  private var path = ""
  private var books: [Book] = []
  private var second: [Book] = []
  private var keys: [Int64] = []
  private var prices: [Double] = []
  private var touched: UInt64 = 0

  init(_ shop: Shop) { self.shop = shop }

  func all() -> [String: Work] {
    let dear = Book.filter(Column("price") > 50.0)
    return [
      "W1": Work(prepare: prepareInsert, run: { try self.shop.insert(self.write, self.shop.library) }, finish: finishWriting),
      "W3": Work(prepare: prepareCold, run: fetchAndTouch, finish: finishCold),
      "W4": Work(prepare: prepareReading, run: fetchAndTouch, finish: finishBooks),
      "W5": Work(prepare: prepareReading, run: { try self.fetch(Book.all()) }, finish: touchAndFinish),
      "W6": Work(prepare: prepareAgain, run: { try self.fetch(Book.all()) }, finish: finishAgain),
      "W7": Work(
        prepare: prepareReading,
        run: {
          try self.fetch(dear.order(Column("title")).limit(1_000))
          self.touch()
        }, finish: finishTop),
      "W8a": Work(prepare: prepareReading, run: { try self.count(Book.all()) }, finish: { self.touched }),
      "W8b": Work(prepare: prepareReading, run: { try self.count(dear) }, finish: { self.touched }),
      "W9a": Work(prepare: { try self.prepareSample(9) }, run: point, finish: finishPoint),
      "W10a": Work(prepare: prepareBooks, run: traverse, finish: finishTouched),
      "W12a": Work(prepare: prepareBooks, run: { try self.readTags(Self.step) }, finish: finishEveryTenth),
      "W12b": Work(prepare: prepareEveryTenth, run: { try self.readTags(1) }, finish: finishTags),
      "W12c": Work(prepare: prepareBooks, run: { try self.readTags(1) }, finish: finishTouched),
      "W12d": Work(prepare: { try self.prepareSample(12) }, run: readAtOnce, finish: finishSample),
      "W13": Work(prepare: { try self.prepareWriting(13, 10) }, run: update, finish: finishWriting),
      "W14a": Work(prepare: { try self.prepareWriting(14, 200) }, run: commitEach, finish: finishWriting),
      "W14b": Work(prepare: { try self.prepareWriting(14, 200, onDisk: true) }, run: commitEach, finish: finishWriting),
      "W15": Work(prepare: { try self.prepareWriting(15, 10) }, run: delete, finish: finishWriting),
      "W16a": Work(prepare: prepareBooks, run: readPrices, finish: finishTouched),
    ]
  }

  /// The open database of the current workload.
  private var write: DatabaseQueue {
    get throws {
      guard let queue else { throw DatabaseError(message: "nothing is open") }
      return queue
    }
  }

  // MARK: Reading

  private func prepareReading() throws { queue = try shop.reading() }

  /// Opens a separate database with cold caches.
  private func prepareCold() throws {
    path = try shop.copy("grdb-cold.sqlite")
    queue = try shop.queue(path)
  }

  private func finishCold() throws -> UInt64 {
    let sum = finishBooks()
    try write.close()
    queue = nil
    shop.remove(path)
    return sum
  }

  /// The records of the first fetch are retained during the second.
  private func prepareAgain() throws {
    try prepareBooks()
    second = books
  }

  private func finishAgain() -> UInt64 {
    second = []
    return touchAndFinish()
  }

  private func prepareBooks() throws {
    try prepareReading()
    try fetch(Book.all())
  }

  private func prepareEveryTenth() throws {
    try prepareBooks()
    books = stride(from: 0, to: books.count, by: Self.step).map { books[$0] }
  }

  private func prepareSample(_ seed: UInt64) throws {
    try prepareReading()
    keys = shop.sample(seed, 10).map { Int64($0) + 1 }
  }

  private func fetch(_ request: QueryInterfaceRequest<Book>) throws { books = try write.read { try request.fetchAll($0) } }

  private func count(_ request: QueryInterfaceRequest<Book>) throws { touched = UInt64(try write.read { try request.fetchCount($0) }) }

  private func touch() { touched = books.reduce(0) { $0 &+ Checksum.touch($1) } }

  /// Reads one property of all books, ten times.
  private func readPrices() {
    var sum: UInt64 = 0
    for _ in 0..<Self.passes {
      for book in books { sum &+= book.price.bitPattern }
      barrier(&sum)
    }
    touched = sum
  }

  /// Keeps the optimizer from replacing ten passes by a multiplication.
  @inline(never)
  private func barrier(_ sum: inout UInt64) { withUnsafeMutablePointer(to: &sum) { _ = $0 } }

  private func fetchAndTouch() throws {
    try fetch(Book.all())
    touch()
  }

  private func touchAndFinish() -> UInt64 {
    touch()
    return finishBooks()
  }

  private func finishBooks() -> UInt64 {
    let deep = books.reduce(UInt64(0)) { $0 &+ Checksum.deep($1) }
    books = []
    return bench_mix(touched, deep)
  }

  private func finishTop() -> UInt64 {
    let order = books.reduce(UInt64(0)) { sum, book in
      bench_mix(sum, UInt64(Checksum.characters(book.isbn) { bench_isbn_index($0.baseAddress) }))
    }
    return bench_mix(order, finishBooks())
  }

  private func finishTouched() -> UInt64 {
    books = []
    return touched
  }

  // MARK: By key

  private func eachPoint(_ sum: (Book) -> UInt64) throws -> UInt64 {
    try write.read { db in
      try keys.reduce(UInt64(0)) { try $0 &+ (Book.fetchOne(db, key: $1).map(sum) ?? 0) }
    }
  }

  private func point() throws { touched = try eachPoint(Checksum.touch) }

  private func finishPoint() throws -> UInt64 { bench_mix(touched, try eachPoint { Checksum.deep($0) }) }

  // MARK: By association

  private func traverse() throws {
    touched = try write.read { db in
      try books.reduce(UInt64(0)) { sum, book in
        sum &+ UInt64(bitPattern: try book.request(for: Book.author).fetchOne(db)?.born ?? 0)
      }
    }
  }

  private func readTags(_ step: Int) throws {
    var (sum, count): (UInt64, UInt64) = (0, 0)
    try write.read { db in
      for index in stride(from: 0, to: books.count, by: step) {
        for tag in try books[index].request(for: Book.tags).fetchAll(db) {
          sum &+= UInt64(tag.name.utf8.count)
          count += 1
        }
      }
    }
    touched = bench_mix(sum, count)
  }

  private func readAtOnce() throws {
    var (sum, count): (UInt64, UInt64) = (0, 0)
    let infos = try write.read { db in
      try Book.filter(keys: keys).including(all: Book.tags).asRequest(of: BookInfo.self).fetchAll(db)
    }
    for info in infos {
      for tag in info.tags {
        sum &+= UInt64(tag.name.utf8.count)
        count += 1
      }
    }
    touched = bench_mix(sum, count)
  }

  private func finishEveryTenth() throws -> UInt64 {
    books = stride(from: 0, to: books.count, by: Self.step).map { books[$0] }
    return try finishTags()
  }

  private func finishSample() throws -> UInt64 {
    books = try write.read { try Book.fetchAll($0, keys: keys) }
    return try finishTags()
  }

  private func finishTags() throws -> UInt64 {
    try write.read { db in
      for book in books { for tag in try book.request(for: Book.tags).fetchAll(db) { touched &+= Checksum.deep(tag) } }
    }
    return finishTouched()
  }

  // MARK: Writing

  private func prepareInsert() throws {
    path = shop.path("grdb-work.sqlite")
    shop.remove(path)
    let queue = try shop.queue(path)
    try shop.createTables(queue)
    _ = shop.library
    self.queue = queue
  }

  private func prepareWriting(_ seed: UInt64, _ divisor: Int, onDisk: Bool = false) throws {
    path = try onDisk ? shop.copy(toPath: shop.diskPath) : shop.copy("grdb-work.sqlite")
    let queue = try shop.queue(path, synchronous: onDisk ? "FULL" : "NORMAL")
    _ = try shop.checksum(queue)
    let all = try queue.read { try Book.fetchAll($0) }
    let sample = shop.sample(seed, divisor)
    books = sample.map { all[$0] }
    prices = sample.map { bench_new_price(all[$0].price, UInt32($0)) }
    self.queue = queue
  }

  private func update() throws {
    try write.write { db in
      for index in books.indices {
        books[index].price = prices[index]
        try books[index].update(db)
      }
    }
  }

  private func commitEach() throws {
    for index in books.indices {
      books[index].price = prices[index]
      try write.write { try books[index].update($0) }
    }
  }

  private func delete() throws {
    try write.write { db in for book in books { try book.delete(db) } }
  }

  private func finishWriting() throws -> UInt64 {
    let sum = try shop.checksum(write)
    try write.close()
    queue = nil
    books = []
    shop.remove(path)
    return sum
  }
}
