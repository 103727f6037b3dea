// The results for programs, each round of each side.
import Foundation

/// A run as JSON.
struct JSONReport: Codable {
  struct Goals: Codable {
    let must: Double
    let stretch: Double
    /// "ratio" to C of the least figures, "absolute" in the unit, "wallRatio" of the least times that passed.
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
    /// How many books the library has, in W30.
    let books: Int?
    let checksum: String
    let goals: Goals?
    /// By who did it: "C", "ours", "GRDB"; "baseline" is another workload of ours, where the ratio is to that.
    let sides: [String: SideFigures]
  }

  let machine: Machine
  let rounds: Int
  var workloads: [WorkloadFigures] = []
  /// Figures that are no comparison of sides.
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
