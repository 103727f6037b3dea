// ProofCase: a fault in a work, and whether the store survives it.
import Foundation

/// A fault in a work, or some at once.
protocol ProofCase: Sendable, CustomStringConvertible {
  /// Plays it; what is wrong, nil where nothing is.
  func problem() throws -> String?
  /// How many faults it was, once it has been played.
  var faultCount: Int { get }
  /// How many works were acknowledged in it, once it has been played.
  var acknowledgedWorks: Int { get }
  /// Puts the files that show it into a folder.
  func keep(in folder: URL) throws
}

extension ProofCase {
  var faultCount: Int { 1 }
  var acknowledgedWorks: Int { 0 }
  func keep(in folder: URL) throws {}

  /// Plays it: what is wrong, and where; nil where nothing is.
  var outcome: String? {
    do { return try problem().map { "\(self): \($0)" } } catch { return "\(self): \(error)" }
  }
}
