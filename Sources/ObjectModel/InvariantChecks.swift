// InvariantChecks: what the library's inner tables check of themselves where it is built for its own tests, with CIPHERDATA_CHECKS (see Package.swift).

#if CIPHERDATA_CHECKS
  package import Synchronization

  /// Stops the process where a table is not what its code takes for granted.
  ///
  /// - Parameters:
  ///   - holds: What must hold.
  ///   - what: What is wrong otherwise.
  package func checkInvariant(_ holds: Bool, _ what: @autoclosure () -> String) {
    // Only tests are built with it.
    precondition(holds, what())
  }

  /// Spreads checks that walk through a whole table, so that a change costs the same however large the table is.
  package struct CheckPacer: Sendable {
    /// Whether none is due: only while a test counts what the library itself does.
    package static let arePaused = Atomic(false)

    private var changesLeft = 0

    package init() {}

    /// Notes a change; true where a check is due: after as many changes as the table had entries at the last one.
    package mutating func isDue(_ entryCount: Int) -> Bool {
      changesLeft -= 1
      guard changesLeft <= 0, !Self.arePaused.load(ordering: .relaxed) else { return false }
      changesLeft = entryCount
      return true
    }
  }
#endif
