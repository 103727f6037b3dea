/// Counts of the rows or members that objects requested from the store after their fetch.
package struct FaultReads: Sendable, Equatable {
  /// What was read: rows of an entity, or members of a relationship.
  package enum Subject: Sendable, Hashable {
    case rows(entity: String)
    case members(entity: String, relationship: String)
  }

  package let subject: Subject
  package internal(set) var requests = 0
  package internal(set) var objects = 0
  /// The number of requests for a single object.
  package internal(set) var singleReads = 0
}
