import Foundation

/// Formatting of numbers with units.
package enum InfoText {
  /// Returns a number of bytes with a unit.
  package static func bytes(_ count: Int) -> String {
    guard count >= 10_000 else { return "\(count) bytes" }
    let units = ["kB", "MB", "GB", "TB"]
    var value = Double(count) / 1000
    var unit = 0
    while value >= 999.95, unit < units.count - 1 {
      value /= 1000
      unit += 1
    }
    return String(format: "%.1f", value) + " " + units[unit]
  }
}
