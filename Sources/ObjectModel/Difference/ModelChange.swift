/// A change between two versions of a model, and its effect on stores.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// for change in try await file.migrationPlan(to: model).changes {
///   if case .notInferred(let reason, let advice) = change.effect { print(change, reason, advice) }
/// }
/// ```
///
/// A change contains names only, never data of a store. A change that cannot be inferred makes a migration throw ``StoreError`` with
/// ``StoreError/Code/mappingNotInferred``, unless a ``CustomMigrationStage`` handles it.
public struct ModelChange: Sendable, Hashable, CustomStringConvertible {
  /// The effect of a change on a store of the source version.
  public enum Effect: Sendable, Hashable {
    /// Stored rows stay unchanged.
    case none
    /// The store can be migrated by inference.
    case inferred
    /// The store can be migrated by inference if its data meets the condition.
    case conditional(condition: String)
    /// The store cannot be migrated by inference.
    case notInferred(reason: String, advice: String)
  }

  /// The entity's name, or its former name if it was removed; nil for a change of the whole model.
  public let entityName: String?
  /// The name of the property, index or constraint; its former name if it was removed.
  public let name: String?
  /// A description of the change, such as `renamed from title`.
  public let change: String
  /// The effect on stores.
  public let effect: Effect
  /// Whether the change drops stored values or objects.
  package let dropsValues: Bool

  init(_ entityName: String?, _ name: String? = nil, _ change: String, _ effect: Effect = .none, dropsValues: Bool = false) {
    self.dropsValues = dropsValues
    self.entityName = entityName
    self.name = name
    self.change = change
    self.effect = effect
  }

  /// The change in one line, with its condition, or with the reason and advice.
  public var description: String {
    let location = [entityName, name].compactMap { $0 }.joined(separator: ".")
    let text = location.isEmpty ? change : "\(location): \(change)"
    switch effect {
    case .none, .inferred: return text
    case .conditional(let condition): return "\(text) (if \(condition))"
    case .notInferred(let reason, let advice): return "\(text). It cannot be inferred: \(reason). \(advice)"
    }
  }
}
