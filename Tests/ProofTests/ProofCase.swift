import Foundation

/// One or more faults during an operation, and a check that the store survives.
protocol ProofCase: Sendable, CustomStringConvertible {
  /// Runs the case. Returns a description of the problem, or nil.
  func problem() throws -> String?
  /// The number of faults, after the case has run.
  var faultCount: Int { get }
  /// The number of acknowledged operations, after the case has run.
  var acknowledgedWorks: Int { get }
  /// Copies the files that reproduce the problem to a folder.
  func keep(in folder: URL) throws
}

extension ProofCase {
  var faultCount: Int { 1 }
  var acknowledgedWorks: Int { 0 }
  func keep(in folder: URL) throws {}

  /// Runs the case. Returns a description of the case and its problem, or nil.
  var outcome: String? {
    do { return try problem().map { "\(self): \($0)" } } catch { return "\(self): \(error)" }
  }
}
