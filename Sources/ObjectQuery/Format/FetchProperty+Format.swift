extension FetchProperty {
  /// Parses a list of properties such as `count(name) AS n, sum(installedSize), section`.
  ///
  /// Without `AS`, the name of an expression is its text, and the name of a key path is the path. Names that are not words are written as
  /// `#name` or in quotes.
  ///
  /// - Parameters:
  ///   - format: The format string.
  ///   - arguments: The values of the placeholders, in order.
  /// - Throws: ``PredicateFormatError`` with the position and the expected input.
  public static func list(
    format: String, _ arguments: (any FetchConstantConvertible)?...
  ) throws(PredicateFormatError) -> [FetchProperty] {
    let parser = try PredicateParser(format, arguments.map { $0?.fetchConstant ?? .null })
    return try parser.onAmpleStack { (parser) throws(PredicateFormatError) in try parser.parseProperties() }
  }
}
