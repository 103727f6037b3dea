// FetchField+Text: what typed queries ask of text.

extension FetchField where Value._Kind == FetchKind.Text {
  /// Whether the text is equal to another under options.
  public func equals<Other: FetchOperand>(
    _ other: Other, _ options: ComparisonOptions
  ) -> FetchPredicate where Other._Kind == FetchKind.Text { compare(.equal, other, options) }

  /// Whether the text begins with another.
  public func hasPrefix<Other: FetchOperand>(
    _ prefix: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other._Kind == FetchKind.Text { compare(.beginsWith, prefix, options) }

  /// Whether the text ends with another.
  public func hasSuffix<Other: FetchOperand>(
    _ suffix: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other._Kind == FetchKind.Text { compare(.endsWith, suffix, options) }

  /// Whether the text contains another.
  public func contains<Other: FetchOperand>(
    _ part: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other._Kind == FetchKind.Text { compare(.contains, part, options) }

  /// Whether the whole text is like a pattern: `*` is any text, `?` any scalar, a backslash takes the next character as it is.
  public func like<Other: FetchOperand>(
    _ pattern: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other._Kind == FetchKind.Text { compare(.like, pattern, options) }

  /// Whether the whole text matches a regular expression. Take no expression from strangers: matching it can take very long.
  public func matches<Other: FetchOperand>(
    _ pattern: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other._Kind == FetchKind.Text { compare(.matches, pattern, options) }

  /// Whether the text has the words of a query, as somebody typed it (``TextQuery/init(typed:)``): `$0.summary.search("text adv*")`.
  public func search(_ query: String) -> FetchPredicate { search(TextQuery(typed: query)) }

  /// Whether the text has the words that a query looks for.
  public func search(_ query: TextQuery) -> FetchPredicate { FetchPredicate(fetchExpression, .search, .constant(query._fetchConstant)) }

  /// How much of a query is in the text, to order by: `$0.summary.relevance(to: "text adv*").descending`.
  public func relevance(to query: TextQuery) -> FetchField<Double, Double> {
    FetchField<Double, Double>(.function("relevance", [fetchExpression, .constant(query._fetchConstant)]))
  }

  /// How much of a query, as somebody typed it, is in the text or texts, to order by.
  public func relevance(to query: String) -> FetchField<Double, Double> { relevance(to: TextQuery(typed: query)) }

  /// The text in lower case.
  public func lowercased() -> FetchField { FetchField(.function("lowercase:", [fetchExpression])) }

  /// The text in upper case.
  public func uppercased() -> FetchField { FetchField(.function("uppercase:", [fetchExpression])) }

  /// The number of the text's Unicode scalars.
  public var count: FetchField<Int, Int?> { FetchField<Int, Int?>(.function("length:", [fetchExpression])) }

  /// Whether the text is there and empty.
  public var isEmpty: FetchPredicate { FetchPredicate(fetchExpression, .equal, .constant(.string(""))) }
}
