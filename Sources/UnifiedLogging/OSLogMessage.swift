/// A message with interpolations, whose values are computed only if the message is written.
///
/// ```swift
/// logger.debug("\(path, align: .left(columns: 40), privacy: .public) \(size, format: .hex(includePrefix: true))")
/// ```
public struct OSLogMessage: ExpressibleByStringInterpolation, ExpressibleByStringLiteral {
  private let interpolation: OSLogInterpolation

  /// Creates a message from its parts.
  public init(stringInterpolation: OSLogInterpolation) { interpolation = stringInterpolation }
  /// Creates a message without values.
  public init(stringLiteral value: String) {
    var interpolation = OSLogInterpolation(literalCapacity: value.utf8.count, interpolationCount: 0)
    interpolation.appendLiteral(value)
    self.interpolation = interpolation
  }

  /// The formatted message.
  package var text: String { interpolation.parts.reduce(into: "") { $0 += $1() } }
}

/// The parts of a message.
public struct OSLogInterpolation: StringInterpolationProtocol {
  fileprivate var parts: [() -> String] = []

  /// Creates a message without parts.
  public init(literalCapacity: Int, interpolationCount: Int) { parts.reserveCapacity(2 * interpolationCount + 1) }

  /// Appends text.
  public mutating func appendLiteral(_ literal: String) { parts.append { literal } }

  private mutating func append(_ privacy: OSLogPrivacy, isNumber: Bool, _ align: OSLogStringAlignment, _ value: @escaping () -> String) {
    parts.append { align.text(privacy.text(isNumber: isNumber, value)) }
  }

  /// Appends an integer.
  ///
  /// - Parameters:
  ///   - number: The integer.
  ///   - format: Its format.
  ///   - align: Its alignment.
  ///   - privacy: Whether it is shown.
  public mutating func appendInterpolation<T: FixedWidthInteger>(
    _ number: @autoclosure @escaping () -> T, format: OSLogIntegerFormatting = .decimal, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto
  ) {
    append(privacy, isNumber: true, align) { format.text(number()) }
  }

  /// Appends a number.
  ///
  /// - Parameters:
  ///   - number: The number.
  ///   - format: Its format.
  ///   - align: Its alignment.
  ///   - privacy: Whether it is shown.
  public mutating func appendInterpolation(
    _ number: @autoclosure @escaping () -> Double, format: OSLogFloatFormatting = .fixed, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto
  ) {
    append(privacy, isNumber: true, align) { format.text(number()) }
  }

  /// Appends a number.
  ///
  /// - Parameters:
  ///   - number: The number.
  ///   - format: Its format.
  ///   - align: Its alignment.
  ///   - privacy: Whether it is shown.
  public mutating func appendInterpolation(
    _ number: @autoclosure @escaping () -> Float, format: OSLogFloatFormatting = .fixed, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto
  ) {
    append(privacy, isNumber: true, align) { format.text(Double(number())) }
  }

  /// Appends a Boolean.
  ///
  /// - Parameters:
  ///   - boolean: The Boolean.
  ///   - format: Its format.
  ///   - privacy: Whether it is shown.
  public mutating func appendInterpolation(
    _ boolean: @autoclosure @escaping () -> Bool, format: OSLogBoolFormat = .truth, privacy: OSLogPrivacy = .auto
  ) {
    append(privacy, isNumber: true, .none) {
      switch format {
      case .truth: boolean() ? "true" : "false"
      case .answer: boolean() ? "yes" : "no"
      }
    }
  }

  /// Appends a string.
  ///
  /// - Parameters:
  ///   - argumentString: The string.
  ///   - align: Its alignment.
  ///   - privacy: Whether it is shown.
  public mutating func appendInterpolation(
    _ argumentString: @autoclosure @escaping () -> String, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {
    append(privacy, isNumber: false, align, argumentString)
  }

  /// Appends the description of a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - align: The alignment of its description.
  ///   - privacy: Whether it is shown.
  @_disfavoredOverload
  public mutating func appendInterpolation<T: CustomStringConvertible>(
    _ value: @autoclosure @escaping () -> T, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {
    append(privacy, isNumber: false, align) { value().description }
  }

  /// Appends an error.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - privacy: Whether it is shown.
  public mutating func appendInterpolation(_ error: @autoclosure @escaping () -> any Error, privacy: OSLogPrivacy = .auto) {
    append(privacy, isNumber: false, .none) { "\(error())" }
  }

  /// Appends the name of a type.
  ///
  /// - Parameters:
  ///   - value: The type.
  ///   - align: The alignment of its name.
  ///   - privacy: Whether it is shown.
  public mutating func appendInterpolation(
    _ value: @autoclosure @escaping () -> any Any.Type, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {
    append(privacy, isNumber: true, align) { "\(value())" }
  }
}

/// The privacy of a value in a message.
public struct OSLogPrivacy: Sendable, Hashable {
  /// The replacement for a value that is not shown.
  public enum Mask: Sendable, Hashable {
    /// `<private>`.
    case none
    /// A hash, which is equal for equal values within a process.
    case hash
  }

  private enum Kind { case automatic, shown, hidden }
  private let kind: Kind
  private let mask: Mask
  private init(_ kind: Kind, _ mask: Mask = .none) { (self.kind, self.mask) = (kind, mask) }

  /// Numbers are shown, strings and objects are not.
  public static var auto: OSLogPrivacy { OSLogPrivacy(.automatic) }
  /// The value is shown.
  public static var `public`: OSLogPrivacy { OSLogPrivacy(.shown) }
  /// The value is not shown.
  public static var `private`: OSLogPrivacy { OSLogPrivacy(.hidden) }
  /// The value is not shown.
  public static var sensitive: OSLogPrivacy { OSLogPrivacy(.hidden) }
  /// Numbers are shown; strings and objects are masked.
  public static func auto(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(.automatic, mask) }
  /// The value is masked.
  public static func `private`(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(.hidden, mask) }
  /// The value is masked.
  public static func sensitive(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(.hidden, mask) }

  /// Returns the text of a value as it appears in the message.
  ///
  /// - Parameters:
  ///   - isNumber: Whether the value is a number, which is shown by default.
  ///   - value: The value's text, computed only if needed.
  func text(isNumber: Bool, _ value: () -> String) -> String {
    if kind == .shown || kind == .automatic && isNumber { return value() }
    guard mask == .hash else { return "<private>" }
    // The hash seed is random in each process, so that values cannot be looked up by their hashes.
    var hasher = Hasher()
    hasher.combine(value())
    return "<mask.hash: '\(String(UInt(bitPattern: hasher.finalize()), radix: 16))'>"
  }
}
