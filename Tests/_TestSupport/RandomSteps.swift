// RandomSteps: how far random tests go: in the suite as far as time allows, and on demand many times as far.
import Foundation

/// How many steps random tests make.
public enum RandomSteps {
  /// The number of steps in the suite, or as many times more as `CIPHERDATA_RANDOM_FACTOR` in the environment says.
  public static func count(_ usual: Int) -> Int {
    usual * (ProcessInfo.processInfo.environment["CIPHERDATA_RANDOM_FACTOR"].flatMap(Int.init) ?? 1)
  }
}
