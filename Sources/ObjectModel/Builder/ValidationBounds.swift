/// A range that bounds numbers, dates, lengths or counts, with a minimum, a maximum or both, such as `1...80`, `0...` and `...5000`.
public protocol ValidationBounds<Bound> {
  /// The type of the bounds.
  associatedtype Bound
  /// The minimum; nil if unbounded.
  var _minimum: Bound? { get }
  /// The maximum; nil if unbounded.
  var _maximum: Bound? { get }
}

extension ClosedRange: ValidationBounds {
  /// The minimum.
  public var _minimum: Bound? { lowerBound }
  /// The maximum.
  public var _maximum: Bound? { upperBound }
}

extension PartialRangeFrom: ValidationBounds {
  /// The minimum.
  public var _minimum: Bound? { lowerBound }
  /// Nil: unbounded.
  public var _maximum: Bound? { nil }
}

extension PartialRangeThrough: ValidationBounds {
  /// Nil: unbounded.
  public var _minimum: Bound? { nil }
  /// The maximum.
  public var _maximum: Bound? { upperBound }
}
