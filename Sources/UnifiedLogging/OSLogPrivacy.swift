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
