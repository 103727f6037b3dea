import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import SyncCore
import SyncCrypto
import SyncEngine
import SyncHub

/// Sends a large value to a hub, and receives it in another store, both over a line that breaks every 3 seconds.
struct Transfer {
  struct Difference: Error {}

  private let folder: URL
  private let stores: MeasuredStores

  init(in folder: URL) throws {
    self.folder = folder
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Film") {
          Attribute("title", .string)
          Attribute("content", .binary).externalStorage()
        }
      })
    stores = MeasuredStores(in: folder, model: model)
  }

  /// Writes bytes to a file that cannot be compressed.
  private func writeFile(_ size: Int) throws -> URL {
    let url = folder.appendingPathComponent("film")
    _ = FileManager.default.createFile(atPath: url.path, contents: nil)
    let file = try FileHandle(forWritingTo: url)
    var (state, rest): (UInt64, Int) = (0x9E37_79B9_7F4A_7C15, size)
    while rest > 0 {
      let words = (0..<131_072).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
      }
      try file.write(contentsOf: words.withUnsafeBytes { Data($0.prefix(rest)) })
      rest -= min(rest, words.count * 8)
    }
    try file.close()
    return url
  }

  func measure(size: Int, speed: Int) async throws {
    let file = try writeFile(size)
    let recoveryKey = try AccountRecoveryKey.random()
    let hubPath = folder.appendingPathComponent("hub.store").path
    let hub = EmbeddedHub(path: hubPath, hashing: ZoneHashing(zone: ZoneID(high: 0, low: 0)))
    let (coordinator, store) = try await stores.open("one.store")
    let first = try await SyncService.start(store, of: coordinator, hubPath: hubPath, recoveryKey: recoveryKey, deviceName: "one")
    try await first.synchronize()
    first.end()
    let (others, other) = try await stores.open("other.store")
    let second = try await SyncService.join(other, of: others, hubPath: hubPath, recoveryKey: recoveryKey, deviceName: "other")
    try await second.synchronize()
    second.end()

    let context = ManagedObjectContext(coordinator: coordinator)
    let film = try context.insertObject(entityName: "Film")
    try film.setValue("film", forKey: "title")
    try film.setExternalData(ExternalData(contentsOf: file), forKey: "content")
    try context.save()
    let sent = try await run(store, coordinator, hub, speed: speed)
    print(line("send", size, sent))
    let received = try await run(other, others, hub, speed: speed)
    print(line("receive", size, received))

    let found = try ManagedObjectContext(coordinator: others).fetch(FetchRequest<ManagedObject>(entityName: "Film"))
    guard found.count == 1, let value = try found[0].externalData(forKey: "content"), try value.count == size else { throw Difference() }
    let (mine, theirs) = (try ExternalData(contentsOf: file).makeReader(), try value.makeReader())
    var (mineRest, theirRest) = (Data(), Data())
    while true {
      if mineRest.isEmpty { mineRest = try mine.next() ?? Data() }
      if theirRest.isEmpty { theirRest = try theirs.next() ?? Data() }
      let count = min(mineRest.count, theirRest.count)
      if count == 0 { break }
      if mineRest.prefix(count) != theirRest.prefix(count) { throw Difference() }
      (mineRest, theirRest) = (Data(mineRest.dropFirst(count)), Data(theirRest.dropFirst(count)))
    }
    let findings = try await hub.verify()
    guard mineRest.isEmpty, theirRest.isEmpty, findings.isEmpty else { throw Difference() }
  }

  private struct Figures {
    var seconds = 0.0
    var rounds = 0
    var line = BreakingLine.Counts()
  }

  /// Synchronizes a store as an application does, until it has everything.
  private func run(
    _ store: PersistentStore, _ coordinator: PersistentStoreCoordinator, _ hub: EmbeddedHub, speed: Int
  ) async throws -> Figures {
    let line = BreakingLine(hub, speed: speed)
    let service = try await SyncService.resume(store, of: coordinator, through: line)
    defer { service.end() }
    var figures = Figures()
    let start = ContinuousClock.now
    for await update in service.watch() {
      figures.rounds += 1
      switch update {
      case .round: break
      case .failure(let error, _, _): guard (error as? HubError)?.code == .unavailable else { throw error }
      }
      let status = try await service.status()
      if status.missingAssets == 0, status.pendingSaves == 0, case .round(let round, _) = update, !round.isEmpty { break }
    }
    figures.seconds = (ContinuousClock.now - start) / .seconds(1)
    figures.line = line.counts
    return figures
  }

  private func line(_ name: String, _ size: Int, _ figures: Figures) -> String {
    let counts = figures.line
    let memory = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let peak = memory.split(separator: "\n").first { $0.hasPrefix("VmHWM") }?.split(whereSeparator: { !$0.isNumber }).first.flatMap {
      Int($0)
    }
    let cells = [
      name, "\(size / 1_000_000)", String(format: "%.0f", figures.seconds), "\(counts.breaks)", "\(counts.sentChunks)",
      "\(counts.receivedChunks)", "\((peak ?? 0) / 1_000)",
    ]
    return "| \(cells.joined(separator: " | ")) |"
  }
}
