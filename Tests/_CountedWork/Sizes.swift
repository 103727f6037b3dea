import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import _TestSupport

/// Fills one store to each power of ten from ten thousand to a hundred million rows, and measures requests for a few rows and for all of
/// them.
struct Sizes {
  private let url: URL
  private let model: CompiledModel
  private let key = StoreKey.raw(SecretBytes([UInt8](repeating: 5, count: 32)))

  init(in folder: URL) throws {
    url = folder.appendingPathComponent("sizes.store")
    model = try CompiledModel(CountedStore.described)
  }

  /// Prints a table row for each power of ten up to a number of rows.
  func measure(upTo most: Int) throws {
    print("| Rows | MiB | Filled, s | Opening, ms | Counting, ms | A point read, ms | A save, ms | `verify`, quick, s | full, s |")
    print("|---|---|---|---|---|---|---|---|---|")
    var (size, count) = (10_000, 0)
    while size <= most {
      let filled = try time { try fill(from: count, to: size) }
      count = try line(size, filled)
      size *= 10
    }
  }

  /// Opens the store in a separate coordinator, and closes it.
  private func withStore<Result>(_ body: (PersistentStoreCoordinator) throws -> Result) throws -> Result {
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    let store = try coordinator.addPersistentStoreAndWait(PersistentStoreDescription(url: url, key: key))
    let result = try body(coordinator)
    try coordinator.remove(store)
    return result
  }

  private func fill(from start: Int, to end: Int) throws {
    var next = start
    try withStore { coordinator in
      while next < end {
        let last = min(next + 1_000_000, end)
        try ManagedObjectContext(coordinator: coordinator).execute(
          BatchInsertRequest(entityName: "Book") { row in
            guard next < last else { return true }
            row = ["title": "the book with the number \(next)", "year": Int64(next % 2_000)]
            next += 1
            return false
          })
      }
    }
  }

  /// Measures, prints, and returns the number of rows at the end.
  private func line(_ size: Int, _ filled: Double) throws -> Int {
    let opening = try least(of: 5) { try withStore { _ in } }
    var (counting, reading, saving) = (0.0, 0.0, 0.0)
    try withStore { coordinator in
      func context() -> ManagedObjectContext { ManagedObjectContext(coordinator: coordinator) }
      counting = try least(of: 3) {
        guard try context().count(for: FetchRequest<ManagedObject>(entityName: "Book")) == size else {
          throw CocoaError(.coderValueNotFound)
        }
      }
      let request = FetchRequest<ManagedObject>(entityName: "Book").limit(1)
      guard let one = try context().fetch(request).first?.objectID.uriRepresentation().absoluteString, let place = one.lastIndex(of: "p")
      else { throw CocoaError(.coderValueNotFound) }
      var random = SystemRandomNumberGenerator()
      var found = 0
      let looking = try time {
        while found < 200 {
          // Keys have gaps, since some reserved ones are never used.
          let uri = URL(string: "\(one[...place])\(Int.random(in: 1...size, using: &random))")
          guard let id = uri.flatMap(coordinator.managedObjectID(forURIRepresentation:)),
            let object = try? context().existingObject(with: id)
          else { continue }
          found += try object.value(forKey: "title") is String ? 1 : 0
        }
      }
      reading = looking / Double(found)
      saving = try least(of: 20) {
        let context = context()
        try context.insertObject(entityName: "Book").setValue("one more", forKey: "title")
        try context.save()
      }
    }
    let file = try waitFor { [url, key] in try await SQLCipherStoreFile.unlock(at: url, key: key) }
    func verify(_ level: StoreVerificationLevel) throws -> Double {
      try time { guard try waitFor({ try await file.verify(level) }).isEmpty else { throw CocoaError(.fileReadCorruptFile) } }
    }
    let (quick, full) = (try verify(.quick), try verify(.full))
    let bytes = try url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
    let times = [filled, opening * 1_000, counting * 1_000, reading * 1_000, saving * 1_000, quick, full].map { String(format: "%.2f", $0) }
    print("| \(size.formatted(.number.locale(Locale(identifier: "en")))) | \(bytes >> 20) | \(times.joined(separator: " | ")) |")
    fflush(nil)
    return size + 20
  }
}

/// Returns the duration of `work` in seconds.
func time(_ work: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try work()
  return (ContinuousClock.now - start) / .seconds(1)
}

/// Returns the minimum duration of several attempts in seconds, since other load only increases times.
func least(of tries: Int, _ work: () throws -> Void) rethrows -> Double {
  var least = Double.infinity
  for _ in 0..<tries { least = min(least, try time(work)) }
  return least
}
