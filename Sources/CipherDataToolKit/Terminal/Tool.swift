import ArgumentParser
import Foundation

/// The tool without its process: its version and its messages on standard error.
package enum Tool {
  /// The version that `--version` prints.
  package static let version = "0.1.0"

  /// Returns whether an error is from the argument parser: invalid arguments or a help request.
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

  /// Writes a message to standard error.
  static func note(_ text: String) { print("cipherdata: \(text)", to: STDERR_FILENO) }
}
