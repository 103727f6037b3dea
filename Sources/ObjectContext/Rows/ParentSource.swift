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

// MARK: - Reading through the parent

extension RowSource {
  /// The parent, if it has unsaved changes.
  @inline(__always) private var changedParent: (any ParentSource)? {
    guard let parent, parent.hasChanges else { return nil }
    return parent
  }

  /// Whether stored rows may be older than those of the parent.
  var readsUnsavedRows: Bool { changedParent != nil }

  /// Returns the parent's unsaved state of an object; nil if the stored row is current.
  @inline(__always) func unsavedRow(_ reference: ObjectReference, in store: PersistentStore) -> UnsavedRow? {
    changedParent?.unsavedRow(reference, in: store)
  }

  /// Returns the rows of objects, including unsaved changes of the parent.
  ///
  /// - Parameter read: Reads the unchanged rows.
  func withUnsavedRows(
    of objectIDs: [ManagedObjectID], in store: PersistentStore, _ read: ([ManagedObjectID]) throws -> RowList
  ) throws -> RowList {
    guard let parent = changedParent else { return try read(objectIDs) }
    var unsaved: [RowImage] = []
    var rest: [ManagedObjectID] = []
    for id in objectIDs {
      switch parent.unsavedRow(id.reference, in: store) {
      case .row(let row): unsaved.append(row)
      case .deleted: continue
      case nil: rest.append(id)
      }
    }
    if unsaved.isEmpty { return rest.isEmpty ? RowList() : try read(rest) }
    return RowList(unsaved + (rest.isEmpty ? [] : Array(try read(rest))))
  }

  /// Returns the members of a to-many relationship of several objects, including unsaved changes of the parent.
  ///
  /// - Parameter read: Reads the unchanged members.
  func withUnsavedMembers(
    of relationship: CompiledRelationship, for objectIDs: [ManagedObjectID], in store: PersistentStore,
    _ read: ([ManagedObjectID]) throws -> RelationshipValues
  ) throws -> RelationshipValues {
    guard let parent = changedParent else { return try read(objectIDs) }
    let unsaved = try objectIDs.map { try parent.unsavedMembers(of: relationship, for: $0.reference, in: store) }
    let rest = zip(objectIDs, unsaved).filter { $1 == nil }.map(\.0)
    let stored = rest.isEmpty ? RelationshipValues() : try read(rest)
    var values = RelationshipValues()
    var next = 0
    for members in unsaved {
      if let members {
        values.append(members)
      } else {
        values.append(stored[next].filter { !parent.isRemoved($0, in: store) })
        next += 1
      }
    }
    return values
  }

  /// Returns the result of a fetch with the unsaved changes of the parent; nil if they do not affect it.
  func unsavedResult(to specification: FetchSpecification, from store: PersistentStore) throws -> PersistentStoreResult? {
    guard let parent = changedParent, specification.resultType != .dictionaries else { return nil }
    guard let answer = try parent.unsavedResult(to: specification, from: store) else { return nil }
    guard case .objectIDs(let ids) = answer, specification.resultType == .objects, specification.shouldRefreshRefetchedObjects else {
      return answer
    }
    // Refreshes registered objects, so it needs their rows.
    let found = Dictionary(try rows(of: ids, in: store).map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
    return .rows(RowList(ids.compactMap { found[$0.reference] }))
  }
}
