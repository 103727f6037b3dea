// W2a: a store opened for the first time in a process, so each time in a process of its own: this program, started again.
import BenchmarkData
import CipherData
import Foundation
import RawFloor

@MainActor
final class FirstOpen {
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
    let floor = FirstOpen(.floor, path: stores.path("floor-first.store")) { path in floor_make_store(path) }
    let ours = FirstOpen(.ours, path: stores.path("ours-first.store")) { path in
      OurStores.remove(path)
      try await OurStores.open(path).close()
    }
    return Workload(
      id: "W2a", name: "container made and opened, first in a process", unit: .milliseconds, operations: Double(processes),
      sides: [.floor: floor.side, .ours: ours.side])
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
      let process = Process()
      process.executableURL = Bundle.main.executableURL
      process.arguments = ["--first-open", contender.rawValue, path]
      let pipe = Pipe()
      process.standardOutput = pipe
      try process.run()
      let output = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      let one = try JSONDecoder().decode(Measured.self, from: output)
      measured.cpu += one.cpu
      measured.wall += one.wall
      count += 1
    }
  }

  /// What the started process does: opens and says what it took.
  static func open(_ contender: String, _ path: String) async throws {
    var container: PersistentContainer?
    let wall = bench_wall_seconds()
    let cpu = bench_cpu_seconds()
    if contender == Contender.floor.rawValue {
      floor_open_once(path)
    } else {
      container = try await OurStores.open(path)
    }
    let measured = Measured(cpu: bench_cpu_seconds() - cpu, wall: bench_wall_seconds() - wall)
    withExtendedLifetime(container) {}
    FileHandle.standardOutput.write(try JSONEncoder().encode(measured))
  }
}
