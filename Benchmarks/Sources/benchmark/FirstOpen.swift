import BenchmarkData
import CipherData
import RawSQLCipher

/// W2a: the first opening of a store in a process, so each one runs in a child process.
@MainActor
final class FirstOpen {
  static let command = "first-open"
  private static let processes = 3
  private let contender: Contender
  private let path: String
  private let make: @MainActor (String) async throws -> Void
  private var measured = Measured()
  private var count = 0

  init(_ contender: Contender, path: String, make: @escaping @MainActor (String) async throws -> Void) {
    self.contender = contender
    self.path = path
    self.make = make
  }

  static func workload(_ stores: OurStores) -> Workload {
    let raw = FirstOpen(.raw, path: stores.path("raw-first.store")) { path in raw_make_store(path) }
    let ours = FirstOpen(.ours, path: stores.path("ours-first.store")) { path in
      OurStores.remove(path)
      try await OurStores.open(path).close()
    }
    return Workload(
      id: "W2a", name: "container made and opened, first in a process", unit: .milliseconds, operations: Double(processes),
      sides: [.raw: raw.side, .ours: ours.side])
  }

  private var side: Side {
    Side(
      prepare: { try await self.make(self.path) }, run: run,
      finish: {
        OurStores.remove(self.path)
        return UInt64(self.count)
      }, report: { self.measured })
  }

  private func run() throws {
    measured = Measured()
    count = 0
    for _ in 0..<Self.processes {
      let one = try Child.start([Self.command, contender.rawValue, path]).measured
      measured.cpu += one.cpu
      measured.wall += one.wall
      count += 1
    }
  }

  /// Runs in the child process: opens the store and returns the measurement.
  static func answer(_ arguments: [String]) async throws -> Child.Answer? {
    guard arguments.count == 3 else { return nil }
    var container: PersistentContainer?
    let measured = try await Child.measure {
      if arguments[1] == Contender.raw.rawValue {
        raw_open_once(arguments[2])
      } else {
        container = try await OurStores.open(arguments[2])
      }
    }
    withExtendedLifetime(container) {}
    return Child.Answer(measured: measured)
  }
}
