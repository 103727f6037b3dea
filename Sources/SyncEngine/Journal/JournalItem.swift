package import Foundation
package import ObjectModel
package import ObjectStore
package import SyncCore

/// Values of an object that have lost against changes on another device, with what has won: an entry of the journal in terms of the model.
package struct JournalItem: Sendable, Hashable {
  /// Who has written values, and when by the clock of the device.
  package struct Author: Sendable, Hashable {
    /// The name of the device; nil if its certificate was never needed.
    package let deviceName: String?
    /// Nil for values from before the synchronization.
    package let date: Date?
  }

  /// The number of the entry. Later entries have greater numbers.
  package let number: Int64
  /// When the device noticed the conflict, by its clock.
  package let date: Date
  package let reason: JournalEntry.Reason
  package let entityName: String
  /// The object that the record has or had here; nil if it never had one.
  package let objectID: ManagedObjectID?
  /// The stable ID of the object.
  package let stableID: UUID
  /// The names of the properties that have lost a value, sorted.
  package let propertyNames: [String]
  /// The values that have lost, without those that were nil and large values.
  package let values: RecordedValues
  /// The names of the properties that have lost a large value. These are not kept.
  package let largePropertyNames: Set<String>
  package let author: Author
  /// The values of these properties that have won; empty if the object was deleted, or if it is not known.
  package let winningValues: RecordedValues
  /// Who has won; nil if it is not known.
  package let winner: Author?
  /// All values that a deleted object had, to insert it again; nil for other objects.
  package let object: RecordedValues?
  /// The stable ID of the object that has got the values again; nil if they were not restored.
  package let restoredID: UUID?
}
