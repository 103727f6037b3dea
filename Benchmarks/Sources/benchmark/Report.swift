// The results as a Markdown table.
import BenchmarkData
import Foundation
import RawFloor

/// Writes outcomes as Markdown.
struct Report {
  let options: Options
  let state: OpaquePointer
  let data: UnsafeMutablePointer<bench_data>

  /// The lines above the table: what was measured, where.
  func heading() -> String {
    let cipher = floor_cipher_version(state).map { String(cString: $0) } ?? ""
    let sqlite = floor_sqlite_version().map { String(cString: $0) } ?? ""
    let counts = data.pointee
    let durability =
      bench_is_memory_backed(options.memoryFolder) ? "in memory-backed files" : "in \(options.memoryFolder), NOT memory-backed"
    let disk = bench_is_memory_backed(options.diskFolder) ? " W14b's folder is memory-backed too: its figure is not a disk's." : ""
    return """
      SQLCipher \(cipher.isEmpty ? "?" : cipher) (SQLite \(sqlite)), raw key, 4096-byte pages, WAL, `synchronous=NORMAL`, 64 MB cache, databases \(durability).\(disk)
      \(processorName()), \(ProcessInfo.processInfo.activeProcessorCount) processors; medians of \(options.rounds) interleaved rounds, CPU time of the process.
      \(counts.author_count) authors, \(counts.tag_count) tags, \(counts.book_count) books, \(counts.pair_count) pairs.

      """
  }

  /// The table's head.
  static let head = """
    | W | workload | unit | C | ours | ratio | first | wall C, ms | wall ours, ms | checksum |
    |---|---|---|---:|---:|---:|---:|---:|---:|---|
    """

  /// One row of it.
  func row(_ outcome: Outcome) -> String {
    let workload = outcome.workload
    let floor = outcome.floor.median(of: workload)
    var cells = [workload.id, workload.name, workload.unit.symbol, figure(floor)]
    if let ours = outcome.ours {
      let median = ours.median(of: workload)
      cells += [figure(median), String(format: "%.2f", median / floor), verdict(workload, median, floor)]
      cells += [figure(outcome.floor.wallMilliseconds(of: workload)), figure(ours.wallMilliseconds(of: workload))]
    } else {
      cells += ["C only", "", promise(workload.target), figure(outcome.floor.wallMilliseconds(of: workload)), ""]
    }
    cells.append(String(format: "%016llx", outcome.checksum))
    return "| " + cells.joined(separator: " | ") + " |"
  }

  private func promise(_ target: Target) -> String {
    switch target {
    case .ratio(let limit): "≤ " + figure(limit)
    case .absolute(let limit): "≤ " + figure(limit)
    case .none: "measured"
    }
  }

  private func verdict(_ workload: Workload, _ ours: Double, _ floor: Double) -> String {
    let reached: Bool
    switch workload.target {
    case .ratio(let limit): reached = ours / floor <= limit
    case .absolute(let limit): reached = ours <= limit
    case .none: return promise(.none)
    }
    return promise(workload.target) + (reached ? " reached" : " **missed**")
  }

  /// Three significant digits or whole numbers.
  private func figure(_ value: Double) -> String {
    switch abs(value) {
    case 100...: String(format: "%.0f", value)
    case 10..<100: String(format: "%.1f", value)
    case 1..<10: String(format: "%.2f", value)
    default: String(format: "%.3f", value)
    }
  }

  private func processorName() -> String {
    guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("model name") }),
      let colon = line.firstIndex(of: ":")
    else { return "unknown processor" }
    return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
  }
}
