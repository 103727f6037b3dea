import BenchmarkData
import Foundation
import RawSQLCipher

/// The results as a Markdown table.
struct Report {
  let options: Options
  let machine: Machine

  /// Returns the lines above the table: the measured software and the machine.
  func heading() -> String {
    let durability = machine.isInMemory ? "in memory-backed files" : "in \(options.memoryFolder), NOT memory-backed"
    let disk = machine.isDiskInMemory ? " W14b's folder is memory-backed too: its figure is not a disk's." : ""
    let peer = options.peer == nil ? "" : " GRDB: `Codable` records on plain SQLite, without encryption, in a process of its own."
    return """
      SQLCipher \(machine.cipher) (SQLite \(machine.sqlite)), raw key, 4096-byte pages, WAL, `synchronous=NORMAL`, 64 MB cache, databases \(durability).\(disk)
      \(machine.processor), \(machine.processors) processors; \(options.rounds) interleaved rounds, CPU time of the process. Goals are ratios to C of the least times but where a unit is given.
      \(machine.authors) authors, \(machine.tags) tags, \(machine.books) books, \(machine.pairs) pairs.\(peer)

      """
  }

  /// The table's head.
  var head: String {
    var columns = ["W", "workload", "unit", "C", "ours", "ratio", "C, least", "ours, least", "ratio of least", "must", "stretch"]
    if options.peer != nil { columns += ["GRDB", "GRDB, least", "GRDB to C"] }
    columns += ["statements", "allocations", "bytes", "retains", "wall C, ms", "wall ours, ms", "checksum"]
    return "| " + columns.joined(separator: " | ") + " |\n|---|---|---|" + String(repeating: "---:|", count: 6) + "---|---|"
      + String(repeating: "---:|", count: options.peer == nil ? 6 : 9) + "---|"
  }

  /// Returns a row of the table.
  func row(_ outcome: Outcome) -> String {
    let workload = outcome.workload
    let raw = outcome.figures(.raw)
    var cells = [workload.id, workload.name, workload.unit.rawValue, figure(raw.median)]
    if outcome.samples[.ours] != nil {
      let ours = outcome.figures(.ours)
      let limit = outcome.figures(workload.limit)
      // For a ratio to another workload of ours, that workload's figure is shown.
      let mark = workload.limit == .baseline ? { " (to \(figure($0)))" } : { (_: Double) in "" }
      cells += [figure(ours.median), ratio(ours.median, limit.median) + mark(limit.median)]
      cells += [figure(raw.least), figure(ours.least), ratio(ours.least, limit.least) + mark(limit.least)]
    } else {
      cells += ["C only", "", figure(raw.least), "", ""]
    }
    cells += goals(outcome)
    if options.peer != nil { cells += peer(outcome) }
    cells += counts(outcome.counts[.ours])
    cells += [figure(outcome.wallFigures(.raw).median), outcome.samples[.ours] == nil ? "" : figure(outcome.wallFigures(.ours).median)]
    cells.append(String(format: "%016llx", outcome.checksum))
    return "| " + cells.joined(separator: " | ") + " |"
  }

  /// Returns the row of a figure without a counterpart in C.
  func row(_ figure: Concurrency.Figure) -> String {
    let sign = figure.isHigherBetter ? "≥ " : ""
    let must = sign + self.figure(figure.must) + (figure.reachesMust ? " reached" : " **missed**")
    let stretch = sign + self.figure(figure.stretch) + (figure.reachesStretch ? " reached" : "")
    let value = figure.unit == "×" ? ["", ratio(figure.value, 1)] : [self.figure(figure.value), ""]
    let cells = [figure.id, figure.name, figure.unit, ""] + value + ["", "", "", must, stretch]
    return "| " + (cells + [String](repeating: "", count: options.peer == nil ? 7 : 10)).joined(separator: " | ") + " |"
  }

  private func goals(_ outcome: Outcome) -> [String] {
    guard let goal = outcome.workload.goal else { return ["", ""] }
    func promise(_ limit: Double, _ measure: Goal.Measure) -> String {
      switch measure {
      case .ratio: figure(limit)
      case .absolute: "\(figure(limit)) \(outcome.workload.unit.rawValue)"
      case .wallRatio: "\(figure(limit)) wall"
      }
    }
    let must = promise(goal.must, goal.measure)
    let stretch = promise(goal.stretch, goal.stretchMeasure ?? goal.measure)
    guard let reached = outcome.reached else { return [must, stretch] }
    return [must + (reached.must ? " reached" : " **missed**"), stretch + (reached.stretch ? " reached" : "")]
  }

  private func peer(_ outcome: Outcome) -> [String] {
    guard outcome.samples[.peer] != nil else { return ["", "", ""] }
    let peer = outcome.figures(.peer)
    return [figure(peer.median), figure(peer.least), ratio(peer.least, outcome.figures(.raw).least)]
  }

  private func counts(_ counts: Counts?) -> [String] {
    [counts?.statements, counts?.allocations, counts?.bytes, counts?.retains].map { $0.map(short) ?? "" }
  }

  private func ratio(_ value: Double, _ limit: Double) -> String { String(format: "%.2f", value / limit) }

  /// Formats a value with three significant digits or as a whole number.
  private func figure(_ value: Double) -> String {
    switch abs(value) {
    case 100...: String(format: "%.0f", value)
    case 10..<100: String(format: "%.1f", value)
    case 1..<10: String(format: "%.2f", value)
    default: String(format: "%.3f", value)
    }
  }

  /// Abbreviates a count.
  private func short(_ count: Int) -> String {
    switch count {
    case 10_000_000...: figure(Double(count) / 1e6) + "M"
    case 10_000...: figure(Double(count) / 1e3) + "k"
    default: String(count)
    }
  }
}

extension Outcome {
  /// Returns a side's figures in the workload's unit.
  func figures(_ contender: Contender) -> [Double] { samples[contender]?.figures(of: workload) ?? [] }

  /// Returns a side's wall times in milliseconds.
  func wallFigures(_ contender: Contender) -> [Double] { samples[contender]?.wallFigures(of: workload) ?? [] }

  /// Whether the minimum figures reach the goals; nil if there is nothing to compare.
  var reached: (must: Bool, stretch: Bool)? {
    guard let goal = workload.goal, samples[.ours] != nil else { return nil }
    func reaches(_ limit: Double, _ measure: Goal.Measure) -> Bool {
      switch measure {
      case .ratio: figures(.ours).least / figures(workload.limit).least <= limit
      case .absolute: figures(.ours).least <= limit
      case .wallRatio: wallFigures(.ours).least / wallFigures(workload.limit).least <= limit
      }
    }
    return (reaches(goal.must, goal.measure), reaches(goal.stretch, goal.stretchMeasure ?? goal.measure))
  }
}
