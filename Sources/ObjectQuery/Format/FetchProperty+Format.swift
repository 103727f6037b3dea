// FetchProperty+Format: properties of dictionary results out of a text.

extension FetchProperty {
  /// Parses a list such as `count(name) AS n, sum(installedSize), section`.
  ///
  /// An expression without `AS` has its own text as name, a key path is its own name. `#name` and quotes may give names that are no words.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: What placeholders stand for, in order.
  /// - Throws: ``PredicateFormatError`` with the place and what was expected.
  public static func list(
    format: String, _ arguments: (any FetchConstantConvertible)?...
  ) throws(PredicateFormatError) -> [FetchProperty] {
    var parser = try PredicateParser(format, arguments.map { $0?._fetchConstant ?? .null })
    return try parser.parseProperties()
  }
}
