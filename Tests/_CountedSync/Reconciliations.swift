import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import SyncCore
import SyncCrypto
import SyncEngine
import SyncHub
import Synchronization

/// Arguments: a folder, a number of records, and how many of them differ; or a folder, `transfer`, the megabytes of a large value, and the
/// megabytes per second of the line. Prints a line of a table.
@main
enum CountedSync {
  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count == 5, arguments[2] == "transfer", let size = Int(arguments[3]), let speed = Int(arguments[4]), size > 0, speed > 0 {
      return try await Transfer(in: URL(fileURLWithPath: arguments[1])).measure(size: size * 1_000_000, speed: speed * 1_000_000)
    }
    guard arguments.count == 4, let count = Int(arguments[2]), let differences = Int(arguments[3]), 1...count ~= differences else {
      print("usage: _CountedSync FOLDER RECORDS DIFFERENCES | FOLDER transfer MEGABYTES MEGABYTES_PER_SECOND")
      exit(64)
    }
    try await Reconciliations(in: URL(fileURLWithPath: arguments[1])).measure(count: count, differences: differences)
  }
}

/// Measures the comparison of a synchronized store with its hub, and the repair of what differs.
struct Reconciliations {
  private let folder: URL
  private let stores: MeasuredStores

  init(in folder: URL) throws {
    self.folder = folder
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Book") {
          Attribute("title", .string)
          Attribute("year", .integer64)
        }
      })
    stores = MeasuredStores(in: folder, model: model)
  }

  func measure(count: Int, differences: Int) async throws {
    let (coordinator, store) = try await stores.open("one.store")
    let recoveryKey = try AccountRecoveryKey.random()
    let hubPath = folder.appendingPathComponent("hub.store").path
    let first = try await SyncService.start(
      store, of: coordinator, hubPath: hubPath, recoveryKey: recoveryKey, deviceName: "one")
    var next = 0
    try ManagedObjectContext(coordinator: coordinator).execute(
      BatchInsertRequest(entityName: "Book") { row in
        guard next < count else { return true }
        row = ["title": "the book with the number \(next)", "year": Int64(next % 2_000)]
        next += 1
        return false
      })
    try await first.synchronize()
    first.end()
    let (others, other) = try await stores.open("other.store")
    let second = try await SyncService.join(other, of: others, hubPath: hubPath, recoveryKey: recoveryKey, deviceName: "other")
    try await second.synchronize()
    second.end()
    let hub = CountingHub(EmbeddedHub(path: hubPath, hashing: ZoneHashing(zone: ZoneID(high: 0, low: 0))))
    let replica = try StoreReplica(other, of: others)
    try Self.damage(replica, differences)
    let runner = try SyncRunner(replica, with: hub)
    let (begun, busy) = (DispatchTime.now().uptimeNanoseconds, clock())
    let round = try await runner.reconcile()
    let seconds = [
      Double(DispatchTime.now().uptimeNanoseconds - begun) / 1e9, Double(clock() - busy) / Double(CLOCKS_PER_SEC),
    ].map { String(format: "%.2f", $0) }
    let result = round.reconciled ?? ReconciliationResult()
    let (requests, bytes) = hub.counts
    let figures = [count, result.differenceCount, result.fetchedCount, requests, bytes].map(String.init) + seconds
    print("| \(figures.joined(separator: " | ")) |")
  }

  /// Makes half of some records unknown to the device, and gives the others another version.
  private static func damage(_ replica: StoreReplica, _ count: Int) throws {
    try replica.transaction {
      let ids = try replica.records(after: nil, maximumCount: .max)
      for (number, id) in ids.enumerated() where number % (ids.count / count) == 0 && number / (ids.count / count) < count {
        guard var entry = try replica.entry(of: id) else { continue }
        entry.base = number % 2 == 0 ? nil : entry.base.map { RecordEntry.VersionedRecord($0.sequence, Digest(1, 2, 3, 4), $0.record) }
        try replica.setEntry(entry, of: id)
      }
    }
  }
}
