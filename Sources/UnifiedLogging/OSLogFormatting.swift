import Foundation

/// The format of an integer.
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
  ///   - uppercase: Whether letters are uppercase.
  ///   - minDigits: The minimum number of digits.
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
  ///   - minDigits: The minimum number of digits.
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

/// The format of a floating-point number.
public struct OSLogFloatFormatting: Sendable {
  private enum Notation: String { case fixed = "f", exponential = "e", hybrid = "g", hex = "a" }
  private var notation = Notation.fixed
  private var precision: Int?
  private var explicitPositiveSign = false
  private var uppercase = false

  /// Fixed notation with six digits after the decimal point.
  public static var fixed: OSLogFloatFormatting { OSLogFloatFormatting() }
  /// Exponential notation.
  public static var exponential: OSLogFloatFormatting { OSLogFloatFormatting(notation: .exponential) }
  /// The shorter one of fixed and exponential notation.
  public static var hybrid: OSLogFloatFormatting { OSLogFloatFormatting(notation: .hybrid) }
  /// Hexadecimal digits.
  public static var hex: OSLogFloatFormatting { OSLogFloatFormatting(notation: .hex) }
  /// Fixed notation.
  ///
  /// - Parameters:
  ///   - precision: The number of digits after the decimal point.
  ///   - explicitPositiveSign: Whether positive numbers have a sign.
  ///   - uppercase: Whether letters are uppercase.
  public static func fixed(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(precision: precision, explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }
  /// Exponential notation.
  ///
  /// - Parameters:
  ///   - precision: The number of digits after the decimal point.
  ///   - explicitPositiveSign: Whether positive numbers have a sign.
  ///   - uppercase: Whether letters are uppercase.
  public static func exponential(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(notation: .exponential, precision: precision, explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }
  /// The shorter one of fixed and exponential notation.
  ///
  /// - Parameters:
  ///   - precision: The number of significant digits.
  ///   - explicitPositiveSign: Whether positive numbers have a sign.
  ///   - uppercase: Whether letters are uppercase.
  public static func hybrid(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(notation: .hybrid, precision: precision, explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }

  func text(_ number: Double) -> String {
    let letter = uppercase ? notation.rawValue.uppercased() : notation.rawValue
    // An unlimited precision could exhaust memory.
    let digits = precision.map { ".\(min(max(0, $0), 100))" } ?? ""
    return String(format: "%\(explicitPositiveSign ? "+" : "")\(digits)\(letter)", number)
  }
}

/// The text of a Boolean.
public enum OSLogBoolFormat: Sendable {
  /// `true` and `false`.
  case truth
  /// `yes` and `no`.
  case answer
}

/// The alignment and minimum width of a value.
public struct OSLogStringAlignment: Sendable {
  private var columns = 0
  private var isLeft = false

  /// No minimum width.
  public static var none: OSLogStringAlignment { OSLogStringAlignment() }
  /// Left-aligned, padded with trailing spaces.
  public static func left(columns: @autoclosure @escaping () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns(), isLeft: true)
  }
  /// Right-aligned, padded with leading spaces.
  public static func right(columns: @autoclosure @escaping () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns())
  }

  func text(_ value: String) -> String {
    let blanks = String(repeating: " ", count: min(max(0, columns - value.count), 1000))
    return isLeft ? value + blanks : blanks + value
  }
}
