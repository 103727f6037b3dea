// ModelChange: one change between two versions of a model, in words, with what it means for stores.

/// One change between two versions of a model, and what it means for stores.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// for change in try await file.migrationPlan(to: model).changes {
///   if case .notInferred(let reason, let advice) = change.effect { print(change, reason, advice) }
/// }
/// ```
///
/// Changes are values that hold names only, and nothing that a store contains. A change that cannot be inferred makes a migration throw ``StoreError`` with
/// ``StoreError/Code/mappingNotInferred``, unless a ``CustomMigrationStage`` takes care of it.
public struct ModelChange: Sendable, Hashable, CustomStringConvertible {
  /// What a change means for a store that the older version wrote.
  public enum Effect: Sendable, Hashable {
    /// Stored rows stay as they are.
    case none
    /// The store can be brought in step without further word.
    case inferred
    /// The store can be brought in step if what it holds allows it.
    case conditional(condition: String)
    /// The store cannot be brought in step by itself.
    case notInferred(reason: String, advice: String)
  }

  /// The entity, by its newer name, or by the older one when it is gone; nil where the whole model is concerned.
  public let entityName: String?
  /// The property, index or constraint, by its newer name where it has one.
  public let name: String?
  /// What changed, such as `renamed from title`.
  public let change: String
  /// What it means for stores.
  public let effect: Effect
  /// Whether stored values or objects are dropped.
  package let dropsValues: Bool

  init(_ entityName: String?, _ name: String? = nil, _ change: String, _ effect: Effect = .none, dropsValues: Bool = false) {
    self.dropsValues = dropsValues
    self.entityName = entityName
    self.name = name
    self.change = change
    self.effect = effect
  }

  /// The change in a line, with the condition or the reason and the way out.
  public var description: String {
    let place = [entityName, name].compactMap { $0 }.joined(separator: ".")
    let text = place.isEmpty ? change : "\(place): \(change)"
    switch effect {
    case .none, .inferred: return text
    case .conditional(let condition): return "\(text) (if \(condition))"
    case .notInferred(let reason, let advice): return "\(text). It cannot be inferred: \(reason). \(advice)"
    }
  }
}
