/// A composite attribute of the objects in a typed query.
///
/// Generated code extends it for each `Composite` struct: `$0.home.city` is a ``FetchField``, and a nested composite is another
/// `FetchComposite`.
public struct FetchComposite<Composite, Reach: FetchReach>: Sendable {
  /// The path to the attribute.
  public let fetchExpression: FetchExpression

  init(_ expression: FetchExpression) { fetchExpression = expression }

  /// Returns a part by its name in the model. For generated code.
  @_spi(Generated) public func attribute<Value, Output>(_ name: String) -> FetchField<Value, Output> {
    FetchField(fetchExpression.appending([name]))
  }

  /// Returns a part of a type with raw values by its name in the model. For generated code.
  @_spi(Generated) public func attribute<Value, Output>(_ name: String) -> FetchRawField<Value, Output> {
    FetchRawField(fetchExpression.appending([name]))
  }

  /// Returns a part whose values cannot be compared, by its name in the model. For generated code.
  @_spi(Generated) public func attribute(_ name: String) -> FetchOpaqueField { FetchOpaqueField(fetchExpression.appending([name])) }

  /// Returns a nested composite by its name in the model. For generated code.
  @_spi(Generated) public func composite<Part, PartReach>(_ name: String) -> FetchComposite<Part, PartReach> {
    FetchComposite<Part, PartReach>(fetchExpression.appending([name]))
  }
}

extension FetchObject {
  /// Returns a composite attribute by its name in the model. For generated code.
  @_spi(Generated) public func composite<Composite, CompositeReach>(_ name: String) -> FetchComposite<Composite, CompositeReach> {
    FetchComposite<Composite, CompositeReach>(fetchExpression.appending([name]))
  }

  /// Returns an attribute of a type with raw values by its name in the model. For generated code.
  @_spi(Generated) public func attribute<Value, Output>(_ name: String) -> FetchRawField<Value, Output> {
    FetchRawField(fetchExpression.appending([name]))
  }
}
