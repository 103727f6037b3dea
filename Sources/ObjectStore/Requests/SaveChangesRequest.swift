// SaveChangesRequest: everything that one save writes to one store.
public import ObjectModel

/// Everything that one save writes to one store. The store writes all of it or nothing.
public struct SaveChangesRequest: Sendable {
  /// An update of a row.
  public struct Update: Sendable {
    /// The row as it is to be; its version is one more than ``oldVersion``.
    public let row: RowImage
    /// The slots that differ from the stored row; may be empty when only to-many relationships changed.
    public let changedSlots: SlotMask
    /// The version the row was read with; a store that finds another reports a ``MergeConflict``.
    public let oldVersion: Int64
    /// The row of that version, where it was at hand and a relationship has changed: tells which owners an object has left.
    package var formerRow: RowImage?

    /// Makes an update.
    ///
    /// - Parameters:
    ///   - row: The row as it is to be.
    ///   - changedSlots: The slots that differ.
    ///   - oldVersion: The version that the save began with.
    public init(row: RowImage, changedSlots: SlotMask, oldVersion: Int64) {
      self.row = row
      self.changedSlots = changedSlots
      self.oldVersion = oldVersion
    }
  }

  /// A row that is deleted, or only checked.
  public struct VersionedReference: Sendable {
    /// The entity and key.
    public let reference: ObjectReference
    /// The version the row was read with; 0 when it was never read, and is not checked.
    public let version: Int64
    /// The row of that version, where it was at hand: tells which owners a deleted object has left.
    package var formerRow: RowImage?

    /// Makes a reference.
    public init(reference: ObjectReference, version: Int64) {
      self.reference = reference
      self.version = version
    }
  }

  /// A change of a to-many relationship that is not written in another row's to-one slot.
  ///
  /// Members of a relationship whose inverse is to-one are changed by the other rows' updates; only its order, if it has one, appears here. Of two
  /// many-to-many relationships that are each other's inverse, membership appears for the one with the lower number only; the order of either
  /// appears for that one.
  public struct RelationshipChange: Sendable {
    /// The object whose relationship it is.
    public let source: ObjectReference
    /// The relationship's number.
    public let relationshipID: Int
    /// Members added.
    public let added: [ObjectReference]
    /// What hardly any change has, beside it: each of many changes is then one list to make and to let go.
    private let rest: Rest?

    private final class Rest: Sendable {
      let removed: [ObjectReference]
      let order: [ObjectReference]?

      init(removed: [ObjectReference], order: [ObjectReference]?) { (self.removed, self.order) = (removed, order) }
    }

    /// Members removed. Those of deleted objects need not appear: a store forgets all links of a row it deletes.
    public var removed: [ObjectReference] { rest?.removed ?? [] }
    /// All members in their new order, for an ordered relationship whose order or membership changed; nil otherwise.
    public var order: [ObjectReference]? { rest?.order }

    /// Makes a change.
    ///
    /// - Parameters:
    ///   - source: The object at the relationship's source.
    ///   - relationshipID: The relationship's number in the compiled model.
    ///   - added: The members that come.
    ///   - removed: The members that go.
    ///   - order: All members in order; nil where the relationship has none or it did not change.
    public init(
      source: ObjectReference, relationshipID: Int, added: [ObjectReference] = [], removed: [ObjectReference] = [],
      order: [ObjectReference]? = nil
    ) {
      self.source = source
      self.relationshipID = relationshipID
      self.added = added
      rest = removed.isEmpty && order == nil ? nil : Rest(removed: removed, order: order)
    }
  }

  /// What there is to write. A request is handed from floor to floor, which copies one reference so, not a dozen.
  // Changed only while one request has it.
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

  /// The contents for a change of this request, and of no other.
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
  /// Rows that are not changed but whose versions are checked.
  public var locked: [VersionedReference] {
    get { contents.locked }
    _modify { yield &own.locked }
  }
  /// Changes of join tables and orders.
  public var relationshipChanges: [RelationshipChange] {
    get { contents.relationshipChanges }
    _modify { yield &own.relationshipChanges }
  }

  /// A save of nothing.
  public init() {}

  /// Whether nothing is written.
  public var isEmpty: Bool {
    contents.inserted.isEmpty && contents.updated.isEmpty && contents.deleted.isEmpty && contents.relationshipChanges.isEmpty
      && contents.locked.isEmpty
  }
}

/// What a save has written beside what its request said: values that the store computes.
public struct SaveOutcome: Sendable {
  /// Rows as they are stored now, of saved objects and of others, that differ from what the request or anybody's older row says.
  public var refreshed: RowList
  /// Further objects with new computed values, too many to answer with their rows.
  public var outdated: [ObjectReference]
  /// The transaction of the history that it was written to; nil where the store keeps none.
  package var historyPosition: HistoryPosition?

  /// Makes an outcome; by default nothing else was written.
  public init(refreshed: RowList = RowList(), outdated: [ObjectReference] = []) {
    self.refreshed = refreshed
    self.outdated = outdated
  }

  /// Whether nothing was written but what the request says.
  public var isEmpty: Bool { refreshed.isEmpty && outdated.isEmpty }
}
