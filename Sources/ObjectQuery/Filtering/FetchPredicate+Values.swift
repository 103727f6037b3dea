extension FetchPredicate {
  /// Returns whether a value matches the predicate, which refers to it as `SELF`: `try FetchPredicate(format: "SELF BEGINSWITH[c]
  /// 'a'").evaluate(with: "Ada")`.
  ///
  /// The rules are those for attributes of the value's type. An array or a set is a collection: `ANY SELF > 3`, `SELF.@count == 2`.
  ///
  /// - Throws: ``FetchPredicateError`` if the value cannot be compared, or the predicate contains a key.
  public func evaluate<Value: FetchConstantConvertible>(with value: Value) throws -> Bool {
    try PredicateDepth.check(self)
    return try DictionaryEvaluator(try DictionaryValue(value, at: "SELF")).evaluate(self)
  }
}

extension Sequence where Element: FetchConstantConvertible {
  /// Returns the elements that match a predicate, which refers to each as `SELF`, in their order.
  ///
  /// - Throws: ``FetchPredicateError`` if an element cannot be compared.
  public func filtered(using predicate: FetchPredicate) throws -> [Element] { try filter { try predicate.evaluate(with: $0) } }
}

extension Sequence where Element == [String: Any] {
  /// Returns the dictionaries that match a predicate, in their order.
  ///
  /// - Throws: Errors of evaluating the predicate.
  public func filtered(using predicate: FetchPredicate) throws -> [Element] { try filter { try predicate.evaluate(with: $0) } }
}
