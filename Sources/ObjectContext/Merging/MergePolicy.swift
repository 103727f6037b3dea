public import Foundation
public import ObjectModel
public import ObjectStore

/// The policy by which a save resolves conflicts: rows that were changed since they were read, and unique values that are already taken.
///
/// A context has a policy (``ManagedObjectContext/mergePolicy``), and a container has one for all its contexts. Policies are values that
/// contexts in any isolation can share. <doc:MergePolicies> has a table of their effects.
///
/// ```swift
/// let policy = MergePolicy.mergeByPropertyObjectTrump
///   .resolving("Setting", by: .mergeByPropertyStoreTrump)
///   .resolving("Counter", "count", as: Int.self) { ($0.object ?? 0) + ($0.store ?? 0) - ($0.original ?? 0) }
/// ```
public struct MergePolicy: Sendable, CustomStringConvertible {
  /// The built-in policies, with Core Data's raw values.
  public enum MergeType: Int, Sendable, Hashable, CaseIterable {
    /// The save throws an error and writes nothing.
    case error = 0
    /// Merges by property: a property changed in the store keeps the store's value; changes of other properties are saved.
    case mergeByPropertyStoreTrump = 1
    /// Merges by property: a property changed in memory is saved; other properties take the store's values.
    case mergeByPropertyObjectTrump = 2
    /// Saves the object as it is in memory and overwrites the store's row.
    case overwrite = 3
    /// Discards the object's changes; the object takes the store's values.
    case rollback = 4

    /// The rules of the type, from which every merge takes its decisions.
    var rules: MergeRules {
      switch self {
      case .error: MergeRules(.neither)
      case .mergeByPropertyStoreTrump: MergeRules(.theirs)
      case .mergeByPropertyObjectTrump: MergeRules(.mine)
      case .overwrite: MergeRules(.mine, unit: .row)
      case .rollback: MergeRules(.theirs, unit: .row)
      }
    }
  }

  /// The policy for objects to which no rule applies.
  public let mergeType: MergeType
  private let resolver: (any MergeResolver)?
  private(set) var types: [String: MergeType] = [:]
  private(set) var rules: [PropertyName: PropertyRule] = [:]

  struct PropertyName: Hashable {
    let entity: String
    let key: String
  }

  /// A rule with the type of its values.
  struct PropertyRule {
    let typeName: String
    /// Returns whether a slot's values are of the type.
    let takes: @Sendable (CompiledSlot) -> Bool
    let rule: ValueRule
  }

  var hasResolver: Bool { resolver != nil }

  /// Creates a built-in policy.
  public init(merge type: MergeType) {
    mergeType = type
    resolver = nil
  }

  /// Creates a policy with a custom resolver.
  public init(_ resolver: any MergeResolver) {
    mergeType = .error
    self.resolver = resolver
  }

  /// The policy that makes the save throw an error and write nothing. This is the default.
  public static let error = MergePolicy(merge: .error)
  /// The policy that merges by property: a property changed in the store keeps the store's value; changes of other properties are saved.
  public static let mergeByPropertyStoreTrump = MergePolicy(merge: .mergeByPropertyStoreTrump)
  /// The policy that merges by property: a property changed in memory is saved; other properties take the store's values.
  public static let mergeByPropertyObjectTrump = MergePolicy(merge: .mergeByPropertyObjectTrump)
  /// The policy that saves objects as they are in memory and overwrites the store's rows.
  public static let overwrite = MergePolicy(merge: .overwrite)
  /// The policy that discards the changes of conflicting objects.
  public static let rollback = MergePolicy(merge: .rollback)

  // MARK: Rules

  /// Returns a copy of the policy with another merge type for the objects of an entity and its subentities.
  public func resolving(_ entityName: String, by type: MergeType) -> MergePolicy {
    var policy = self
    policy.types[entityName] = type
    return policy
  }

  /// Returns a copy of the policy with a rule for a property of the objects of an entity and its subentities.
  ///
  /// The rule applies if both sides have changed the property to different values, unless the merge type for the object is
  /// ``MergeType/error``. Its result is validated and saved. The rule runs during the save. It may run again for the same object if another
  /// context or process saves at the same time.
  ///
  /// A rule must fit the model: the entity and the key must exist, the type must match, and the base policy must apply the rule. Otherwise,
  /// ``PersistentContainer`` rejects the policy, or the context reports a ``MergePolicyError``.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - key: An attribute, an element of a composite, or a to-one relationship.
  ///   - type: The attribute's Swift type, or an enumeration with its raw values; ``ManagedObjectID`` for a relationship.
  ///   - rule: Returns the value to save; nil for none.
  /// - Returns: The policy with the rule.
  public func resolving<Value: Sendable>(
    _ entityName: String, _ key: String, as type: Value.Type = Value.self,
    _ rule: @escaping @Sendable (ValueConflict<Value>) throws -> Value?
  ) -> MergePolicy {
    var policy = self
    policy.rules[PropertyName(entity: entityName, key: key)] = PropertyRule(
      typeName: "\(type)",
      takes: { slot in
        guard let attribute = slot.attribute else { return type == ManagedObjectID.self }
        return AttributeConversion.holds(attribute, type)
      },
      rule: { conflict in
        // Rethrow read errors: the rule would treat an unreadable value as missing and save its result.
        try rule(
          ValueConflict(
            objectID: conflict.objectID, key: key, original: conflict.original?.value(key), object: conflict.object.value(key),
            store: conflict.store.value(key)))
      })
    return policy
  }

  /// The name of the built-in policy, or the description of the resolver.
  public var description: String {
    resolver.map { ($0 as? any CustomStringConvertible)?.description ?? "\(Swift.type(of: $0))" } ?? "\(mergeType)"
  }

  // MARK: Decisions

  func decision(for conflict: MergeConflict, _ entity: CompiledEntity, in model: CompiledModel) throws -> MergeDecision {
    try resolver?.decision(for: conflict) ?? MergeDecision(type(for: entity, in: model))
  }

  func decision(for conflict: ConstraintConflict, _ entity: CompiledEntity, in model: CompiledModel) throws -> MergeDecision {
    try resolver?.decision(for: conflict) ?? MergeDecision(type(for: entity, in: model))
  }

  func type(for entity: CompiledEntity, in model: CompiledModel) -> MergeType {
    if types.isEmpty { return mergeType }
    return model.lineage(of: entity).lazy.compactMap { types[$0.name] }.first ?? mergeType
  }

  /// Returns the rule for a property of an entity; nil if the merge type decides.
  func rule(for key: String, of entity: CompiledEntity, in model: CompiledModel) -> ValueRule? {
    if rules.isEmpty { return nil }
    return model.lineage(of: entity).lazy.compactMap { rules[PropertyName(entity: $0.name, key: key)]?.rule }.first
  }
}

/// Computes the values that a policy supplies for objects of one store, in their stored form.
struct PolicyValues {
  let policy: MergePolicy
  let model: CompiledModel
  let space: UInt32

  /// Returns the values that a decision and the rules for properties in conflict supply, by slot.
  ///
  /// - Parameter states: The states that the rules compare; nil if a side is unknown.
  func slots(of decision: MergeDecision, _ entity: CompiledEntity, conflicts: SlotMask = SlotMask(), _ states: SnapshotConflict? = nil)
    throws -> [Int: Slot]
  {
    var values: [Int: Slot] = [:]
    if let states, !conflicts.isEmpty {
      for slot in entity.slots where conflicts.contains(slot.index) {
        guard let rule = policy.rule(for: slot.name, of: entity, in: model) else { continue }
        values[slot.index] = try self.slot(of: rule(states), slot, entity)
      }
    }
    for (key, value) in decision.values {
      guard let slot = entity.slot(named: key), slot.kind != .none, !slot.isDerived else {
        throw KeyValueError(
          .unknownKey, key: key, entityName: entity.name,
          detail: "a merge policy gives values of stored attributes and to-one relationships")
      }
      values[slot.index] = try self.slot(of: value, slot, entity)
    }
    for (key, value) in decision.storedValues {
      // Values set on an object of a subentity may not be properties of the surviving object.
      if let slot = entity.slot(named: key), slot.kind != .none, !slot.isDerived { values[slot.index] = value }
    }
    return values
  }

  /// Converts the value of a rule to its stored form.
  private func slot(of value: (any Sendable)?, _ slot: CompiledSlot, _ entity: CompiledEntity) throws -> Slot {
    guard let relationship = slot.relationship else {
      let isCoded = slot.attributeType == .transformable
      return try ManagedObject.slotValue(
        from: isCoded ? value : value.map(AttributeConversion.withoutEnumeration), for: slot, entityName: entity.name)
    }
    guard let value = AttributeConversion.unwrapped(value) else { return .null }
    guard let objectID = value as? ManagedObjectID, objectID.space == space, !objectID.isTemporaryID,
      model.entities[relationship.destinationEntity].subtree.contains(Int(objectID.entityNumber))
    else {
      throw KeyValueError(.wrongType, key: slot.name, entityName: entity.name, detail: "a merge policy gives the ID of a saved object")
    }
    return .int(objectID.reference.rawValue)
  }
}

/// A type-erased rule for a property.
typealias ValueRule = @Sendable (_ conflict: SnapshotConflict) throws -> (any Sendable)?

/// The three states of an object that a rule compares.
struct SnapshotConflict {
  let objectID: ManagedObjectID
  let original: RowSnapshot?
  let object: RowSnapshot
  let store: RowSnapshot
}

extension SnapshotConflict {
  /// The states of a conflict; nil if a side is unknown.
  init?(_ conflict: MergeConflict) {
    guard let object = conflict.objectSnapshot, let store = conflict.storeSnapshot else { return nil }
    self.init(objectID: conflict.objectID, original: conflict.originalSnapshot, object: object, store: store)
  }
}

/// A property that both sides have changed to different values.
public struct ValueConflict<Value: Sendable>: Sendable {
  /// The ID of the object.
  public let objectID: ManagedObjectID
  /// The name of the property.
  public let key: String
  /// The value before the changes of both sides. Nil if unique values conflict, because an inserted object and a stored one have no common
  /// original.
  public let original: Value?
  /// The value in memory.
  public let object: Value?
  /// The value in the store.
  public let store: Value?
}

/// The decision of a ``MergeResolver`` about a conflict: a built-in policy, and values to save in any case.
///
/// ```swift
/// MergeDecision(.mergeByPropertyObjectTrump, values: ["count": 7])
/// ```
public struct MergeDecision: Sendable {
  /// The built-in policy to apply.
  public var mergeType: MergePolicy.MergeType
  /// The values to save regardless of the merge type, by the names of attributes and to-one relationships. The value of a relationship is a
  /// ``ManagedObjectID``.
  ///
  /// They are ignored with ``MergePolicy/MergeType/error``, and if the row no longer exists.
  public var values: [String: (any Sendable)?]
  /// Additional values to save, in stored form.
  package var storedValues: [String: Slot] = [:]

  var rules: MergeRules { mergeType.rules }

  /// Creates a decision.
  public init(_ mergeType: MergePolicy.MergeType, values: [String: (any Sendable)?] = [:]) {
    self.mergeType = mergeType
    self.values = values
  }
}

/// A type that resolves conflicts for a custom ``MergePolicy``. It corresponds to a subclass of `NSMergePolicy` in Core Data.
///
/// ```swift
/// struct LongerTitle: MergeResolver {
///   func decision(for conflict: MergeConflict) throws -> MergeDecision {
///     let titles = try [conflict.objectSnapshot, conflict.storeSnapshot].compactMap { try $0?["title"] as? String }
///     return MergeDecision(.mergeByPropertyObjectTrump, values: ["title": titles.max { $0.count < $1.count }])
///   }
/// }
/// context.mergePolicy = MergePolicy(LongerTitle())
/// ```
///
/// A resolver receives values, not objects. The context's objects do not change while it runs; they take the results after everything has
/// been saved.
public protocol MergeResolver: Sendable {
  /// Returns the decision about a row that was changed or deleted since it was read.
  ///
  /// - Throws: An error that ends the save, which rethrows it.
  func decision(for conflict: MergeConflict) throws -> MergeDecision
  /// Returns the decision about unique values that are already taken.
  ///
  /// - Throws: An error that ends the save, which rethrows it.
  func decision(for conflict: ConstraintConflict) throws -> MergeDecision
}

extension MergeResolver {
  /// Makes the save throw.
  ///
  /// - Throws: Nothing. Other implementations may throw.
  public func decision(for conflict: MergeConflict) throws -> MergeDecision { MergeDecision(.error) }
  /// Makes the save throw.
  ///
  /// - Throws: Nothing. Other implementations may throw.
  public func decision(for conflict: ConstraintConflict) throws -> MergeDecision { MergeDecision(.error) }
}

extension CompiledModel {
  /// Returns an entity and its superentities, nearest first.
  func lineage(of entity: CompiledEntity) -> [CompiledEntity] {
    var result = [entity]
    while let parent = result.last?.parent { result.append(entities[parent]) }
    return result
  }
}

// MARK: - Validating policies

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
        "the merge policy has a rule for it, which is never applied: rules are for stored attributes, parts of composites and to-one relationships"
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
        "the merge policy's rule is never applied, since the policy for these objects is “error”; add the rule to another one, such as mergeByPropertyObjectTrump"
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

// MARK: - Advice

extension MergePolicyError: LocalizedError {}

extension MergePolicyError: AdvisedError {
  /// The advice for an application's user and its developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The application is configured incorrectly.",
      developer: "Correct the merge policy rules that the issues name. Nothing is saved until then.")
  }
}
