// OSLogPrivacy: which values of a message are shown.

/// Whether a value of a message is shown.
public struct OSLogPrivacy: Sendable, Hashable {
  /// What stands in the place of a value that is not shown.
  public enum Mask: Sendable, Hashable {
    /// `<private>`.
    case none
    /// A hash, by which equal values of one process are recognized.
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
  /// Numbers are shown, and strings and objects have a mask.
  public static func auto(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(.automatic, mask) }
  /// The value has a mask.
  public static func `private`(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(.hidden, mask) }
  /// The value has a mask.
  public static func sensitive(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(.hidden, mask) }

  /// Returns what the message has of a value.
  ///
  /// - Parameters:
  ///   - isNumber: Whether the value is a number, which is shown unless its privacy says otherwise.
  ///   - value: The value's text, which is not computed unless it is used.
  func text(isNumber: Bool, _ value: () -> String) -> String {
    if kind == .shown || kind == .automatic && isNumber { return value() }
    guard mask == .hash else { return "<private>" }
    // The seed of hashes is random in each process, so that values cannot be looked up by their hashes.
    var hasher = Hasher()
    hasher.combine(value())
    return "<mask.hash: '\(String(UInt(bitPattern: hasher.finalize()), radix: 16))'>"
  }
}
