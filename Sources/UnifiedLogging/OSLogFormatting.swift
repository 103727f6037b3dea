// OSLogFormatting: how values of a message are written.
import Foundation

/// How an integer is written.
public struct OSLogIntegerFormatting: Sendable {
  enum Base: Int { case octal = 8, decimal = 10, hexadecimal = 16 }
  var base = Base.decimal
  var explicitPositiveSign = false
  var includePrefix = false
  var uppercase = false
  var minDigits = 0

  /// Decimal digits.
  public static var decimal: OSLogIntegerFormatting { OSLogIntegerFormatting() }
  /// Hexadecimal digits.
  public static var hex: OSLogIntegerFormatting { OSLogIntegerFormatting(base: .hexadecimal) }
  /// Octal digits.
  public static var octal: OSLogIntegerFormatting { OSLogIntegerFormatting(base: .octal) }
  /// Decimal digits.
  public static func decimal(explicitPositiveSign: Bool = false) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(explicitPositiveSign: explicitPositiveSign)
  }
  /// Decimal digits.
  public static func decimal(explicitPositiveSign: Bool = false, minDigits: Int) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(explicitPositiveSign: explicitPositiveSign, minDigits: minDigits)
  }
  /// Hexadecimal digits.
  ///
  /// - Parameters:
  ///   - explicitPositiveSign: Whether positive numbers have a sign.
  ///   - includePrefix: Whether numbers begin with `0x`.
  ///   - uppercase: Whether letters are capitals.
  ///   - minDigits: The smallest number of digits.
  public static func hex(
    explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false, minDigits: Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(
      base: .hexadecimal, explicitPositiveSign: explicitPositiveSign, includePrefix: includePrefix, uppercase: uppercase,
      minDigits: minDigits)
  }
  /// Octal digits.
  ///
  /// - Parameters:
  ///   - explicitPositiveSign: Whether positive numbers have a sign.
  ///   - includePrefix: Whether numbers begin with `0o`.
  ///   - uppercase: Ignored.
  ///   - minDigits: The smallest number of digits.
  public static func octal(
    explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false, minDigits: Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(
      base: .octal, explicitPositiveSign: explicitPositiveSign, includePrefix: includePrefix, uppercase: uppercase, minDigits: minDigits)
  }

  func text(_ number: some FixedWidthInteger) -> String {
    let digits = String(number.magnitude, radix: base.rawValue, uppercase: uppercase)
    let sign = number < 0 ? "-" : explicitPositiveSign ? "+" : ""
    let prefix = includePrefix ? base == .hexadecimal ? "0x" : base == .octal ? "0o" : "" : ""
    return sign + prefix + String(repeating: "0", count: max(0, minDigits - digits.count)) + digits
  }
}

/// How a floating-point number is written.
public struct OSLogFloatFormatting: Sendable {
  private enum Notation: String { case fixed = "f", exponential = "e", hybrid = "g", hex = "a" }
  private var notation = Notation.fixed
  private var precision: Int?
  private var explicitPositiveSign = false
  private var uppercase = false

  /// Six digits behind the point.
  public static var fixed: OSLogFloatFormatting { OSLogFloatFormatting() }
  /// With an exponent.
  public static var exponential: OSLogFloatFormatting { OSLogFloatFormatting(notation: .exponential) }
  /// The shorter of the two.
  public static var hybrid: OSLogFloatFormatting { OSLogFloatFormatting(notation: .hybrid) }
  /// Hexadecimal digits.
  public static var hex: OSLogFloatFormatting { OSLogFloatFormatting(notation: .hex) }
  /// Digits behind the point.
  ///
  /// - Parameters:
  ///   - precision: How many digits.
  ///   - explicitPositiveSign: Whether positive numbers have a sign.
  ///   - uppercase: Whether letters are capitals.
  public static func fixed(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(precision: precision, explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }
  /// With an exponent.
  ///
  /// - Parameters:
  ///   - precision: How many digits behind the point.
  ///   - explicitPositiveSign: Whether positive numbers have a sign.
  ///   - uppercase: Whether letters are capitals.
  public static func exponential(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(notation: .exponential, precision: precision, explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }
  /// The shorter of the two.
  ///
  /// - Parameters:
  ///   - precision: How many digits.
  ///   - explicitPositiveSign: Whether positive numbers have a sign.
  ///   - uppercase: Whether letters are capitals.
  public static func hybrid(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(notation: .hybrid, precision: precision, explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }

  func text(_ number: Double) -> String {
    let letter = uppercase ? notation.rawValue.uppercased() : notation.rawValue
    // A precision without bounds would fill the memory.
    let digits = precision.map { ".\(min(max(0, $0), 100))" } ?? ""
    return String(format: "%\(explicitPositiveSign ? "+" : "")\(digits)\(letter)", number)
  }
}

/// The words for a Boolean.
public enum OSLogBoolFormat: Sendable {
  /// `true` and `false`.
  case truth
  /// `yes` and `no`.
  case answer
}

/// The columns that a value fills.
public struct OSLogStringAlignment: Sendable {
  private var columns = 0
  private var isLeft = false

  /// As many as the value has.
  public static var none: OSLogStringAlignment { OSLogStringAlignment() }
  /// The value is followed by blanks.
  public static func left(columns: @autoclosure @escaping () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns(), isLeft: true)
  }
  /// The value follows blanks.
  public static func right(columns: @autoclosure @escaping () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns())
  }

  func text(_ value: String) -> String {
    let blanks = String(repeating: " ", count: min(max(0, columns - value.count), 1000))
    return isLeft ? value + blanks : blanks + value
  }
}
