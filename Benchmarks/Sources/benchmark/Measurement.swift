// Measures both sides of a workload round by round, interleaved, and takes medians.
import BenchmarkData

/// One side's figures, one a round.
struct Samples {
  var cpu: [Double] = []
  var wall: [Double] = []
  var heap: [Double] = []
  var intervals: [(Double, Double)] = []

  /// The median in the workload's unit.
  func median(of workload: Workload) -> Double {
    switch workload.unit {
    case .milliseconds: middle(cpu) * 1e3 / workload.operations
    case .nanoseconds: middle(cpu) * 1e9 / workload.operations
    case .bytes: middle(heap) / workload.operations
    }
  }

  /// The median of the time that passed, in milliseconds: an operation's where the figure is an operation's milliseconds, else the run's.
  func wallMilliseconds(of workload: Workload) -> Double {
    middle(wall) * 1e3 / (workload.unit == .milliseconds ? workload.operations : 1)
  }
}

/// The two sides do not agree on what they read.
struct ChecksumMismatch: Error {
  let workload: String
  let floor: UInt64
  let ours: UInt64
}

/// What came out for one workload.
struct Outcome {
  let workload: Workload
  let floor: Samples
  let ours: Samples?
  /// When our side's measured parts began and ended.
  let intervals: [(Double, Double)]
  let checksum: UInt64
}

/// Runs a workload: one round that is not counted, then `rounds` that are. The side that begins alternates.
@MainActor
func measure(_ workload: Workload, rounds: Int) async throws -> Outcome {
  var floor = Samples()
  var ours = Samples()
  var checksum: UInt64 = 0
  for round in 0...rounds {
    if let side = workload.ours {
      var floorSum: UInt64
      var oursSum: UInt64
      if round.isMultiple(of: 2) {
        floorSum = try await once(workload.floor, into: &floor, counted: round > 0)
        oursSum = try await once(side, into: &ours, counted: round > 0)
      } else {
        oursSum = try await once(side, into: &ours, counted: round > 0)
        floorSum = try await once(workload.floor, into: &floor, counted: round > 0)
      }
      guard floorSum == oursSum else { throw ChecksumMismatch(workload: workload.id, floor: floorSum, ours: oursSum) }
      checksum = floorSum
    } else {
      let sum = try await once(workload.floor, into: &floor, counted: round > 0)
      guard round == 0 || sum == checksum else { throw ChecksumMismatch(workload: workload.id, floor: checksum, ours: sum) }
      checksum = sum
    }
  }
  return Outcome(workload: workload, floor: floor, ours: workload.ours == nil ? nil : ours, intervals: ours.intervals, checksum: checksum)
}

@MainActor
private func once(_ side: Side, into samples: inout Samples, counted: Bool) async throws -> UInt64 {
  try await side.prepare()
  let heap = bench_heap_bytes()
  let wall = bench_wall_seconds()
  let cpu = bench_cpu_seconds()
  try await side.run()
  let cpuTaken = bench_cpu_seconds() - cpu
  let wallTaken = bench_wall_seconds() - wall
  let heapTaken = Double(bench_heap_bytes()) - Double(heap)
  if counted {
    samples.cpu.append(cpuTaken)
    samples.wall.append(wallTaken)
    samples.heap.append(heapTaken)
    samples.intervals.append((wall, wall + wallTaken))
  }
  return try await side.finish()
}

/// The median.
private func middle(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  guard let last = sorted.last else { return 0 }
  let half = sorted.count / 2
  return sorted.count.isMultiple(of: 2) ? (sorted[half - 1] + sorted[half]) / 2 : sorted.count == 1 ? last : sorted[half]
}
