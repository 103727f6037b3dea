import Foundation
import Synchronization
import XCTest
import _ProofStore
import _TestSupport

/// Processes that save in synchronized stores until they are killed, stopped or done, in several rounds, and a check of what all devices
/// have after each round. The seed determines the orders; the interleaving of the processes is random.
struct SyncedClients: ProofCase {
  /// What is restored from older copies between rounds.
  enum Restoration: String, CaseIterable {
    case nothing
    /// Stores, from backups that were made while they were used.
    case stores
    /// The hub, while all clients are stopped.
    case hub
    /// Stores, by overwriting the files of closed ones in place.
    case storesInPlace

    /// Those that are tried. Stores that are overwritten in place are not detected as older copies yet.
    static var tried: [Self] {
      ProcessInfo.processInfo.environment["CIPHERDATA_TORTURE_IN_PLACE"] == "1" ? allCases : [.nothing, .stores, .hub]
    }
  }

  /// The numbers of a case.
  struct Scale {
    var accounts = 2
    var devices = 4
    var rounds = 4
    /// The number of kills in a round, at the end of which all processes are killed.
    var kills = 10
    /// The time after which a round ends with fewer kills, in seconds.
    var longest = 60.0
  }

  let restoration: Restoration
  let scale: Scale
  let seed: UInt64
  private let result = Result()

  /// The statistics of a finished case.
  struct Counts: Sendable {
    var kills = 0
    var acknowledged = 0
    /// The number of processes that were stopped and continued.
    var stops = 0
    /// The number of objects that had to exist at the end.
    var required = 0
    /// The number of stores and hubs that were replaced with older copies.
    var restorations = 0
  }

  /// The statistics and the files of a finished case.
  private final class Result: Sendable {
    let counts = Mutex(Counts())
    let folder = Mutex<TemporaryFolder?>(nil)
  }

  init(_ restoration: Restoration, scale: Scale = Scale(), seed: UInt64) {
    (self.restoration, self.scale, self.seed) = (restoration, scale, seed)
  }

  var description: String { "\(scale.accounts * scale.devices) clients, restored: \(restoration.rawValue), seed \(seed)" }
  var faultCount: Int { result.counts.withLock { $0.kills } }
  var acknowledgedWorks: Int { result.counts.withLock { $0.acknowledged } }
  var counts: Counts { result.counts.withLock { $0 } }

  func keep(in folder: URL) throws {
    guard let played = result.folder.withLock({ $0 }) else { return }
    for name in try FileManager.default.contentsOfDirectory(atPath: played.url.path) {
      try FileManager.default.copyItem(at: played.file(name), to: folder.appendingPathComponent(name))
    }
  }

  func problem() throws -> String? {
    let folder = try TemporaryFolder("SyncedClients")
    result.folder.withLock { $0 = folder }
    let world = SyncWorld(folder: folder.url)
    for place in [world.files, world.logs] {
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    var clients = try SyncClientGroup(world: world, scale: scale, seed: seed)
    defer {
      result.counts.withLock { counts in
        (counts.kills, counts.acknowledged, counts.stops) = (clients.killCount, clients.acknowledgedCount, clients.stopCount)
        counts.required = clients.requiredCounts.values.reduce(0, +)
      }
    }
    return try play(&clients, world)
  }

  private func play(_ clients: inout SyncClientGroup, _ world: SyncWorld) throws -> String? {
    var random = SeededGenerator(seed: seed &+ 0x5EED)
    let copies = SyncCopies(world)
    for account in 0..<scale.accounts {
      if let problem = try clients.run(.create(SyncDevice(account: account, number: 0))) { return problem }
    }
    var restorations: [SyncRestoration] = []
    for round in 0..<scale.rounds {
      if let problem = try clients.play(kills: scale.kills, longest: scale.longest) { return "round \(round): \(problem)" }
      // Before the devices have sent what they have, or before they save again.
      let isBefore = round == scale.rounds - 1 || Bool.random(using: &random)
      if isBefore, let problem = try restore(&restorations, &clients, copies, &random) { return "round \(round): \(problem)" }
      for account in 0..<scale.accounts {
        if let problem = try clients.settle(account, restorations) { return "round \(round), account \(account): \(problem)" }
      }
      if !isBefore, let problem = try restore(&restorations, &clients, copies, &random) { return "round \(round): \(problem)" }
      if copies.begun == nil || Bool.random(using: &random) {
        switch restoration {
        case .hub: try copies.make(ofHub: true)
        case .storesInPlace: try copies.make(ofHub: false)
        case .nothing, .stores: break
        }
      }
    }
    return nil
  }

  /// Restores what there are copies of.
  private func restore(
    _ restorations: inout [SyncRestoration], _ clients: inout SyncClientGroup, _ copies: SyncCopies, _ random: inout SeededGenerator
  ) throws -> String? {
    switch restoration {
    case .nothing: break
    case .hub:
      guard copies.begun != nil else { break }
      try copies.restoreHub()
      result.counts.withLock { $0.restorations += 1 }
    case .storesInPlace:
      guard let device = clients.devices.randomElement(using: &random), let begun = copies.begun else { break }
      try copies.restore(device)
      result.counts.withLock { $0.restorations += 1 }
      restorations.append(SyncRestoration(device: device, backupBegun: begun, at: SyncLogFile.now))
    case .stores:
      let backups = try clients.logs().flatMap(\.backups)
      for device in Set(backups.map(\.device)).sorted(by: { $0.description < $1.description }) where Bool.random(using: &random) {
        guard let backup = backups.filter({ $0.device == device }).randomElement(using: &random) else { continue }
        if let problem = try clients.run(.restore(device, backup: backup.name)) { return problem }
        result.counts.withLock { $0.restorations += 1 }
        restorations.append(SyncRestoration(device: device, backupBegun: backup.begun, at: SyncLogFile.now))
      }
    }
    return nil
  }
}

/// Copies of files that are made and restored while no process uses them, without the library.
final class SyncCopies {
  private let world: SyncWorld
  /// The time of the last copy; nil before the first.
  private(set) var begun: UInt64?

  init(_ world: SyncWorld) { self.world = world }

  private var folder: URL { world.folder.appendingPathComponent("copies", isDirectory: true) }
  private static let suffixes = ["", "-wal"]

  /// Copies the hub, or all stores.
  func make(ofHub: Bool) throws {
    begun = SyncLogFile.now
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    for name in try FileManager.default.contentsOfDirectory(atPath: world.files.path) where name.hasPrefix("hub.") == ofHub {
      try FileManager.default.copyItem(at: world.files.appendingPathComponent(name), to: folder.appendingPathComponent(name))
    }
  }

  /// Puts copies of the hub's database and its log in their place.
  func restoreHub() throws {
    for suffix in Self.suffixes + ["-shm"] { try replace(world.hub.path + suffix, inPlace: false) }
  }

  /// Overwrites the files of a store.
  func restore(_ device: SyncDevice) throws {
    for suffix in Self.suffixes + ["-shm"] { try replace(world.store(device).path + suffix, inPlace: true) }
  }

  private func replace(_ path: String, inPlace: Bool) throws {
    let place = URL(fileURLWithPath: path)
    let copy = folder.appendingPathComponent(place.lastPathComponent)
    if path.hasSuffix("-shm") || !FileManager.default.fileExists(atPath: copy.path) {
      try? FileManager.default.removeItem(at: place)
    } else if inPlace, FileManager.default.fileExists(atPath: path) {
      let file = try FileHandle(forWritingTo: place)
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data(contentsOf: copy))
      try file.close()
    } else {
      try? FileManager.default.removeItem(at: place)
      try FileManager.default.copyItem(at: copy, to: place)
    }
  }
}
