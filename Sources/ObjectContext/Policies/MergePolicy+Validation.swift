public import ObjectModel
import ObjectStore

/// An error of a merge policy that does not fit the model: rules that would never apply, and rules whose values could not be saved.
///
/// When a context is assigned such a policy, ``ManagedObjectContext/pendingError`` contains this error. Every save throws it and writes
/// nothing until the context is assigned another policy. The initializer of a container reports the issues in a ``ModelValidationError``
/// instead.
public struct MergePolicyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The issues, by entity and property; never empty.
  public let issues: [ModelIssue]

  package init(issues: [ModelIssue]) { self.issues = issues }

  /// The issues in one line.
  public var description: String {
    "the merge policy does not fit the model: " + issues.map(\.description).joined(separator: "; ")
  }
}

extension MergePolicy {
  /// Returns the issues of using the policy with a model, by entity and property. Built-in policies have none.
  func issues(with model: CompiledModel) -> [ModelIssue] {
    if types.isEmpty && rules.isEmpty { return [] }
    let typeIssues = types.keys.sorted().compactMap { typeIssue($0, model) }
    let names = rules.keys.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    return typeIssues + names.compactMap { ruleIssue($0, model) }
  }

  private func typeIssue(_ name: String, _ model: CompiledModel) -> ModelIssue? {
    guard model.entity(named: name) != nil else { return unknownEntity(name, model) }
    guard hasResolver else { return nil }
    return ModelIssue(
      entityName: name,
      reason: "the merge policy's type for the entity is never followed, since its resolver decides; let the resolver return the type")
  }

  private func ruleIssue(_ name: PropertyName, _ model: CompiledModel) -> ModelIssue? {
    guard let entity = model.entity(named: name.entity) else { return unknownEntity(name.entity, model) }
    func issue(_ reason: String) -> ModelIssue { ModelIssue(entityName: name.entity, propertyName: name.key, reason: reason) }
    // The property may be declared by subentities only.
    let owners = model.entities[entity.subtree].filter { $0.property(named: name.key) != nil }
    if owners.isEmpty {
      return issue("the merge policy has a rule for it, and there is no such property; rules are for attributes and to-one relationships")
    }
    let slots = owners.compactMap { $0.slot(named: name.key) }.filter { $0.kind != .none && !$0.isDerived }
    guard slots.count == owners.count else {
      return issue(
        "the merge policy has a rule for it, which nothing would ask: rules are for stored attributes, parts of composites and to-one relationships"
      )
    }
    guard let rule = rules[name] else { return nil }
    if let slot = slots.first(where: { !rule.takes($0) }) {
      let expected =
        slot.relationship == nil
        ? "the attribute’s values are of another type (\(slot.attributeType?.rawValue ?? ""))" : "a relationship’s are ManagedObjectIDs"
      return issue("the merge policy's rule is for values of the type \(rule.typeName), and \(expected)")
    }
    if !hasResolver, owners.allSatisfy({ type(for: $0, in: model) == .error }) {
      return issue(
        "the merge policy's rule is never asked, since the policy for these objects is “error”; add the rule to another one, such as mergeByPropertyObjectTrump"
      )
    }
    return nil
  }

  private func unknownEntity(_ name: String, _ model: CompiledModel) -> ModelIssue {
    ModelIssue(
      entityName: name,
      reason:
        "the merge policy has a rule for it, and the model has no such entity; it has \(model.entities.map(\.name).sorted().joined(separator: ", "))"
    )
  }
}
