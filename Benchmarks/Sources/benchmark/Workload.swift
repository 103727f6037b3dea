import BenchmarkData
import RawSQLCipher

/// The implementation that runs a workload.
enum Contender: String, CaseIterable {
  /// The hand-written C program.
  case raw = "C"
  /// The library.
  case ours = "ours"
  /// GRDB's Codable records, in a child process.
  case peer = "GRDB"
  /// Another workload of ours, for goals that are a ratio to it.
  case baseline = "baseline"
}

/// One side of a workload, with preparation and verification separate from the measured part. The runner is on the main actor, as an
/// application with a view context is.
struct Side {
  /// The preparation, which is not measured.
  var prepare: @MainActor () async throws -> Void
  /// The measured part.
  var run: @MainActor () async throws -> Void
  /// Runs afterwards without being measured, and returns the checksum, which must equal the other side's.
  var finish: @MainActor () async throws -> UInt64
  /// The measurements, if another process ran the workload.
  var report: (@MainActor () -> Measured)?
}

/// The unit of a workload's figure.
enum Unit: String {
  case milliseconds = "ms"
  case nanoseconds = "ns"
  case bytes = "B"
  case megabytes = "MB"
}

/// A workload of the design.
struct Workload {
  let id: String
  let name: String
  let unit: Unit
  /// The number of operations per run; 1 if the figure is that of the whole run.
  let operations: Double
  /// The sides that run it.
  var sides: [Contender: Side]

  /// The goal for our side.
  var goal: Goal?
  /// The number of books, for workloads at several sizes.
  var books: Int?
  /// The side that the ratio is relative to.
  var limit: Contender { sides[.baseline] == nil ? .raw : .baseline }
  /// Whether it needs the archive's package index.
  var needsArchive: Bool { id.hasPrefix("W19") || id.hasPrefix("W20") }

  init(id: String, name: String, unit: Unit, operations: Double = 1, sides: [Contender: Side]) {
    self.id = id
    self.name = name
    self.unit = unit
    self.operations = operations
    self.sides = sides
    goal = Goal.all[id]
  }

  /// Creates the C side's workload at an index of its list.
  @MainActor
  init(rawIndex: Int32, state: OpaquePointer) {
    let entry = raw_workload_at(rawIndex).pointee
    let unit: Unit =
      switch entry.unit {
      case RAW_NANOSECONDS_EACH: .nanoseconds
      case RAW_BYTES_EACH: .bytes
      default: .milliseconds
      }
    let raw = Side(prepare: { entry.prepare(state) }, run: { entry.run(state) }, finish: { entry.finish(state) })
    self.init(
      id: String(cString: entry.id), name: String(cString: entry.name), unit: unit, operations: entry.operations(state),
      sides: [.raw: raw])
  }
}
