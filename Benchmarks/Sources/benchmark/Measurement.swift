// Measures the sides of a workload round by round, interleaved.
import BenchmarkData

/// What one run took.
struct Measured: Codable {
  /// CPU time of all threads, in seconds.
  var cpu = 0.0
  /// Time that passed, in seconds.
  var wall = 0.0
  /// What the heap grew by, in bytes.
  var heap = 0.0
  /// What the most resident memory lay above that before, in bytes; only where a process of its own did the work.
  var peak = 0.0
}

/// One side's figures, one a round.
struct Samples {
  private(set) var rounds: [Measured] = []
  /// When the measured parts began and ended.
  private(set) var intervals: [(Double, Double)] = []

  mutating func append(_ measured: Measured, from begin: Double) {
    rounds.append(measured)
    intervals.append((begin, begin + measured.wall))
  }

  /// Each round's figure in the workload's unit.
  func figures(of workload: Workload) -> [Double] {
    rounds.map { round in
      switch workload.unit {
      case .milliseconds: round.cpu * 1e3 / workload.operations
      case .nanoseconds: round.cpu * 1e9 / workload.operations
      case .bytes: round.heap / workload.operations
      case .megabytes: round.peak / 1e6
      }
    }
  }

  /// The time that passed in each round, in milliseconds: an operation's where the figure is an operation's milliseconds, else the run's.
  func wallFigures(of workload: Workload) -> [Double] {
    rounds.map { $0.wall * 1e3 / (workload.unit == .milliseconds ? workload.operations : 1) }
  }
}

extension [Double] {
  /// The median.
  var median: Double {
    let sorted = sorted()
    guard !sorted.isEmpty else { return 0 }
    let half = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[half - 1] + sorted[half]) / 2 : sorted[half]
  }

  /// The least: what swings with the machine's other work only makes it larger.
  var least: Double { self.min() ?? 0 }
}

/// The sides do not agree on what they read.
struct ChecksumMismatch: Error {
  let workload: String
  let sums: [Contender: UInt64]
}

/// What came out for one workload.
struct Outcome {
  let workload: Workload
  let samples: [Contender: Samples]
  let counts: [Contender: Counts]
  let checksum: UInt64
}

/// Runs a workload: one round that is not counted (`warmsUp`), then `rounds` that are, and one in which is counted what each side does. The side that begins takes
/// turns.
@MainActor
func measure(_ workload: Workload, rounds: Int, warmsUp: Bool = true, counting: Bool) async throws -> Outcome {
  let contenders = Contender.allCases.filter { workload.sides[$0] != nil }
  var samples: [Contender: Samples] = [:]
  var checksum: UInt64?
  for round in (warmsUp ? 0 : 1)...rounds {
    var sums: [Contender: UInt64] = [:]
    for turn in contenders.indices {
      let contender = contenders[(turn + round) % contenders.count]
      guard let side = workload.sides[contender] else { continue }
      let (sum, measured, begin) = try await once(side)
      if contender != .baseline { sums[contender] = sum }
      if round > 0 { samples[contender, default: Samples()].append(measured, from: begin) }
    }
    guard let first = sums.values.first, sums.values.allSatisfy({ $0 == first }), checksum == nil || first == checksum else {
      throw ChecksumMismatch(workload: workload.id, sums: sums)
    }
    checksum = first
  }
  var counts: [Contender: Counts] = [:]
  if counting {
    for contender in [Contender.floor, .ours] {
      // What another process does is not seen here.
      guard let side = workload.sides[contender], side.report == nil else { continue }
      counts[contender] = try await count(side)
    }
  }
  return Outcome(workload: workload, samples: samples, counts: counts, checksum: checksum ?? 0)
}

@MainActor
private func once(_ side: Side) async throws -> (sum: UInt64, measured: Measured, begin: Double) {
  try await side.prepare()
  let heap = bench_heap_bytes()
  let wall = bench_wall_seconds()
  let cpu = bench_cpu_seconds()
  try await side.run()
  let cpuTaken = bench_cpu_seconds() - cpu
  let wallTaken = bench_wall_seconds() - wall
  let heapTaken = Double(bench_heap_bytes()) - Double(heap)
  let measured = side.report?() ?? Measured(cpu: cpuTaken, wall: wallTaken, heap: heapTaken)
  return (try await side.finish(), measured, wall)
}
