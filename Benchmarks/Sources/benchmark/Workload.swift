// What a workload is: its sides, with preparation and checking kept apart from the measured part.
import BenchmarkData
import RawFloor

/// Who does a workload.
enum Contender: String, CaseIterable {
  /// The hand-written C program.
  case floor = "C"
  /// The library.
  case ours = "ours"
  /// GRDB's Codable records, in a process of its own.
  case peer = "GRDB"
  /// Another workload of ours, where the goal is a ratio to that.
  case baseline = "baseline"
}

/// One side of a workload. The runner is on the main actor, as an application with a view context is.
struct Side {
  /// What comes before and is not measured.
  var prepare: @MainActor () async throws -> Void
  /// The measured part.
  var run: @MainActor () async throws -> Void
  /// What comes after and is not measured; gives the checksum, which must be the other side's.
  var finish: @MainActor () async throws -> UInt64
  /// What the run took, where another process did the work and measured it.
  var report: (@MainActor () -> Measured)?
}

/// What a workload's figure is.
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
  /// How many operations a run makes; 1 where the figure is the whole run's.
  let operations: Double
  /// Who does it.
  var sides: [Contender: Side]

  /// What our side has to reach.
  var goal: Goal?
  /// How many books there are, where the workload is one of several sizes.
  var books: Int?
  /// What the ratio is to.
  var limit: Contender { sides[.baseline] == nil ? .floor : .baseline }
  /// Whether it works on the archive's package index.
  var needsArchive: Bool { id.hasPrefix("W19") || id.hasPrefix("W20") }

  init(id: String, name: String, unit: Unit, operations: Double = 1, sides: [Contender: Side]) {
    self.id = id
    self.name = name
    self.unit = unit
    self.operations = operations
    self.sides = sides
    goal = Goal.all[id]
  }

  /// The C side's workload at an index of the floor's list.
  @MainActor
  init(floorIndex: Int32, state: OpaquePointer) {
    let entry = floor_workload_at(floorIndex).pointee
    let unit: Unit =
      switch entry.unit {
      case FLOOR_NANOSECONDS_EACH: .nanoseconds
      case FLOOR_BYTES_EACH: .bytes
      default: .milliseconds
      }
    let floor = Side(prepare: { entry.prepare(state) }, run: { entry.run(state) }, finish: { entry.finish(state) })
    self.init(
      id: String(cString: entry.id), name: String(cString: entry.name), unit: unit, operations: entry.operations(state),
      sides: [.floor: floor])
  }
}
