import Foundation
public import ObjectModel

/// The changes of one save in one store. The store writes all of them or none.
public struct SaveChangesRequest: Sendable {
  /// An update of a row.
  public struct Update: Sendable {
    /// The new row. Its version is ``oldVersion`` plus one.
    public let row: RowImage
    /// The slots that differ from the stored row. May be empty if only to-many relationships changed.
    public let changedSlots: SlotMask
    /// The version that the row was read with. A store that contains another version reports a ``MergeConflict``.
    public let oldVersion: Int64
    /// The row of ``oldVersion``, if it was in memory and a relationship has changed. It identifies the previous owners of the object.
    package var previousRow: RowImage?

    /// Creates an update.
    ///
    /// - Parameters:
    ///   - row: The new row.
    ///   - changedSlots: The slots that differ from the stored row.
    ///   - oldVersion: The version that the row was read with.
    public init(row: RowImage, changedSlots: SlotMask, oldVersion: Int64) {
      self.row = row
      self.changedSlots = changedSlots
      self.oldVersion = oldVersion
    }
  }

  /// A row to delete, or to check without changing it.
  public struct VersionedReference: Sendable {
    /// The entity and key.
    public let reference: ObjectReference
    /// The version that the row was read with, or 0 if it was never read and is not checked.
    public let version: Int64
    /// The row of that version, if it was in memory. It identifies the previous owners of a deleted object.
    package var previousRow: RowImage?

    /// Creates a reference.
    public init(reference: ObjectReference, version: Int64) {
      self.reference = reference
      self.version = version
    }
  }

  /// A change of a to-many relationship that is not stored in another row's to-one slot.
  ///
  /// If the inverse is to-one, membership changes through updates of the members' rows; only the order of an ordered relationship appears
  /// here. For a many-to-many relationship and its inverse, membership changes appear only for the relationship with the lower number. The
  /// order of a relationship always appears for that relationship itself.
  public struct RelationshipChange: Sendable {
    /// The object at the source of the relationship.
    public let source: ObjectReference
    /// The number of the relationship in the compiled model.
    public let relationshipID: Int
    /// The members to add.
    public let added: [ObjectReference]
    /// The rarely used properties, out of line: a change without them needs only one array.
    private let rest: Rest?

    private final class Rest: Sendable {
      let removed: [ObjectReference]
      let order: [ObjectReference]?
      let previousOrder: [ObjectReference]?

      init(removed: [ObjectReference], order: [ObjectReference]?, previousOrder: [ObjectReference]?) {
        (self.removed, self.order, self.previousOrder) = (removed, order, previousOrder)
      }
    }

    /// The members to remove. Members that are deleted can be omitted, because a store removes all links of a deleted row.
    public var removed: [ObjectReference] { rest?.removed ?? [] }
    /// All members in their new order, for an ordered relationship whose order or membership changed; otherwise nil. Stores write
    /// ``order(over:)``.
    public var order: [ObjectReference]? { rest?.order }
    /// The members that the context had read, in order; nil if the new order does not depend on them.
    package var previousOrder: [ObjectReference]? { rest?.previousOrder }

    /// Creates a change.
    ///
    /// - Parameters:
    ///   - source: The object at the source of the relationship.
    ///   - relationshipID: The number of the relationship in the compiled model.
    ///   - added: The members to add.
    ///   - removed: The members to remove.
    ///   - order: All members in order, or nil if the relationship is unordered or unchanged.
    public init(
      source: ObjectReference, relationshipID: Int, added: [ObjectReference] = [], removed: [ObjectReference] = [],
      order: [ObjectReference]? = nil
    ) {
      self.init(source: source, relationshipID: relationshipID, added: added, removed: removed, order: order, previousOrder: nil)
    }

    package init(
      source: ObjectReference, relationshipID: Int, added: [ObjectReference], removed: [ObjectReference], order: [ObjectReference]?,
      previousOrder: [ObjectReference]?
    ) {
      self.source = source
      self.relationshipID = relationshipID
      self.added = added
      rest = removed.isEmpty && order == nil ? nil : Rest(removed: removed, order: order, previousOrder: previousOrder)
    }

    /// Returns the change with each of its lists of members transformed.
    package func mapMembers(_ transform: ([ObjectReference]) -> [ObjectReference]) -> Self {
      Self(
        source: source, relationshipID: relationshipID, added: transform(added), removed: transform(removed), order: order.map(transform),
        previousOrder: previousOrder.map(transform))
    }
  }

  /// A copy-on-write box: passing a request between layers costs one retain.
  // Mutated only while one request holds the only reference.
  private final class Contents: @unchecked Sendable {
    var inserted = RowList()
    var updated: [Update] = []
    var deleted: [VersionedReference] = []
    var locked: [VersionedReference] = []
    var relationshipChanges: [RelationshipChange] = []

    init() {}

    init(_ other: Contents) {
      inserted = other.inserted
      updated = other.updated
      deleted = other.deleted
      locked = other.locked
      relationshipChanges = other.relationshipChanges
    }
  }
  private var contents = Contents()

  /// The contents for a mutation, copied first if they are shared.
  private var own: Contents {
    mutating get {
      if !isKnownUniquelyReferenced(&contents) { contents = Contents(contents) }
      return contents
    }
  }

  /// New rows, with permanent keys and their first version.
  public var inserted: RowList {
    get { contents.inserted }
    _modify { yield &own.inserted }
  }
  /// Changed rows.
  public var updated: [Update] {
    get { contents.updated }
    _modify { yield &own.updated }
  }
  /// Deleted rows.
  public var deleted: [VersionedReference] {
    get { contents.deleted }
    _modify { yield &own.deleted }
  }
  /// Rows whose versions are checked, but which are not changed.
  public var locked: [VersionedReference] {
    get { contents.locked }
    _modify { yield &own.locked }
  }
  /// Changes of join tables and of the order of relationships.
  public var relationshipChanges: [RelationshipChange] {
    get { contents.relationshipChanges }
    _modify { yield &own.relationshipChanges }
  }

  /// Creates an empty request.
  public init() {}

  /// Whether the request has no changes and no versions to check.
  public var isEmpty: Bool {
    contents.inserted.isEmpty && contents.updated.isEmpty && contents.deleted.isEmpty && contents.relationshipChanges.isEmpty
      && contents.locked.isEmpty
  }
}

/// The values that a store computed and wrote during a save, in addition to the request.
public struct SaveOutcome: Sendable {
  /// The stored rows of objects, saved or not, that differ from the request or from rows read earlier.
  public var refreshed: RowList
  /// Further objects with new computed values, if there are too many to return their rows.
  public var outdated: [ObjectReference]
  /// The history transaction of the save, or nil if the store keeps no history.
  package var historyPosition: HistoryPosition?

  /// Creates an outcome. By default it contains no additional changes.
  public init(refreshed: RowList = RowList(), outdated: [ObjectReference] = []) {
    self.refreshed = refreshed
    self.outdated = outdated
  }

  /// Whether nothing was written in addition to the request.
  public var isEmpty: Bool { refreshed.isEmpty && outdated.isEmpty }
}

// MARK: - Large values

extension RowList {
  /// Whether any row may have external values.
  package var mayHaveExternals: Bool { chunks.contains { !$0.externals.isEmpty } }
}

extension SaveChangesRequest {
  /// Whether any row may have external values.
  package var mayHaveExternals: Bool {
    inserted.mayHaveExternals || updated.contains { $0.row.chunk.externals.isEmpty == false }
  }

  /// Returns the save with all bytes inside the rows. The content of the original external values is replaced by bytes in memory.
  package func withBytesInRows(_ model: CompiledModel) throws -> SaveChangesRequest {
    guard mayHaveExternals else { return self }
    let writer = RowWriter(rowCapacity: inserted.count + updated.count)
    for row in inserted { try writer.copyWithBytes(row, model) }
    for update in updated { try writer.copyWithBytes(update.row, model) }
    let rows = writer.finish()
    var result = self
    result.inserted = RowList((0..<inserted.count).map { rows[$0] })
    result.updated = updated.enumerated().map { index, update in
      var changed = Update(row: rows[inserted.count + index], changedSlots: update.changedSlots, oldVersion: update.oldVersion)
      changed.previousRow = update.previousRow
      return changed
    }
    return result
  }
}

extension RowWriter {
  fileprivate func copyWithBytes(_ row: RowImage, _ model: CompiledModel) throws {
    beginRow(entityNumber: row.entityNumber, slotCount: row.slotCount, key: row.key, version: row.version)
    for (slot, kind) in model.entities[row.entityNumber].kinds.enumerated() where !row.isNull(slot) {
      guard kind == .bytes, let external = row.external(slot) else {
        copy(slot, kind: kind, from: row)
        continue
      }
      let data = try external.data()
      external.replaceContent(ExternalBytes(data))
      data.withUnsafeBytes { setBytes($0, at: slot) }
    }
    endRow()
  }
}
