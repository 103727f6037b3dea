import Foundation

/// Parses ISO 8601 dates, identically on all platforms.
enum ISO8601Text {
  /// Parses a date: a day (at midnight UTC), or a day and a time with its UTC offset (`Z`, `+02:00`, `+0200`). Seconds and their fraction
  /// are optional.
  static func date(_ text: String) -> Date? {
    var reader = Reader(digits: Array(text.utf8)[...])
    guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"), let day = reader.number(2),
      let days = days(year, month, day)
    else { return nil }
    var seconds = Double(days) * 86_400
    if !reader.isAtEnd {
      guard reader.skip("T") || reader.skip("t") || reader.skip(" "), let hour = reader.number(2), hour < 24, reader.skip(":"),
        let minute = reader.number(2), minute < 60
      else { return nil }
      seconds += Double(hour * 3_600 + minute * 60)
      if reader.skip(":") {
        guard let second = reader.number(2), second <= 60 else { return nil }
        seconds += Double(second)
        if reader.skip(".") || reader.skip(",") {
          guard let fraction = reader.fraction() else { return nil }
          seconds += fraction
        }
      }
      guard let offset = reader.offset() else { return nil }
      seconds -= Double(offset)
    }
    return reader.isAtEnd ? Date(timeIntervalSinceReferenceDate: seconds) : nil
  }

  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...12).contains(month), day >= 1, day <= lengths[month - 1] else { return nil }
    // Years start in March, so that the leap day is the last day.
    let shifted = month <= 2 ? year - 1 : year
    let (era, monthIndex) = (Int((Double(shifted) / 400).rounded(.down)), (month + 9) % 12)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * monthIndex + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 730_791
  }

  private struct Reader {
    var digits: ArraySlice<UInt8>
    var isAtEnd: Bool { digits.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard let first = digits.first, UInt32(first) == character.value else { return false }
      digits.removeFirst()
      return true
    }

    mutating func number(_ count: Int) -> Int? {
      guard digits.count >= count else { return nil }
      var value = 0
      for digit in digits.prefix(count) {
        guard (0x30...0x39).contains(digit) else { return nil }
        value = value * 10 + Int(digit - 0x30)
      }
      digits.removeFirst(count)
      return value
    }

    mutating func fraction() -> Double? {
      let run = digits.prefix { (0x30...0x39).contains($0) }
      digits.removeFirst(run.count)
      return run.isEmpty ? nil : Double("0." + String(decoding: run, as: UTF8.self))
    }

    /// Reads the offset of a time zone from UTC, in seconds.
    mutating func offset() -> Int? {
      if skip("Z") || skip("z") { return 0 }
      let sign: Int
      if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
      guard let hours = number(2), hours < 24 else { return nil }
      _ = skip(":")
      guard isAtEnd || digits.count == 2 else { return nil }
      let minutes = isAtEnd ? 0 : number(2)
      return minutes.flatMap { $0 < 60 ? sign * (hours * 3_600 + $0 * 60) : nil }
    }
  }
}
