/// The required and the stretch goal of a workload.
struct Goal {
  enum Measure: String {
    /// A multiple of the limit's CPU time or heap.
    case ratio
    /// An absolute value in the workload's unit.
    case absolute
    /// A multiple of the limit's wall time.
    case wallRatio
  }

  let must: Double
  let stretch: Double
  var measure = Measure.ratio
  /// The measure of the stretch goal, if it differs.
  var stretchMeasure: Measure?

  private init(_ must: Double, _ stretch: Double, _ measure: Measure = .ratio, stretch stretchMeasure: Measure? = nil) {
    self.must = must
    self.stretch = stretch
    self.measure = measure
    self.stretchMeasure = stretchMeasure
  }

  /// The goal for a larger library, relative to the smallest one.
  static func near(_ value: Double, _ measure: Measure) -> Goal { Goal(1.3 * value, 1.15 * value, measure) }

  /// The goals by workload ID.
  static let all: [String: Goal] = [
    "W1": Goal(1.2, 0.9), "W2a": Goal(2.5, 2), "W2b": Goal(2.5, 2),
    // Two readers: more CPU time, less wall time.
    "W3": Goal(1.15, 0.7, stretch: .wallRatio),
    "W4": Goal(1.35, 1.1), "W5": Goal(1.05, 0.85), "W6": Goal(1.1, 0.9), "W7": Goal(0.45, 0.35), "W8a": Goal(1.15, 1), "W8b": Goal(1, 0.9),
    "W9a": Goal(1.7, 1.4), "W9b": Goal(1.7, 1.4), "W10a": Goal(3, 2), "W10b": Goal(3, 2), "W10c": Goal(4, 3), "W11": Goal(15, 9),
    "W12a": Goal(1.5, 1.1), "W12b": Goal(1.4, 1), "W12c": Goal(1.3, 0.9), "W12d": Goal(2.5, 2), "W12e": Goal(2, 1.5),
    "W13": Goal(1.25, 1.1), "W14a": Goal(1.5, 1.2), "W14b": Goal(1.15, 1.05), "W15": Goal(1, 0.9),
    "W16a": Goal(5, 3), "W16b": Goal(24, 12), "W16c": Goal(8, 4), "W16d": Goal(1.5, 1.1),
    "W17": Goal(240, 190, .absolute), "W18": Goal(1.6, 1.2), "W19": Goal(1.6, 1.2),
    "W20a": Goal(1.3, 1.05), "W20b": Goal(1.3, 1.05), "W20c": Goal(1.3, 1.05), "W20d": Goal(1.3, 1.05), "W20e": Goal(1.3, 1.05),
    "W20f": Goal(1.3, 1.05), "W20g": Goal(1.3, 1.05),
    "W21-W1": Goal(1.15, 1.05), "W21-W13": Goal(1.15, 1.05), "W21-W14a": Goal(1.35, 1.2), "W21-W14b": Goal(1.15, 1.05),
    "W21-W15": Goal(1.15, 1.05), "W21-W1-values": Goal(1.3, 1.15), "W21-W13-values": Goal(1.3, 1.15), "W21-W15-values": Goal(1.3, 1.15),
    "W22": Goal(600, 300, .absolute),
    "W24a": Goal(1, 0.8), "W24b": Goal(5_000, 3_000, .absolute), "W24c": Goal(1.1, 1.05), "W24d": Goal(1.3, 1.15),
    "W25a": Goal(1.3, 1.1), "W25b": Goal(0.5, 0.4),
    // W16c plus 40 ns; 10 ms; 48 bytes.
    "W26a": Goal(49, 30, .absolute), "W26b": Goal(10, 5, .absolute), "W26c": Goal(48, 40, .absolute),
    "W27a": Goal(1.3, 1), "W27b": Goal(50_000, 25_000, .absolute), "W27c": Goal(25, 12, .absolute),
    "W28a": Goal(300, 150, .absolute), "W28b": Goal(1, 0.8),
    // 2 s, 10 s, 64 MiB.
    "W31a": Goal(1.15, 1.05), "W31b": Goal(1.15, 1.05), "W32": Goal(2_000, 1_000, .absolute), "W33a": Goal(10_000, 5_000, .absolute),
    "W33b": Goal(67.1, 32, .absolute),
  ]
}
