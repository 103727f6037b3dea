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

/// What the design asks of our side first.
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

/// The column "first" of the design's table.
private let firstTargets: [String: Target] = [
  "W1": .ratio(1.5), "W2": .ratio(4), "W3": .ratio(1.3), "W4": .ratio(1.5), "W5": .ratio(1.1), "W6": .ratio(1.3), "W7": .ratio(1.2),
  "W8a": .ratio(2), "W8b": .ratio(1.1), "W9": .ratio(2), "W10": .ratio(2), "W11": .absolute(40), "W12": .ratio(2), "W13": .ratio(1.5),
  "W14a": .ratio(2.5), "W14b": .ratio(2.5), "W15": .ratio(1.6), "W16a": .absolute(5), "W16b": .absolute(150), "W16c": .absolute(40),
  "W17": .absolute(320), "W18": .ratio(3),
]
