// MergePolicy: how a save deals with rows that others have changed, and with unique values that are taken.
public import ObjectModel
public import ObjectStore

/// How a save deals with rows that others changed since they were read, and with unique values that are taken.
///
/// A context has one (``ManagedObjectContext/mergePolicy``), a container has one for all its contexts. Policies are values: they may be shared by
/// contexts in any isolation. <doc:MergePolicies> has the table of what each does.
///
/// ```swift
/// let policy = MergePolicy.mergeByPropertyObjectTrump
///   .resolving("Setting", by: .mergeByPropertyStoreTrump)
///   .resolving("Counter", "count", as: Int.self) { ($0.object ?? 0) + ($0.store ?? 0) - ($0.original ?? 0) }
/// ```
public struct MergePolicy: Sendable, CustomStringConvertible {
  /// The built-in policies, with Core Data's numbers.
  public enum MergeType: Int, Sendable, Hashable, CaseIterable {
    /// The save throws and writes nothing.
    case error = 0
    /// Property by property: what the store has changed stays; changes of other properties are saved.
    case mergeByPropertyStoreTrump = 1
    /// Property by property: what was changed in memory is saved; the others are the store's.
    case mergeByPropertyObjectTrump = 2
    /// The object is saved as it is in memory, over whatever the store has.
    case overwrite = 3
    /// The object takes the store's values; its changes are given up.
    case rollback = 4
  }

  /// The policy for everything that no rule is about.
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
    /// Whether a slot's values are of the type.
    let takes: @Sendable (CompiledSlot) -> Bool
    let rule: ValueRule
  }

  var hasResolver: Bool { resolver != nil }

  /// One of the built-in policies.
  public init(merge type: MergeType) {
    mergeType = type
    resolver = nil
  }

  /// A policy of the application's own.
  public init(_ resolver: any MergeResolver) {
    mergeType = .error
    self.resolver = resolver
  }

  /// The save throws and writes nothing. This is the default.
  public static let error = MergePolicy(merge: .error)
  /// Property by property: what the store has changed stays; changes of other properties are saved.
  public static let mergeByPropertyStoreTrump = MergePolicy(merge: .mergeByPropertyStoreTrump)
  /// Property by property: what was changed in memory is saved; the others are the store's.
  public static let mergeByPropertyObjectTrump = MergePolicy(merge: .mergeByPropertyObjectTrump)
  /// Saves objects as they are in memory, over whatever the store has.
  public static let overwrite = MergePolicy(merge: .overwrite)
  /// Gives up the changes of objects that are in conflict.
  public static let rollback = MergePolicy(merge: .rollback)

  // MARK: Rules

  /// The policy with another type for the objects of an entity and those below it.
  public func resolving(_ entityName: String, by type: MergeType) -> MergePolicy {
    var policy = self
    policy.types[entityName] = type
    return policy
  }

  /// The policy with a rule for a property, for the objects of an entity and those below it.
  ///
  /// The rule is asked where both sides have changed the property to different values, unless the type for the object is ``MergeType/error``. What it
  /// returns is validated and saved. It runs during the save, and may run again for the same object when somebody else saves at the same moment.
  ///
  /// Rules that do not fit the model (an unknown entity or key, another type, a base policy that never asks them) are refused where the policy meets it: by
  /// ``PersistentContainer``, or ``MergePolicyError``.
  /// - Parameters:
  ///   - entityName: The entity.
  ///   - key: An attribute, a part of a composite, or a to-one relationship.
  ///   - type: The attribute's Swift type, or an enumeration of its raw values; ``ManagedObjectID`` for a relationship.
  ///   - rule: Gives the value to save; nil for none.
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
        // A value that cannot be read must not look like none: the rule would save that.
        try rule(
          ValueConflict(
            objectID: conflict.objectID, key: key, original: conflict.original?.value(key), object: conflict.object.value(key),
            store: conflict.store.value(key)))
      })
    return policy
  }

  /// The built-in policy's name, or the resolver's type.
  public var description: String {
    resolver.map { ($0 as? any CustomStringConvertible)?.description ?? "\(Swift.type(of: $0))" } ?? "\(mergeType)"
  }

  // MARK: Asking

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

  /// The rule for a property of an entity; nil where the type decides.
  func rule(for key: String, of entity: CompiledEntity, in model: CompiledModel) -> ValueRule? {
    if rules.isEmpty { return nil }
    return model.lineage(of: entity).lazy.compactMap { rules[PropertyName(entity: $0.name, key: key)]?.rule }.first
  }
}

/// A rule for a property, whatever its type.
typealias ValueRule = @Sendable (_ conflict: SnapshotConflict) throws -> (any Sendable)?

/// The three states of an object that a rule compares.
struct SnapshotConflict {
  let objectID: ManagedObjectID
  let original: RowSnapshot?
  let object: RowSnapshot
  let store: RowSnapshot
}

/// A property that both sides have changed to different values.
public struct ValueConflict<Value: Sendable>: Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The property.
  public let key: String
  /// The value that both sides began with. Nil also where unique values clash: a new object and a stored one have begun with nothing in common.
  public let original: Value?
  /// The value in memory.
  public let object: Value?
  /// The value in the store.
  public let store: Value?
}

/// What a ``MergeResolver`` says is to be done about a conflict: one of the policies, and values that are taken in any case.
///
/// ```swift
/// MergeDecision(.mergeByPropertyObjectTrump, values: ["count": 7])
/// ```
public struct MergeDecision: Sendable {
  /// The built-in policy that is followed.
  public var mergeType: MergePolicy.MergeType
  /// Values that are saved whatever the type says, by name of an attribute or to-one relationship (whose value is a ``ManagedObjectID``). They do not
  /// count with ``MergePolicy/MergeType/error``, nor where no row is left.
  public var values: [String: (any Sendable)?]
  /// More of such values, as they are stored.
  package var storedValues: [String: Slot] = [:]

  /// Makes a decision.
  public init(_ mergeType: MergePolicy.MergeType, values: [String: (any Sendable)?] = [:]) {
    self.mergeType = mergeType
    self.values = values
  }
}

/// Decides conflicts for a ``MergePolicy`` of the application's own: what a subclass of `NSMergePolicy` is for Core Data.
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
/// It sees values, not objects: a save asks it while the context's objects are as they were, and objects take the outcome once everything is saved.
public protocol MergeResolver: Sendable {
  /// Decides what is done about a row that others changed or deleted. An error that is thrown here ends the save.
  ///
  /// - Throws: What ends the save; the save throws it.
  func decision(for conflict: MergeConflict) throws -> MergeDecision
  /// Decides what is done about unique values that are taken. An error that is thrown here ends the save.
  ///
  /// - Throws: What ends the save; the save throws it.
  func decision(for conflict: ConstraintConflict) throws -> MergeDecision
}

extension MergeResolver {
  /// The save throws.
  ///
  /// - Throws: Nothing; another implementation may.
  public func decision(for conflict: MergeConflict) throws -> MergeDecision { MergeDecision(.error) }
  /// The save throws.
  ///
  /// - Throws: Nothing; another implementation may.
  public func decision(for conflict: ConstraintConflict) throws -> MergeDecision { MergeDecision(.error) }
}

extension CompiledModel {
  /// An entity and those above it, nearest first.
  func lineage(of entity: CompiledEntity) -> [CompiledEntity] {
    var result = [entity]
    while let parent = result.last?.parent { result.append(entities[parent]) }
    return result
  }
}
