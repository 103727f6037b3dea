// ExitStatus: the numbers that the tool ends with, those of sysexits.h where it has one.

/// What the tool tells its caller when it ends.
package enum ExitStatus: Int32, Sendable, CaseIterable {
  /// Everything was done.
  case success = 0
  /// A question was answered with no, such as whether a model is as it should be, or whether `doctor` has nothing to advise.
  case failure = 1
  /// The command line makes no sense.
  case usage = 64
  /// What was read is wrong: a line of input, a model, a value.
  case badData = 65
  /// A file that should be read is not there, or may not be read.
  case noInput = 66
  /// The machine has no working SQLCipher.
  case unavailable = 69
  /// A mistake in the tool or the library, or too little memory or too few descriptors to work with.
  case software = 70
  /// A file cannot be created: it exists, or its folder may not be written.
  case cannotCreate = 73
  /// Reading or writing failed, or the store is damaged.
  case damage = 74
  /// Somebody else holds the store; try again.
  case busy = 75
  /// The key is wrong or missing, the key file is of another time than the store, or it asks for more work than it may.
  case noKey = 77
  /// The user interrupted the work.
  case interrupted = 130

  /// What it means, in a word or two.
  var meaning: String {
    switch self {
    case .success: "done"
    case .failure: "no (a check of a model, advice of doctor)"
    case .usage: "usage"
    case .badData: "bad data"
    case .noInput: "no input"
    case .unavailable: "no working SQLCipher"
    case .software: "a mistake in the tool, or not enough memory"
    case .cannotCreate: "cannot create"
    case .damage: "input/output error or damage"
    case .busy: "busy"
    case .noKey: "wrong or missing key"
    case .interrupted: "interrupted"
    }
  }

  /// All of them, for the help.
  static var overview: String { "Exit status: " + allCases.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: ", ") + "." }
}
