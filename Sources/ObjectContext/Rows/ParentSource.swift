// ParentSource: what a context that is nested in another one asks of it.
import ObjectModel
import ObjectQuery
import ObjectStore

/// What a context has of an object that it has changed and not saved.
enum UnsavedRow {
  /// The row as its values are now. Its version is that of no row of a store.
  case row(RowImage)
  /// The object is to be deleted.
  case gone

  /// The version of rows that show unsaved values, and of those that were saved by others since: no store has such a row.
  static let version: Int64 = 0

  /// The row; nil where there is none.
  var row: RowImage? { if case .row(let row) = self { row } else { nil } }
}

/// What a nested context reads of its parent, and where its saves go. It lives in the isolation of both.
///
/// What a parent has not changed is read as the parent reads it: from the row caches and the stores, or from the states that it is pinned to.
protocol ParentSource: AnyObject {
  /// What the parent reads.
  var source: RowSource { get }
  /// Whether the parent, or one of its own parents, has unsaved changes.
  var hasChanges: Bool { get }

  /// What was changed of an object; nil where the row is the store's.
  func unsavedRow(_ reference: ObjectReference, in store: PersistentStore) -> UnsavedRow?

  /// The members of a to-many relationship that was changed; nil where they are the store's.
  func unsavedMembers(
    of relationship: CompiledRelationship, for reference: ObjectReference, in store: PersistentStore
  ) throws -> [ObjectReference]?

  /// Whether an object is to be deleted.
  func isGone(_ reference: ObjectReference, in store: PersistentStore) -> Bool

  /// The IDs or the number of what a fetch from one store finds with the unsaved changes; nil where none of them bears on it.
  func unsavedAnswer(to specification: FetchSpecification, from store: PersistentStore) throws -> PersistentStoreResult?

  /// The permanent ID of a new object of the parent's; nil where it has no such object.
  func permanentID(of objectID: ManagedObjectID) throws -> ManagedObjectID?

  /// Takes over what a nested context saves, all of it or nothing.
  func save(_ request: SaveChangesRequest, to store: PersistentStore, scope: RequestScope) throws -> SaveOutcome

  /// Merges what waits for the parent.
  func mergeWaitingChanges()

  /// Brings the parent, and what is nested in it, to what waits to be done, from any thread; nil where nobody knows the isolation.
  var wake: (@Sendable () -> Void)? { get }

  /// A nested context is there, or goes.
  func noteNested(_ number: UInt64, isThere: Bool)
}
