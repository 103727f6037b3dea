import ObjectModel
import ObjectQuery
import ObjectStore

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
