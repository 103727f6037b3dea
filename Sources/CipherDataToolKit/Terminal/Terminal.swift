// Properties of a terminal.
import Foundation

/// Returns whether a descriptor is a terminal.
package enum Terminal {
  /// Returns the number of columns of a terminal; 80 if unknown.
  package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// The number of columns of a terminal; 80 where it does not say.
  package static func width(_ descriptor: Int32) -> Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}
