package import ObjectModel

extension FetchPredicate {
  /// Returns whether an object in memory matches the predicate, by the same rules as in stores.
  ///
  /// Each call checks the predicate against the object's entity. Transient attributes are allowed.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - model: The model of the object's entity.
  ///   - resolver: Reads values and relationships of objects.
  /// - Throws: ``FetchPredicateError`` if the predicate does not fit the entity; errors of the resolver.
  package func evaluate<Resolver: ObjectResolver>(
    with object: Resolver.Object, in model: CompiledModel, resolver: Resolver
  ) throws -> Bool {
    let fetch = try FetchResolver(model: model, transientKeys: .allowed).resolve(self, entity: resolver.entity(of: object))
    return try PredicateEvaluator(fetch, resolver: resolver).matches(object)
  }

  /// Checks the predicate against an entity without evaluating it.
  ///
  /// - Throws: ``FetchPredicateError`` with the part that does not fit.
  package func validate(entity name: String, in model: CompiledModel) throws(FetchPredicateError) {
    _ = try FetchResolver(model: model).resolve(FetchSpecification(entityName: name, predicate: self))
  }
}

// MARK: - Filtering values and dictionaries

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

// MARK: - Sorting values and dictionaries

extension Sequence where Element: FetchConstantConvertible {
  /// Returns the elements sorted by descriptors, which refer to each as `SELF`: `try names.sorted(using: [FetchSortDescriptor("SELF",
  /// comparison: .localizedStandard)])`. The sort is stable.
  ///
  /// - Throws: ``FetchPredicateError`` if an element has no such value.
  public func sorted(using descriptors: [FetchSortDescriptor]) throws -> [Element] {
    try DictionaryEvaluator.sorted(self, using: descriptors) { try DictionaryValue($0, at: "SELF") }
  }

  /// Returns the elements sorted by a descriptor: `try names.sorted(using: FetchSortDescriptor("SELF"))`.
  ///
  /// - Throws: ``FetchPredicateError`` if an element has no such value.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }
}

extension Sequence where Element == [String: Any] {
  /// Returns the dictionaries sorted by descriptors. The sort is stable. Missing values come first in ascending order.
  ///
  /// - Throws: ``FetchPredicateError`` if a descriptor refers to a value without an order, such as a list.
  public func sorted(using descriptors: [FetchSortDescriptor]) throws -> [Element] {
    try DictionaryEvaluator.sorted(self, using: descriptors) { .object(DictionaryObject($0)) }
  }

  /// Returns the dictionaries sorted by a descriptor.
  ///
  /// - Throws: ``FetchPredicateError`` if the descriptor refers to a value without an order, such as a list.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }
}

extension DictionaryEvaluator {
  /// Returns the elements sorted by descriptors. Each value is read once.
  fileprivate static func sorted<Element>(
    _ elements: some Sequence<Element>, using descriptors: [FetchSortDescriptor], _ value: (Element) throws -> DictionaryValue
  ) throws -> [Element] {
    let rows = try elements.enumerated().map { position, element in
      let evaluator = DictionaryEvaluator(try value(element))
      return (position: position, element: element, values: try descriptors.map { try evaluator.slot(of: $0.expression) })
    }
    return rows.sorted { left, right in
      for (index, descriptor) in descriptors.enumerated() {
        let order = SlotOrder.compare(left.values[index], right.values[index], by: descriptor.textOrder)
        if order != 0 { return (order < 0) == descriptor.isAscending }
      }
      return left.position < right.position
    }.map(\.element)
  }
}
