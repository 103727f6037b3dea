import BenchmarkData

/// The measurements of one run.
struct Measured: Codable {
  /// CPU time of all threads, in seconds.
  var cpu = 0.0
  /// Wall time in seconds.
  var wall = 0.0
  /// The growth of the heap in bytes.
  var heap = 0.0
  /// The growth of the peak resident memory in bytes, for child processes only.
  var peak = 0.0
}

/// One side's measurements, one per round.
struct Samples {
  private(set) var rounds: [Measured] = []
  /// The start and end of each measured part.
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

  /// The wall time of each round in milliseconds: per operation if the workload's unit is milliseconds, else of the whole run.
  func wallFigures(of workload: Workload) -> [Double] {
    rounds.map { $0.wall * 1e3 / (workload.unit == .milliseconds ? workload.operations : 1) }
  }
}

extension [Double] {
  var median: Double {
    let sorted = sorted()
    guard !sorted.isEmpty else { return 0 }
    let half = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[half - 1] + sorted[half]) / 2 : sorted[half]
  }

  /// The minimum: other load on the machine only increases figures.
  var least: Double { self.min() ?? 0 }
}

/// The checksums of the sides differ.
struct ChecksumMismatch: Error {
  let workload: String
  let sums: [Contender: UInt64]
}

/// The results of one workload.
struct Outcome {
  let workload: Workload
  let samples: [Contender: Samples]
  let counts: [Contender: Counts]
  let checksum: UInt64
}

/// Runs a workload with its sides interleaved: an optional warm-up round, `rounds` measured ones, and one in which operations are counted.
/// The sides take turns in starting a round.
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
    for contender in [Contender.raw, .ours] {
      // The operations of a child process cannot be counted here.
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
