// LaterReads: what objects have asked a store for one by one, after they were fetched.

/// Rows or members that objects have asked for after they were fetched.
package struct LaterReads: Sendable, Equatable {
  /// What was read: an entity's rows, or a relationship's members.
  package enum Subject: Sendable, Hashable {
    case rows(entity: String)
    case members(entity: String, relationship: String)
  }

  package let subject: Subject
  /// How often the store was asked.
  package internal(set) var requests = 0
  /// For how many objects.
  package internal(set) var objects = 0
  /// How often for one object alone.
  package internal(set) var alone = 0
}
