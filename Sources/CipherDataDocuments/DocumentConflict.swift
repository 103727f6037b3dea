@_spi(Generated) public import ObjectContext
public import ObjectModel
import ObjectStore

/// A conflict: an object that was changed in a document, and was saved with other values elsewhere.
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
  /// The properties whose values differ; empty if one side has deleted the object.
  public let keys: [String]
  /// The document's values of these properties; `nil` if the document has deleted the object. To-one relationships are represented by IDs.
  public let mine: [String: any Sendable]?
  /// The values saved elsewhere; `nil` if the object was deleted there.
  public let theirs: [String: any Sendable]?
}

/// The ways to resolve the conflicts of a document.
public enum DocumentConflictResolution: Sendable {
  /// Keeps the document's changes, property by property. Objects deleted elsewhere are saved again.
  case mine
  /// Keeps the changes saved elsewhere, property by property. Objects that the document has deleted are restored, and objects deleted
  /// elsewhere are deleted.
  case theirs
  /// Applies a merge policy. Where saved changes were already merged below the document's unsaved ones, the document's values are kept.
  case policy(MergePolicy)

  /// The merge policy for the save.
  var mergePolicy: MergePolicy {
    switch self {
    case .mine: .mergeByPropertyObjectTrump
    case .theirs: .mergeByPropertyStoreTrump
    case .policy(let policy): policy
    }
  }
}

extension DocumentConflict {
  /// Creates the conflict for a merge conflict of a save; `nil` if the changes of both sides can be merged.
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

  /// Creates the conflict for unique values that are already taken.
  init?(_ conflict: ConstraintConflict) {
    guard let id = conflict.objectIDs.first ?? conflict.databaseObjectID else { return nil }
    objectID = id
    keys = conflict.constraint
    mine = conflict.objectSnapshots.first?.values(of: keys) ?? [:]
    theirs = conflict.databaseSnapshot?.values(of: keys) ?? [:]
  }

  /// Creates the conflict for an object whose unsaved values were changed elsewhere, after a merge.
  init(_ object: ManagedObject, _ keys: Set<String>) {
    objectID = object.objectID
    self.keys = keys.sorted()
    let entity = object.compiledEntity
    mine = self.keys.values { key in
      guard let slot = entity.slot(named: key) else { return nil }
      guard let attribute = slot.attribute else { return object.toOneID(slot.index) }
      return (try? AttributeConversion.untypedValue(of: object.slotValue(slot.index), attribute)) ?? nil
    }
    theirs = object.savedSnapshot?.values(of: self.keys)
  }
}

extension MergeConflict {
  /// The properties that both sides have changed to different values.
  fileprivate var keysOfBothSides: [String] {
    guard let mine = objectSnapshot, let theirs = storeSnapshot else { return [] }
    return ThreeWayMerge(base: originalSnapshot?.row, mine: mine.row, theirs: theirs.row, of: mine.entity).conflictingNames
  }
}

extension RowSnapshot {
  /// Returns values by name, and omits those that cannot be read.
  fileprivate func values(of keys: [String]) -> [String: any Sendable] { keys.values { (try? self[$0]) ?? nil } }
}

extension [String] {
  fileprivate func values(_ value: (String) -> (any Sendable)?) -> [String: any Sendable] {
    var values: [String: any Sendable] = [:]
    for key in self { values[key] = value(key) }
    return values
  }
}

/// The merge policy of documents: changes of different properties are merged, and everything else is a conflict that the application
/// resolves.
struct DocumentMergeResolver: MergeResolver {
  func decision(for conflict: MergeConflict) throws -> MergeDecision {
    MergeDecision(DocumentConflict(conflict) == nil ? .mergeByPropertyObjectTrump : .error)
  }
}
