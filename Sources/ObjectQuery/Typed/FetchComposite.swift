// FetchComposite: a composite attribute in a typed query, whose parts generated code adds.

/// A composite attribute of the objects that a typed query asks about.
///
/// Generated code extends it where `Composite` is the struct of a kind of composite value: `$0.home.city` is a ``FetchField``, a part that is a
/// composite itself another `FetchComposite`.
public struct FetchComposite<Composite, Reach: FetchReach>: Sendable {
  /// The path to the attribute.
  public let fetchExpression: FetchExpression

  init(_ expression: FetchExpression) { fetchExpression = expression }

  /// A part by its name in the model; for generated code.
  public func _attribute<Value, Output>(_ name: String) -> FetchField<Value, Output> { FetchField(fetchExpression.appending([name])) }

  /// A part of a type with raw values by its name in the model; for generated code.
  public func _attribute<Value, Output>(_ name: String) -> FetchRawField<Value, Output> { FetchRawField(fetchExpression.appending([name])) }

  /// A part whose values cannot be compared, by its name in the model; for generated code.
  public func _attribute(_ name: String) -> FetchOpaqueField { FetchOpaqueField(fetchExpression.appending([name])) }

  /// A part that is a composite itself, by its name in the model; for generated code.
  public func _composite<Part, PartReach>(_ name: String) -> FetchComposite<Part, PartReach> {
    FetchComposite<Part, PartReach>(fetchExpression.appending([name]))
  }
}

extension FetchObject {
  /// A composite attribute by its name in the model; for generated code.
  public func _composite<Composite, CompositeReach>(_ name: String) -> FetchComposite<Composite, CompositeReach> {
    FetchComposite<Composite, CompositeReach>(fetchExpression.appending([name]))
  }

  /// An attribute of a type with raw values by its name in the model; for generated code.
  public func _attribute<Value, Output>(_ name: String) -> FetchRawField<Value, Output> { FetchRawField(fetchExpression.appending([name])) }
}
