// ValidationBounds: ranges that bound values, lengths and counts.

/// What bounds numbers, dates, lengths and counts: a range with a least value, a greatest, or both, such as `1...80`, `0...` and `...5000`.
public protocol ValidationBounds<Bound> {
  /// What is bounded.
  associatedtype Bound
  /// The least value; nil for any.
  var _minimum: Bound? { get }
  /// The greatest value; nil for any.
  var _maximum: Bound? { get }
}

extension ClosedRange: ValidationBounds {
  /// The least value.
  public var _minimum: Bound? { lowerBound }
  /// The greatest value.
  public var _maximum: Bound? { upperBound }
}

extension PartialRangeFrom: ValidationBounds {
  /// The least value.
  public var _minimum: Bound? { lowerBound }
  /// Nil: any.
  public var _maximum: Bound? { nil }
}

extension PartialRangeThrough: ValidationBounds {
  /// Nil: any.
  public var _minimum: Bound? { nil }
  /// The greatest value.
  public var _maximum: Bound? { upperBound }
}
