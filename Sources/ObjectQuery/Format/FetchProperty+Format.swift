// FetchProperty+Format: properties of dictionary results out of a text.

extension FetchProperty {
  /// Parses a list such as `count(name) AS n, sum(installedSize), section`.
  ///
  /// An expression without `AS` has its own text as its name, and a key path is its own name. Names that are no words are written as
  /// `#name` or in quotes.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: What placeholders stand for, in order.
  /// - Throws: ``PredicateFormatError`` with the place and what was expected.
  public static func list(
    format: String, _ arguments: (any FetchConstantConvertible)?...
  ) throws(PredicateFormatError) -> [FetchProperty] {
    let parser = try PredicateParser(format, arguments.map { $0?._fetchConstant ?? .null })
    return try parser.onAmpleStack { (parser) throws(PredicateFormatError) in try parser.parseProperties() }
  }
}
