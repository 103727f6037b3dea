/// A range that bounds numbers, dates, lengths or counts, with a minimum, a maximum or both, such as `1...80`, `0...` and `...5000`.
public protocol ValidationBounds<Bound> {
  /// The type of the bounds.
  associatedtype Bound
  /// The minimum; nil if unbounded.
  @_spi(Generated) var minimum: Bound? { get }
  /// The maximum; nil if unbounded.
  @_spi(Generated) var maximum: Bound? { get }
}

extension ValidationBounds {
  /// Nil: unbounded.
  @_spi(Generated) public var minimum: Bound? { nil }
  /// Nil: unbounded.
  @_spi(Generated) public var maximum: Bound? { nil }
}

extension ClosedRange: ValidationBounds {
  /// The minimum.
  @_spi(Generated) public var minimum: Bound? { lowerBound }
  /// The maximum.
  @_spi(Generated) public var maximum: Bound? { upperBound }
}

extension PartialRangeFrom: ValidationBounds {
  /// The minimum.
  @_spi(Generated) public var minimum: Bound? { lowerBound }
}

extension PartialRangeThrough: ValidationBounds {
  /// The maximum.
  @_spi(Generated) public var maximum: Bound? { upperBound }
}
