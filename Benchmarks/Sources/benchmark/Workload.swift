// What a workload is: the C side and ours, with preparation and checking kept apart from the measured part.
import BenchmarkData
import RawFloor

/// One side of a workload. The runner is on the main actor, as an application with a view context is.
struct Side {
  /// What comes before and is not measured.
  var prepare: @MainActor () async throws -> Void
  /// The measured part.
  var run: @MainActor () async throws -> Void
  /// What comes after and is not measured; gives the checksum, which must be the other side's.
  var finish: @MainActor () async throws -> UInt64
}

/// What a workload's figure is.
enum Unit {
  case milliseconds, nanoseconds, bytes

  var symbol: String {
    switch self {
    case .milliseconds: "ms"
    case .nanoseconds: "ns"
    case .bytes: "B"
    }
  }
}

/// What is asked of our side.
enum Target {
  /// At most so many times the C side.
  case ratio(Double)
  /// At most so much, in the workload's unit.
  case absolute(Double)
  /// Measured, no target yet.
  case none
}

/// A workload of the design.
struct Workload {
  let id: String
  let name: String
  let unit: Unit
  /// How many operations a run makes; 1 where the figure is the whole run's.
  let operations: Double
  let target: Target
  let floor: Side
  /// Our side, where the object API has it.
  var ours: Side?

  /// Whether it works on the archive's package index.
  var needsArchive: Bool { id.hasPrefix("W19") || id.hasPrefix("W20") }

  /// The C side's workload at an index of the floor's list.
  @MainActor
  init(floorIndex: Int32, state: OpaquePointer) {
    let entry = floor_workload_at(floorIndex).pointee
    id = String(cString: entry.id)
    name = String(cString: entry.name)
    operations = entry.operations(state)
    switch entry.unit {
    case FLOOR_NANOSECONDS_EACH: unit = .nanoseconds
    case FLOOR_BYTES_EACH: unit = .bytes
    default: unit = .milliseconds
    }
    target = firstTargets[id] ?? .none
    floor = Side(prepare: { entry.prepare(state) }, run: { entry.run(state) }, finish: { entry.finish(state) })
  }
}

/// What our side must reach.
private let firstTargets: [String: Target] = [
  "W1": .ratio(1.2), "W2b": .ratio(2.5), "W3": .ratio(1.15), "W4": .ratio(1.35), "W5": .ratio(1.05), "W6": .ratio(1.1), "W7": .ratio(0.45),
  "W8a": .ratio(1.15), "W8b": .ratio(1), "W9a": .ratio(1.7), "W9b": .ratio(1.7), "W10a": .ratio(3), "W10b": .ratio(3), "W10c": .ratio(4),
  "W11": .ratio(15), "W12a": .ratio(1.5), "W12b": .ratio(1.4), "W12c": .ratio(1.3), "W12d": .ratio(2.5), "W12e": .ratio(2),
  "W13": .ratio(1.25), "W14a": .ratio(1.5), "W14b": .ratio(1.15), "W15": .ratio(1), "W16a": .ratio(5), "W16b": .ratio(24),
  "W16c": .ratio(8), "W17": .absolute(240), "W18": .ratio(1.6), "W19": .ratio(1.6), "W20a": .ratio(1.3), "W20b": .ratio(1.3),
  "W20c": .ratio(1.3), "W20d": .ratio(1.3), "W20e": .ratio(1.3), "W20f": .ratio(1.3), "W20g": .ratio(1.3),
]
