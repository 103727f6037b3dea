/// The rules by which a ``ThreeWayMerge`` decides where both sides have changed the same.
///
/// Rules belong to the objects of one entity. A context derives them from its merge policy, in one place. A merge without a context has rules
/// of its own.
package struct MergeRules: Sendable, Hashable {
  /// One of the two sides of a merge.
  package enum Side: Sendable { case mine, theirs }

  /// The side that wins a conflict.
  package enum Winner: Sendable {
    case mine, theirs
    /// The conflict stays unresolved, and the caller reports it. Until then their side counts.
    case neither
  }

  /// What a conflict comprises.
  package enum Unit: Sendable {
    /// Only the properties that both sides have changed to different values. Other changes of both sides are kept.
    case property
    /// The whole row: of a row in conflict, all values are those of the winner.
    case row
  }

  /// What becomes of a row that one side has deleted and the other has changed.
  package enum Deletion: Sendable {
    case mine, theirs
    /// The row is deleted, whichever side has deleted it.
    case deletes
    /// The row is kept, whichever side has changed it.
    case keeps
    case neither
  }

  /// The winner for properties that both sides have changed to different values.
  package var winner: Winner
  /// What a conflict of values comprises.
  package var unit: Unit
  /// The rule for rows that one side has deleted and the other has changed.
  package var deletion: Deletion

  /// Creates rules by which the same side wins all conflicts of values and deletions.
  package init(_ winner: Winner, unit: Unit = .property) {
    self.winner = winner
    self.unit = unit
    deletion =
      switch winner {
      case .mine: .mine
      case .theirs: .theirs
      case .neither: .neither
      }
  }

  /// Returns whether a row is kept that one side has deleted and the other has changed; nil if the rules do not decide.
  package func keepsRow(deletedBy side: Side) -> Bool? {
    switch deletion {
    case .mine: side == .theirs
    case .theirs: side == .mine
    case .deletes: false
    case .keeps: true
    case .neither: nil
    }
  }
}
