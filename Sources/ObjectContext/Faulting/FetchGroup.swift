// FetchGroup: objects that came together and therefore fault together.
import ObjectModel
import ObjectStore

/// Objects that were read together, or are the destinations of such: when one fires, its unfired siblings that follow are read with it.
final class FetchGroup {
  enum Origin {
    /// The rows of a fetch.
    case rows(RowList)
    /// Objects of which only IDs or membership are known.
    case references([ObjectReference])
    /// The destinations of a to-one slot of another group's objects.
    case destinations(of: FetchGroup, slot: Int)
  }
  let number: UInt32
  let space: UInt32
  let origin: Origin
  /// The bytes it holds.
  let byteCount: Int
  /// The numbers of the groups made of this one's to-one slots.
  var destinationGroups: [Int: UInt32] = [:]

  init(number: UInt32, space: UInt32, origin: Origin) {
    self.number = number
    self.space = space
    self.origin = origin
    byteCount =
      switch origin {
      case .rows(let rows): rows.byteCount
      case .references(let references): references.count * 8
      case .destinations: 0
      }
  }

  var count: Int {
    switch origin {
    case .rows(let rows): rows.count
    case .references(let references): references.count
    case .destinations(let group, _): group.count
    }
  }

  /// The object at a position; null when the to-one it comes from is empty or not at hand.
  func reference(at position: Int, cache: RowCache) -> ObjectReference {
    switch origin {
    case .rows(let rows): return rows[position].reference
    case .references(let references): return references[position]
    case .destinations(let group, let slot):
      guard let row = group.row(at: position, cache: cache), slot < row.slotCount else { return ObjectReference(rawValue: 0) }
      return row.reference(slot)
    }
  }

  /// The row at a position, if it is at hand.
  private func row(at position: Int, cache: RowCache) -> RowImage? {
    if case .rows(let rows) = origin { return rows[position] }
    let reference = reference(at: position, cache: cache)
    return reference.key > 0 ? cache.row(reference) : nil
  }
}
