extension FetchField where Value.OperandKind == FetchKind.Text {
  /// Returns a condition that the text equals another under options.
  public func equals<Other: FetchOperand>(
    _ other: Other, _ options: ComparisonOptions
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.equal, other, options) }

  /// Returns a condition that the text begins with another.
  public func hasPrefix<Other: FetchOperand>(
    _ prefix: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.beginsWith, prefix, options) }

  /// Returns a condition that the text ends with another.
  public func hasSuffix<Other: FetchOperand>(
    _ suffix: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.endsWith, suffix, options) }

  /// Returns a condition that the text contains another.
  public func contains<Other: FetchOperand>(
    _ part: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.contains, part, options) }

  /// Returns a condition that the whole text matches a pattern: `*` matches any text, `?` a single Unicode scalar, and a backslash escapes
  /// the next character.
  public func like<Other: FetchOperand>(
    _ pattern: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.like, pattern, options) }

  /// Returns a condition that the whole text matches a regular expression. Do not use expressions from untrusted sources: matching them can
  /// take very long.
  public func matches<Other: FetchOperand>(
    _ pattern: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.matches, pattern, options) }

  /// Returns a condition that the text matches a query from user input (``TextQuery/init(typed:)``): `$0.summary.search("text adv*")`.
  public func search(_ query: String) -> FetchPredicate { search(TextQuery(typed: query)) }

  /// Returns a condition that the text matches a query.
  public func search(_ query: TextQuery) -> FetchPredicate { FetchPredicate(fetchExpression, .search, .constant(query.fetchConstant)) }

  /// Returns the relevance of the text to a query, to sort by: `$0.summary.relevance(to: "text adv*").descending`.
  public func relevance(to query: TextQuery) -> FetchField<Double, Double> {
    FetchField<Double, Double>(.function("relevance", [fetchExpression, .constant(query.fetchConstant)]))
  }

  /// Returns the relevance of the text to a query from user input, to sort by.
  public func relevance(to query: String) -> FetchField<Double, Double> { relevance(to: TextQuery(typed: query)) }

  /// Returns the text in lower case.
  public func lowercased() -> FetchField { FetchField(.function("lowercase:", [fetchExpression])) }

  /// Returns the text in upper case.
  public func uppercased() -> FetchField { FetchField(.function("uppercase:", [fetchExpression])) }

  /// The number of Unicode scalars in the text.
  public var count: FetchField<Int, Int?> { FetchField<Int, Int?>(.function("length:", [fetchExpression])) }

  /// A condition that the text is empty and not missing.
  public var isEmpty: FetchPredicate { FetchPredicate(fetchExpression, .equal, .constant(.string(""))) }
}
