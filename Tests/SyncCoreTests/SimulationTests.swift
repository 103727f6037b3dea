import Foundation
import XCTest
import _SyncSimulation

final class SimulationTests: XCTestCase {
  /// Scripts/simulate runs more seeds, in a release build.
  func testInvariantsHoldInRandomRuns() {
    for seed: UInt64 in 0..<400 {
      let (setup, events) = SimulationRun.plan(seed)
      guard let failure = SimulationRun.failure(setup, events) else { continue }
      let short = SimulationRun.shortened(setup, events, failure)
      return XCTFail("seed \(seed): \(short.failure)\n\(SimulationRun.test(setup, short.events))")
    }
  }

  func testARunIsAFunctionOfItsSeed() throws {
    for seed: UInt64 in 0..<20 {
      let (setup, events) = SimulationRun.plan(seed)
      let (again, sameEvents) = SimulationRun.plan(seed)
      XCTAssertEqual(setup, again)
      XCTAssertEqual(events, sameEvents)
      let (one, other) = (Simulation(setup), Simulation(setup))
      try one.run(events)
      try other.run(events)
      XCTAssertEqual(one.digest, other.digest)
    }
  }

  /// Scripts/simulate --faults enables them one at a time.
  func testEachPlantedFaultReplacesCodeThatExists() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let folder = root.appendingPathComponent("Sources/SyncCore").resolvingSymlinksInPath()
    var sources: [String: String] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
      sources[path] = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
    }
    let list = try String(contentsOf: root.appendingPathComponent("Tests/_SyncSimulation/PlantedFaults.txt"), encoding: .utf8)
    let faults = try PlantedFault.list(list)
    XCTAssertGreaterThanOrEqual(faults.count, 30)
    XCTAssertNoThrow(try PlantedFault.plant(faults, in: sources))
  }
}
