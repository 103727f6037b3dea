// DocumentConflict: what was changed in a document and by others too, with both sides.
public import ObjectModel
import ObjectStore

/// An object of a document that was changed here, and saved by others with other values, with both sides.
///
/// ```swift
/// for conflict in document.conflicts {
///   for key in conflict.keys { print(key, conflict.mine?[key] ?? "nothing", "or", conflict.theirs?[key] ?? "nothing") }
/// }
/// try document.resolveConflicts(keeping: .mine)
/// ```
public struct DocumentConflict: Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The properties that have other values on both sides; none where one side has deleted the object.
  public let keys: [String]
  /// The document's values of these properties; nil where the document has deleted the object. To-one relationships are told as IDs.
  public let mine: [String: any Sendable]?
  /// The values that others have saved; nil where they have deleted the object.
  public let theirs: [String: any Sendable]?
}

/// Whose changes are kept where a document is in conflict.
public enum DocumentConflictResolution: Sendable {
  /// The document's, property by property. What others have deleted is saved again.
  case mine
  /// Those of others, property by property. What the document has deleted is back, and what others have deleted is gone.
  case theirs
  /// What a merge policy says. Where others' changes are below the document's already it keeps the document's.
  case policy(MergePolicy)

  /// The policy that a save follows.
  var mergePolicy: MergePolicy {
    switch self {
    case .mine: .mergeByPropertyObjectTrump
    case .theirs: .mergeByPropertyStoreTrump
    case .policy(let policy): policy
    }
  }
}

extension DocumentConflict {
  /// What a save has met; nil where the two sides go together.
  init?(_ conflict: MergeConflict) {
    objectID = conflict.objectID
    guard !conflict.isDeletion, let mine = conflict.objectSnapshot, let theirs = conflict.storeSnapshot else {
      (keys, mine, theirs) = ([], conflict.isDeletion ? nil : [:], conflict.persistedRow == nil ? nil : [:])
      return
    }
    let keys = conflict.keysOfBothSides
    if keys.isEmpty { return nil }
    self.keys = keys
    self.mine = mine.values(of: keys)
    self.theirs = theirs.values(of: keys)
  }

  /// Unique values that are taken.
  init?(_ conflict: ConstraintConflict) {
    guard let id = conflict.objectIDs.first ?? conflict.databaseObjectID else { return nil }
    objectID = id
    keys = conflict.constraint
    mine = conflict.objectSnapshots.first?.values(of: keys) ?? [:]
    theirs = conflict.databaseSnapshot?.values(of: keys) ?? [:]
  }

  /// What a merge has found: the document's values lie above those of others.
  init(_ object: ManagedObject, _ keys: Set<String>) {
    objectID = object.objectID
    self.keys = keys.sorted()
    let entity = object.compiledEntity
    mine = self.keys.values { key in
      guard let slot = entity.slot(named: key) else { return nil }
      guard let attribute = slot.attribute else { return object._toOneID(slot.index) }
      return (try? AttributeConversion.untypedValue(of: object.slotValue(slot.index), attribute)) ?? nil
    }
    theirs = object.image.map { RowSnapshot($0, of: entity, space: object.ownSpace).values(of: keys.sorted()) }
  }
}

extension MergeConflict {
  /// The properties that both sides have changed, to other values.
  fileprivate var keysOfBothSides: [String] {
    guard let mine = objectSnapshot, let theirs = storeSnapshot else { return [] }
    return mine.entity.slots.filter { slot in
      if slot.kind == .none || slot.isDerived || mine.row.hasSameValue(slot.index, kind: slot.kind, as: theirs.row) { return false }
      guard let original = originalSnapshot else { return true }
      return !original.row.hasSameValue(slot.index, kind: slot.kind, as: mine.row)
        && !original.row.hasSameValue(slot.index, kind: slot.kind, as: theirs.row)
    }.map(\.name)
  }
}

extension RowSnapshot {
  /// Values by name; one that cannot be read is left out.
  fileprivate func values(of keys: [String]) -> [String: any Sendable] { keys.values { (try? self[$0]) ?? nil } }
}

extension [String] {
  fileprivate func values(_ value: (String) -> (any Sendable)?) -> [String: any Sendable] {
    var values: [String: any Sendable] = [:]
    for key in self { values[key] = value(key) }
    return values
  }
}

/// A document's merging: what both sides have changed without meeting goes together, and everything else is decided by somebody.
struct DocumentMergeResolver: MergeResolver {
  func decision(for conflict: MergeConflict) throws -> MergeDecision {
    MergeDecision(DocumentConflict(conflict) == nil ? .mergeByPropertyObjectTrump : .error)
  }
}
