import Foundation

/// The results of a run as JSON, with each round of each side.
struct JSONReport: Codable {
  struct Goals: Codable {
    let must: Double
    let stretch: Double
    /// "ratio": of the minimum figures to C's, "absolute": in the unit, "wallRatio": of the minimum wall times.
    let measure: String
    let stretchMeasure: String
    let reachesMust: Bool?
    let reachesStretch: Bool?
  }

  struct SideFigures: Codable {
    /// In the workload's unit.
    let rounds: [Double]
    let median: Double
    let least: Double
    /// In milliseconds.
    let wallMedian: Double
    let wallLeast: Double
    let counts: Counts?
  }

  struct WorkloadFigures: Codable {
    let id: String
    let name: String
    let unit: String
    /// The number of books in the library, in W30.
    let books: Int?
    let checksum: String
    let goals: Goals?
    /// The figures by side: "C", "ours", "GRDB"; "baseline" is another workload of ours, if the ratio is relative to it.
    let sides: [String: SideFigures]
  }

  let machine: Machine
  let rounds: Int
  var workloads: [WorkloadFigures] = []
  /// Figures that do not compare sides.
  var concurrency: [Concurrency.Figure] = []

  init(machine: Machine, rounds: Int) {
    self.machine = machine
    self.rounds = rounds
  }

  mutating func append(_ outcome: Outcome) {
    let workload = outcome.workload
    var sides: [String: SideFigures] = [:]
    for contender in outcome.samples.keys {
      let figures = outcome.figures(contender)
      let wall = outcome.wallFigures(contender)
      sides[contender.rawValue] = SideFigures(
        rounds: figures, median: figures.median, least: figures.least, wallMedian: wall.median, wallLeast: wall.least,
        counts: outcome.counts[contender])
    }
    let goals = workload.goal.map { goal in
      Goals(
        must: goal.must, stretch: goal.stretch, measure: goal.measure.rawValue,
        stretchMeasure: (goal.stretchMeasure ?? goal.measure).rawValue, reachesMust: outcome.reached?.must,
        reachesStretch: outcome.reached?.stretch)
    }
    workloads.append(
      WorkloadFigures(
        id: workload.id, name: workload.name, unit: workload.unit.rawValue, books: workload.books,
        checksum: String(format: "%016llx", outcome.checksum), goals: goals, sides: sides))
  }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(self).write(to: URL(fileURLWithPath: path))
  }
}
