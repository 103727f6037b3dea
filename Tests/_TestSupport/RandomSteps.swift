import Foundation

/// The number of steps of random tests: limited in the suite, and many times as many on request.
public enum RandomSteps {
  /// Returns the number of steps in the suite, multiplied by the environment variable `CIPHERDATA_RANDOM_FACTOR`.
  public static func count(_ usual: Int) -> Int {
    usual * (ProcessInfo.processInfo.environment["CIPHERDATA_RANDOM_FACTOR"].flatMap(Int.init) ?? 1)
  }
}
