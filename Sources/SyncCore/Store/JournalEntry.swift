/// Values that have lost against changes on another device, and are kept so that they can be restored.
///
/// Only what was changed on two devices at once loses. One device keeps it: the one that has a pending change of what another device has
/// changed, or whose commit deletes or replaces what a rule says. Attributes with rules (``MergeRule``) have no losing values: that is what the
/// rule says. Only a function of the application can fail (``Reason/failedMerge``).
package struct JournalEntry: Hashable, Sendable {
  package enum Reason: UInt8, Hashable, Sendable, CaseIterable {
    /// Another device has changed the same properties, and its change is later.
    case laterChange = 1
    /// The object was deleted on one device and changed on another one.
    case deletion = 2
    /// The object requires an object that was deleted on another device.
    case destinationDeleted = 3
    /// Another object refers to the only destination since.
    case destinationTaken = 4
    /// Another object had the same unique values, and both have become one object, to which the entry belongs.
    case duplicate = 5
    /// The function of the application that merges the attribute has failed, and another value was saved later.
    case failedMerge = 6
    /// The object was moved to a descendant of its own, since another device had moved that into it.
    case cycle = 7
  }

  package let id: RecordID
  package let reason: Reason
  /// The values that have lost, each with the stamp of the save that wrote it.
  package let losing: Record
  /// What has won: the values of the same properties, or the deletion. Nil if it is not known.
  package let winning: Record?
  /// The last state of an object that was deleted.
  package let object: Record?

  package init(_ id: RecordID, _ reason: Reason, losing: Record, winning: Record? = nil, object: Record? = nil) {
    (self.id, self.reason, self.losing, self.winning, self.object) = (id, reason, losing, winning, object)
  }
}
