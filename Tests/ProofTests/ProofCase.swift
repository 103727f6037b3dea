// ProofCase: one fault in one work, and whether the store survives it.
import Foundation

/// One fault in one work.
protocol ProofCase: Sendable, CustomStringConvertible {
  /// Plays it; what is wrong, nil where nothing is.
  func problem() throws -> String?
  /// Puts the files that show it into a folder.
  func keep(in folder: URL) throws
}

extension ProofCase {
  func keep(in folder: URL) throws {}

  /// Plays it: what is wrong, and where; nil where nothing is.
  var outcome: String? {
    do { return try problem().map { "\(self): \($0)" } } catch { return "\(self): \(error)" }
  }
}
