/// The exit status of the tool: the codes of `sysexits.h` where one applies.
package enum ExitStatus: Int32, Sendable, CaseIterable {
  /// The command succeeded.
  case success = 0
  /// The result of a check is negative; for example, a model is not formatted or `doctor` has advice.
  case failure = 1
  /// The command line is invalid.
  case usage = 64
  /// Input is invalid: a line, a model, or a value.
  case badData = 65
  /// An input file does not exist or is not readable.
  case noInput = 66
  /// SQLCipher is missing or does not work.
  case unavailable = 69
  /// A bug in the tool or the library, or insufficient memory or file descriptors.
  case software = 70
  /// A file cannot be created: it exists, or its folder is not writable.
  case cannotCreate = 73
  /// Reading or writing failed, or the store is damaged.
  case damage = 74
  /// Another process has locked the store; try again.
  case busy = 75
  /// The key is wrong or missing, the key file does not belong to the store's current state, or the key derivation exceeds the limit.
  case noKey = 77
  /// The user interrupted the command.
  case interrupted = 130

  /// A short description.
  var meaning: String {
    switch self {
    case .success: "done"
    case .failure: "no (a check of a model, advice of doctor)"
    case .usage: "usage"
    case .badData: "bad data"
    case .noInput: "no input"
    case .unavailable: "no working SQLCipher"
    case .software: "a bug in the tool, or out of memory"
    case .cannotCreate: "cannot create"
    case .damage: "input/output error or damage"
    case .busy: "busy"
    case .noKey: "wrong or missing key"
    case .interrupted: "interrupted"
    }
  }

  /// All exit statuses for the help text.
  static var overview: String { "Exit status: " + allCases.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: ", ") + "." }
}
