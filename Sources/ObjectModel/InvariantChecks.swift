// Consistency checks of internal data structures, for builds with CIPHERDATA_CHECKS (see Package.swift).

#if CIPHERDATA_CHECKS
  package import Synchronization

  /// Stops the process if an invariant is violated.
  ///
  /// - Parameters:
  ///   - holds: The invariant.
  ///   - what: A description of the violation.
  package func checkInvariant(_ holds: Bool, _ what: @autoclosure () -> String) {
    // Compiled into test builds only.
    precondition(holds, what())
  }

  /// Schedules checks that scan a whole table, so that the amortized cost of a change is independent of the size of the table.
  package struct CheckThrottle: Sendable {
    /// Whether checks are disabled, for tests that count the library's own operations.
    package static let arePaused = Atomic(false)

    private var changesLeft = 0

    package init() {}

    /// Records a change. Returns whether a check is due, which is the case after as many changes as the table had entries at the previous
    /// check.
    package mutating func isDue(_ entryCount: Int) -> Bool {
      changesLeft -= 1
      guard changesLeft <= 0, !Self.arePaused.load(ordering: .relaxed) else { return false }
      changesLeft = entryCount
      return true
    }
  }
#endif
