package import ObjectModel

/// A new order of the members of a relationship, as runs of members that were moved relative to their neighbors.
///
/// Members that no run contains keep their relative order. Members that left the relationship are not mentioned. The size of a change depends
/// on the number of moved members, not on the number of all members.
package struct OrderChange: Sendable, Hashable {
  /// Members that are now next to each other, in this order.
  package struct Run: Sendable, Hashable {
    /// The member directly before the run, or nil if the run is at the beginning.
    package var after: ObjectReference?
    package var members: [ObjectReference]

    package init(after: ObjectReference?, members: [ObjectReference]) { (self.after, self.members) = (after, members) }
  }

  /// The runs. They can be applied one after the other, so the runs of two consecutive changes can be joined.
  package var runs: [Run]

  package var isEmpty: Bool { runs.isEmpty }

  package init(runs: [Run]) { self.runs = runs }

  /// Creates the shortest change from an older order to a newer one.
  ///
  /// - Parameters:
  ///   - old: The members in their older order. Members that `new` does not contain have left the relationship.
  ///   - new: All members in their new order, each of them once.
  /// - Complexity: O(*n* log *n*), where *n* is the number of members.
  package init(from old: [ObjectReference], to new: [ObjectReference]) {
    let unchanged = zip(old, new).prefix { $0 == $1 }.count
    if unchanged == new.count {
      self.init(runs: [])
      return
    }
    var positions: [ObjectReference: Int64] = [:]
    positions.reserveCapacity(old.count)
    for (index, member) in old.enumerated() { positions[member] = Int64(index) }
    self.init(to: new, kept: Self.longestAscending(new.map { positions[$0] }))
  }

  /// Creates a change to an order in which some members are known to keep their relative order.
  ///
  /// - Parameters:
  ///   - new: All members in their new order, each of them once.
  ///   - kept: The positions in `new` of the members that were not moved, ascending.
  package init(to new: [ObjectReference], kept: [Int]) {
    runs = []
    var start = 0
    for index in kept + [new.count] {
      if start < index { runs.append(Run(after: start > 0 ? new[start - 1] : nil, members: Array(new[start..<index]))) }
      start = index + 1
    }
  }

  /// Returns the new order of members.
  ///
  /// The runs are applied one after the other. A run after a member that is not in the list is added at the end.
  ///
  /// - Parameters:
  ///   - old: The members in their older order.
  ///   - removed: The members that have left the relationship.
  /// - Complexity: O(*n*), where *n* is the number of members in the list and in the runs.
  package func applied(to old: [ObjectReference], without removed: Set<ObjectReference> = []) -> [ObjectReference] {
    if runs.isEmpty { return removed.isEmpty ? old : old.filter { !removed.contains($0) } }
    var list = LinkedMembers(old)
    for run in runs { list.move(run) }
    return list.members.filter { !removed.contains($0) }
  }

  /// Returns the positions of a longest strictly ascending subsequence. Nil is never part of it.
  ///
  /// - Complexity: O(*n* log *n*), where *n* is the number of keys.
  package static func longestAscending(_ keys: [Int64?]) -> [Int] {
    // The positions of the least last keys of the subsequences of each length.
    var tails: [Int] = []
    var previous = [Int](repeating: -1, count: keys.count)
    for (index, key) in keys.enumerated() {
      guard let key else { continue }
      var (low, high) = (0, tails.count)
      while low < high {
        let middle = (low + high) / 2
        if keys[tails[middle]] ?? .max < key { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[index] = tails[low - 1] }
      if low == tails.count { tails.append(index) } else { tails[low] = index }
    }
    var result: [Int] = []
    var index = tails.last ?? -1
    while index >= 0 {
      result.append(index)
      index = previous[index]
    }
    return result.reversed()
  }
}

/// A doubly linked list, in which members are moved in constant time.
private struct LinkedMembers {
  private var elements: [ObjectReference]
  /// The next and previous positions in the order. Position 0 is the end, before the first and after the last member.
  private var next: [Int]
  private var previous: [Int]
  private var positions: [ObjectReference: Int] = [:]

  init(_ members: [ObjectReference]) {
    elements = [ObjectReference(rawValue: 0)] + members
    next = elements.indices.map { $0 + 1 }
    next[members.count] = 0
    previous = elements.indices.map { $0 - 1 }
    previous[0] = members.count
    positions.reserveCapacity(members.count)
    for (index, member) in members.enumerated() { positions[member] = index + 1 }
  }

  var members: [ObjectReference] {
    var found: [ObjectReference] = []
    found.reserveCapacity(elements.count)
    var position = next[0]
    while position != 0 {
      found.append(elements[position])
      position = next[position]
    }
    return found
  }

  mutating func move(_ run: OrderChange.Run) {
    for member in run.members {
      if let position = positions[member] { unlink(position) }
    }
    var anchor = 0
    if let after = run.after {
      anchor = previous[0]
      if let position = positions[after], next[position] >= 0 { anchor = position }
    }
    for member in run.members {
      let position: Int
      if let known = positions[member] {
        if known == anchor { continue }
        unlink(known)
        position = known
      } else {
        position = elements.count
        elements.append(member)
        next.append(-1)
        previous.append(-1)
        positions[member] = position
      }
      (previous[position], next[position]) = (anchor, next[anchor])
      previous[next[anchor]] = position
      next[anchor] = position
      anchor = position
    }
  }

  /// Removes a member from the list, unless it was already removed. Its next position is -1 then.
  private mutating func unlink(_ position: Int) {
    if next[position] < 0 { return }
    next[previous[position]] = next[position]
    previous[next[position]] = previous[position]
    next[position] = -1
  }
}
