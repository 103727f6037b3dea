// FetchPredicate+Values: a predicate asked about a text, a number or another value itself, and lists of such filtered.

extension FetchPredicate {
  /// Whether a value meets the predicate, which calls it `SELF`: `try FetchPredicate(format: "SELF BEGINSWITH[c] 'a'").evaluate(with: "Ada")`.
  ///
  /// Rules are those for attributes of the value's type. An array or a set is a collection: `ANY SELF > 3`, `SELF.@count == 2`.
  ///
  /// - Throws: ``FetchPredicateError`` where the value cannot be compared so, or a key is asked of it.
  public func evaluate<Value: FetchConstantConvertible>(with value: Value) throws -> Bool {
    try PredicateDepth.check(self)
    return try DictionaryEvaluator(try DictionaryValue(value, at: "SELF")).evaluate(self)
  }
}

extension Sequence where Element: FetchConstantConvertible {
  /// The elements that meet a predicate, which calls each `SELF`, in their order.
  ///
  /// - Throws: ``FetchPredicateError`` where an element cannot be compared so.
  public func filtered(using predicate: FetchPredicate) throws -> [Element] { try filter { try predicate.evaluate(with: $0) } }
}

extension Sequence where Element == [String: Any] {
  /// The dictionaries that meet a predicate, in their order.
  ///
  /// - Throws: What the evaluation of the predicate throws.
  public func filtered(using predicate: FetchPredicate) throws -> [Element] { try filter { try predicate.evaluate(with: $0) } }
}
