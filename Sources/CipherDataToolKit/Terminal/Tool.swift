// Tool: the tool's name and version, and what it says on standard error.
import ArgumentParser
import Foundation

/// The tool, without the process around it.
package enum Tool {
  /// The version that `--version` prints.
  package static let version = "0.1.0"

  /// Whether an error comes from the argument parser: a mistake in the arguments, or a request for help.
  static func isOfParser(_ error: any Error) -> Bool {
    if error is ArgumentParser.ValidationError || error is CleanExit { return true }
    // The parser's own error type is not public.
    return String(reflecting: type(of: error)).hasPrefix("ArgumentParser.")
  }

  /// Writes a line to a descriptor.
  static func print(_ text: String, to descriptor: Int32) {
    let bytes = Array((text + "\n").utf8)
    bytes.withUnsafeBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
  }

  /// Writes a note to standard error.
  static func note(_ text: String) { print("cipherdata: \(text)", to: STDERR_FILENO) }
}
