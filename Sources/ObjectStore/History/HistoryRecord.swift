package import Foundation

/// A change within a transaction.
///
/// Entities and properties are identified by IDs that the store has assigned. IDs survive renaming and are never reused, so a record can be
/// read with any later model.
package enum HistoryRecord: Hashable, Sendable {
  /// Inserted rows of an entity with consecutive keys.
  case inserted(entity: Int, first: Int64, count: Int64)
  /// An inserted row with its values that are not null.
  case insertedWithValues(HistoryObject, [HistoryAssignment])
  /// Updated properties of a row.
  case updated(HistoryObject, properties: [Int])
  /// Updated properties of a row with the old and new values.
  case updatedWithValues(HistoryObject, [HistoryChange])
  /// A deleted row.
  ///
  /// - Parameters:
  ///   - tombstone: The values of the attributes that are preserved on deletion.
  ///   - others: All other values that are not null, or nil if they are not recorded.
  case deleted(HistoryObject, tombstone: [HistoryAssignment], others: [HistoryAssignment]?)
  /// A row of which only values computed by the store were changed.
  case derived(HistoryObject, properties: [Int])
  /// Members added to or removed from a to-many relationship with a join table. Members removed by the deletion of a row are not listed.
  case linked(relationship: Int, isRemoval: Bool, HistoryObject, members: [HistoryObject])
  /// A new order of the members of an object's relationship.
  ///
  /// - Parameter members: All members in order, or nil if they are not recorded.
  case ordered(relationship: Int, HistoryObject, members: [HistoryObject]?)
  /// A transaction that may have changed any object, without a list of changes.
  ///
  /// - Parameters:
  ///   - from: The checksum of the model before a migration. Empty for other transactions.
  ///   - to: The checksum of the model after it.
  case whole(from: String, to: String)
}

/// A row, identified by the ID of its entity and its key.
package struct HistoryObject: Hashable, Sendable {
  package var entity: Int
  package var key: Int64

  package init(entity: Int, key: Int64) { (self.entity, self.key) = (entity, key) }
}

/// A property and its value.
package struct HistoryAssignment: Hashable, Sendable {
  package var property: Int
  package var value: HistoryValue

  package init(property: Int, value: HistoryValue) { (self.property, self.value) = (property, value) }
}

/// A property with its old and new values.
package struct HistoryChange: Hashable, Sendable {
  package var property: Int
  package var old: HistoryValue
  package var new: HistoryValue

  package init(property: Int, old: HistoryValue, new: HistoryValue) { (self.property, self.old, self.new) = (property, old, new) }
}

/// A recorded value.
package enum HistoryValue: Hashable, Sendable {
  case null
  case int(Int64)
  /// A floating-point number as its bits, so that NaN is equal to itself.
  case real(bits: UInt64)
  case text(String)
  case bytes(Data)
  case reference(HistoryObject)
  /// An external value: its ID, or 0 if it has none, its size in bytes, and the SHA-256 digest of its bytes. The bytes are not recorded.
  case large(id: Int64, size: Int64, digest: Data)

  /// The size of a digest in bytes.
  static let digestSize = 32
}
