// ExitStatus: the numbers that the tool ends with, those of sysexits.h where it has one.

/// What the tool tells its caller when it ends.
package enum ExitStatus: Int32, Sendable, CaseIterable {
  /// Everything was done.
  case success = 0
  /// `verify` found something, or a question was answered with no.
  case failure = 1
  /// The command line makes no sense.
  case usage = 64
  /// What was read is wrong: a line of input, a model, a value.
  case badData = 65
  /// A file that should be read is not there, or may not be read.
  case noInput = 66
  /// The machine has no working SQLCipher.
  case unavailable = 69
  /// A mistake in the tool or the library.
  case software = 70
  /// A file cannot be created: it exists, or its folder may not be written.
  case cannotCreate = 73
  /// Reading or writing failed, or the store is damaged.
  case damage = 74
  /// Somebody else holds the store; try again.
  case busy = 75
  /// The key is wrong or missing.
  case noKey = 77
  /// The user interrupted the work.
  case interrupted = 130
}
