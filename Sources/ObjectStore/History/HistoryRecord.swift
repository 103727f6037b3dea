// HistoryRecord: one thing that a transaction has done, as the history of a store keeps it.
package import Foundation

/// One thing that a transaction has done.
///
/// Entities and properties are ids that the store has given out: they stay through renames and are never given out again, so that a record
/// can be read under any later model.
package enum HistoryRecord: Hashable, Sendable {
  /// New rows of an entity whose keys follow each other.
  case inserted(entity: Int, first: Int64, count: Int64)
  /// A new row with its values, but for those that are null.
  case insertedWithValues(HistoryObject, [HistoryAssignment])
  /// Properties of a row were changed.
  case updated(HistoryObject, properties: [Int])
  /// The same with what they were and what they are.
  case updatedWithValues(HistoryObject, [HistoryChange])
  /// A row is gone.
  ///
  /// - Parameters:
  ///   - tombstone: The values of the attributes whose values are kept.
  ///   - others: All other values but null; nil where they are not kept.
  case deleted(HistoryObject, tombstone: [HistoryAssignment], others: [HistoryAssignment]?)
  /// Nothing of a row was changed but what the store computes.
  case derived(HistoryObject, properties: [Int])
  /// Members of a to-many relationship with a table of its own came or left. Those of a deleted row are not told.
  case linked(relationship: Int, isRemoval: Bool, HistoryObject, members: [HistoryObject])
  /// The members of a relationship of an object were given an order.
  ///
  /// - Parameter members: All members in their order; nil where they are not kept.
  case ordered(relationship: Int, HistoryObject, members: [HistoryObject]?)
  /// Anything may have been changed: nothing is listed.
  ///
  /// - Parameters:
  ///   - from: The checksum of the model that a migration began with; empty for anything else.
  ///   - to: That of the model that it ended with.
  case whole(from: String, to: String)
}

/// A row, by the id of its entity.
package struct HistoryObject: Hashable, Sendable {
  package var entity: Int
  package var key: Int64

  package init(entity: Int, key: Int64) { (self.entity, self.key) = (entity, key) }
}

/// The value of a property.
package struct HistoryAssignment: Hashable, Sendable {
  package var property: Int
  package var value: HistoryValue

  package init(property: Int, value: HistoryValue) { (self.property, self.value) = (property, value) }
}

/// What a property was, and what it is.
package struct HistoryChange: Hashable, Sendable {
  package var property: Int
  package var old: HistoryValue
  package var new: HistoryValue

  package init(property: Int, old: HistoryValue, new: HistoryValue) { (self.property, self.old, self.new) = (property, old, new) }
}

/// A value as it was then.
package enum HistoryValue: Hashable, Sendable {
  case null
  case int(Int64)
  /// By its bits: what is no number equals itself.
  case real(bits: UInt64)
  case text(String)
  case bytes(Data)
  case reference(HistoryObject)
  /// A value outside the rows: its number, 0 where it has none, how many bytes it has, and their SHA-256; never the bytes.
  case large(id: Int64, size: Int64, digest: Data)

  /// The number of bytes of a digest.
  static let digestSize = 32
}
