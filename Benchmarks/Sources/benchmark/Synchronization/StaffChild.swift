import BenchmarkData
import CipherData
import CipherDataSync
import Foundation

/// A device of W33 and of the mirror, in a process of its own, since memory is measured as the peak of a process.
@MainActor
struct StaffChild {
  enum Work: String {
    /// Creates a store that stays on the device.
    case fill
    /// Creates an account with the store, and sends its objects.
    case send
    /// Adds an empty store to the account, and imports the objects.
    case join
    /// Compares the store with the hub.
    case verify
  }

  nonisolated static let command = "staff"
  var work: Work
  var path: String
  var hub: String
  /// The number of objects.
  var count: Int
  /// The size of a connection's page cache in bytes.
  var cacheSize = 64 << 20

  private var recoveryKeyPath: String { hub + ".recovery" }

  /// Starts the process.
  func start() throws -> Child.Answer { try Child.start([Self.command, work.rawValue, path, hub, String(count), String(cacheSize)]) }

  /// Runs in the child process.
  static func answer(_ arguments: [String]) async throws -> Child.Answer? {
    guard arguments.count == 6, let work = Work(rawValue: arguments[1]), let count = Int(arguments[4]), let cacheSize = Int(arguments[5])
    else { return nil }
    return try await StaffChild(work: work, path: arguments[2], hub: arguments[3], count: count, cacheSize: cacheSize).answer()
  }

  private func answer() async throws -> Child.Answer {
    guard work != .fill else {
      let container = try await StaffStores.open(path, cacheSize: cacheSize)
      let measured = try await Child.measure { try StaffStores.fill(container, count: count) }
      return try finish(container, measured)
    }
    let container = try await StaffStores.open(path, hub: hub, cacheSize: cacheSize)
    let measured = try await Child.measure {
      switch work {
      case .fill: break
      case .send:
        let path = recoveryKeyPath
        try await container.createAccount { try $0.write(toFile: path, atomically: true, encoding: .utf8) }
        try await container.synchronize()
      case .join:
        try await container.joinAccount(recoveryKey: String(contentsOfFile: recoveryKeyPath, encoding: .utf8))
        try await container.synchronize()
      case .verify: if try await !container.verifyState() { throw Difference(path: path) }
      }
    }
    return try finish(container, measured)
  }

  private func finish(_ container: PersistentContainer, _ measured: Measured) throws -> Child.Answer {
    let peak = Double(bench_peak_memory())
    let checksum = try StaffStores.checksum(container)
    try container.close()
    return Child.Answer(measured: measured, checksum: checksum, memory: peak)
  }

  /// A store and its hub have different records.
  struct Difference: Error {
    let path: String
  }
}
