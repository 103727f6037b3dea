import Foundation

/// Formatting and parsing of instants as ISO 8601 texts in UTC, such as `2024-02-29T12:30:00.5Z`, in the proleptic Gregorian calendar.
///
/// A text has as many fractional digits as necessary to restore the same number. Years beyond 9999 have a sign and at least six digits.
package enum InstantText {
  /// The number of seconds from 1970-01-01 to 2001-01-01 UTC.
  private static let referenceOffset: Int64 = 978_307_200
  /// The maximum distance in seconds from the reference date of instants that have a text.
  private static let maximumSeconds = 1e15

  /// Returns the text of an instant; `nil` if it is not a finite number, too far away, or so close to the reference date that 18 digits
  /// cannot represent it.
  ///
  /// - Parameter seconds: Seconds since 2001-01-01 UTC.
  package static func text(_ seconds: Double) -> String? {
    guard seconds.isFinite, abs(seconds) < maximumSeconds else { return nil }
    let whole = seconds.rounded(.down)
    var moment = Int64(whole) + referenceOffset
    var fraction = ""
    var digits = 0
    while true {
      // The fractional digits, rounded; a carry goes to the seconds.
      let scale = power(digits)
      var units = Int64(((seconds - whole) * Double(scale)).rounded())
      var carried = Int64(whole)
      if units == scale {
        units = 0
        carried += 1
      }
      if value(whole: carried, units: units, scale: scale) == seconds {
        moment = carried + referenceOffset
        if digits > 0 { fraction = "." + padded(units, digits) }
        break
      }
      if digits == 18 { return nil }
      digits += 1
    }
    let (days, time) = moment.quotientAndRemainder(floorDividingBy: 86_400)
    let (year, month, day) = civil(fromDays: days)
    let yearText = (0...9999).contains(year) ? padded(year, 4) : (year < 0 ? "-" : "+") + padded(abs(year), 6)
    let date = "\(yearText)-\(padded(Int64(month), 2))-\(padded(Int64(day), 2))"
    return "\(date)T\(padded(time / 3600, 2)):\(padded(time / 60 % 60, 2)):\(padded(time % 60, 2))\(fraction)Z"
  }

  /// Parses an instant, in seconds since 2001-01-01 UTC; `nil` if the text is invalid.
  ///
  /// A date alone is its start in UTC. A time requires `Z` or an offset such as `+02:00`.
  package static func seconds(_ text: String) -> Double? {
    var scanner = Scanner(bytes: Array(text.utf8))
    var sign: Int64 = 1
    var yearDigits = 4...4
    if scanner.take(0x2B) {
      yearDigits = 4...9
    } else if scanner.take(0x2D) {
      sign = -1
      yearDigits = 4...9
    }
    guard let year = scanner.number(yearDigits), scanner.take(0x2D), let month = scanner.number(2...2), (1...12).contains(month),
      scanner.take(0x2D), let day = scanner.number(2...2), day >= 1, day <= lastDay(sign * year, Int(month))
    else { return nil }
    let days = days(fromCivil: sign * year, Int(month), Int(day))
    if scanner.isAtEnd { return Double(days * 86_400 - referenceOffset) }
    guard scanner.take(0x54) || scanner.take(0x74) || scanner.take(0x20), let hour = scanner.number(2...2), hour < 24, scanner.take(0x3A),
      let minute = scanner.number(2...2), minute < 60
    else { return nil }
    var second: Int64 = 0
    var units: Int64 = 0
    var scale: Int64 = 1
    if scanner.take(0x3A) {
      guard let number = scanner.number(2...2), number <= 60 else { return nil }
      second = number
      if scanner.take(0x2E) || scanner.take(0x2C) {
        let start = scanner.index
        guard let number = scanner.number(1...18) else { return nil }
        units = number
        scale = power(scanner.index - start)
      }
    }
    guard let offset = scanner.offset(), scanner.isAtEnd else { return nil }
    return value(whole: days * 86_400 + hour * 3600 + minute * 60 + second - offset - referenceOffset, units: units, scale: scale)
  }

  /// Returns whole seconds and a fraction as one number, rounded once.
  private static func value(whole: Int64, units: Int64, scale: Int64) -> Double {
    Double(whole) + Double(units) / Double(scale)
  }

  private static func power(_ digits: Int) -> Int64 { (0..<digits).reduce(1) { result, _ in result * 10 } }

  private static func padded(_ number: Int64, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(digits - text.count, 0)) + text
  }

  // The calendar year starts in March, so that the leap day is its last; 400 years have 146,097 days.

  private static func days(fromCivil year: Int64, _ month: Int, _ day: Int) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = shifted.quotientAndRemainder(floorDividingBy: 400)
    let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(fromDays days: Int64) -> (Int64, Int, Int) {
    let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(floorDividingBy: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), Int(month), Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1))
  }

  private static func lastDay(_ year: Int64, _ month: Int) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private struct Scanner {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { index == bytes.count }

    mutating func take(_ byte: UInt8) -> Bool {
      guard index < bytes.count, bytes[index] == byte else { return false }
      index += 1
      return true
    }

    mutating func number(_ count: ClosedRange<Int>) -> Int64? {
      let start = index
      var value: Int64 = 0
      while index < bytes.count, index - start < count.upperBound, (0x30...0x39).contains(bytes[index]) {
        value = value * 10 + Int64(bytes[index] - 0x30)
        index += 1
      }
      return index - start < count.lowerBound ? nil : value
    }

    mutating func offset() -> Int64? {
      if take(0x5A) || take(0x7A) { return 0 }
      let sign: Int64
      if take(0x2B) { sign = 1 } else if take(0x2D) { sign = -1 } else { return nil }
      guard let hours = number(2...2), hours < 24 else { return nil }
      _ = take(0x3A)
      let minutes = isAtEnd ? 0 : number(2...2)
      guard let minutes, minutes < 60 else { return nil }
      return sign * (hours * 3600 + minutes * 60)
    }
  }
}

extension Int64 {
  /// Returns the quotient rounded down and a nonnegative remainder.
  fileprivate func quotientAndRemainder(floorDividingBy divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

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
