import ObjectModel
import ObjectQuery
import ObjectStore

/// The unsaved state of an object in a context.
enum UnsavedRow {
  /// A row with the object's current values. Its version matches no stored row.
  case row(RowImage)
  /// The object is marked for deletion.
  case deleted

  /// The version of rows with unsaved values, or with values that other contexts have saved since. No stored row has this version.
  static let version: Int64 = 0

  /// The row; nil if the object is deleted.
  var row: RowImage? { if case .row(let row) = self { row } else { nil } }
}

/// The parent of a nested context: the source of its reads and the destination of its saves. Lives in the isolation of both.
///
/// Objects that the parent has not changed are read as the parent reads them: from the row caches and stores, or from the pinned states.
protocol ParentSource: AnyObject {
  var source: RowSource { get }
  /// Whether the parent or one of its ancestors has unsaved changes.
  var hasChanges: Bool { get }

  /// Returns the unsaved state of an object; nil if the stored row is current.
  func unsavedRow(_ reference: ObjectReference, in store: PersistentStore) -> UnsavedRow?

  /// Returns the members of a to-many relationship with unsaved changes; nil if the stored members are current.
  func unsavedMembers(
    of relationship: CompiledRelationship, for reference: ObjectReference, in store: PersistentStore
  ) throws -> [ObjectReference]?

  /// Returns whether an object is marked for deletion.
  func isRemoved(_ reference: ObjectReference, in store: PersistentStore) -> Bool

  /// Returns the IDs or the count that a fetch from one store yields with the unsaved changes; nil if no unsaved change affects the result.
  func unsavedResult(to specification: FetchSpecification, from store: PersistentStore) throws -> PersistentStoreResult?

  /// Returns the permanent ID of a new object of the parent; nil if the parent has no such object.
  func permanentID(of objectID: ManagedObjectID) throws -> ManagedObjectID?

  /// Applies the save of a nested context to the parent, atomically.
  func save(_ request: SaveChangesRequest, to store: PersistentStore, scope: RequestScope) throws -> SaveOutcome

  /// Merges the pending changes of other contexts into the parent.
  func mergeWaitingChanges()

  /// Schedules the pending work of the parent and its nested contexts; callable from any thread. Nil if the isolation of the parent is
  /// unknown.
  var scheduleMerge: (@Sendable () -> Void)? { get }

  /// Registers or unregisters a nested context.
  func registerNested(_ number: UInt64, isOpen: Bool)
}
