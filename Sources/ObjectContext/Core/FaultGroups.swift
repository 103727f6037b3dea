// FaultGroups: the groups of objects that fault together, as many as a context remembers.
package import ObjectModel

/// The groups of objects that came together, by number. A number stands in each object of a group; the objects of forgotten groups fault one by one.
package struct FaultGroups: ~Copyable {
  /// The rows read together, at most: one statement's list.
  package static var faultBatch: Int { 500 }
  /// The groups that are remembered.
  package static var limit: UInt32 { 64 }
  /// The bytes that remembered groups may hold beside the newest.
  private static var byteLimit: Int { 16 << 20 }

  /// The groups, by their numbers modulo the limit.
  private var groups: [FetchGroup?] = []
  private var last: UInt32 = 0
  private var byteCount = 0
  /// The last groups of members, by the relationships' numbers, and with how many rows they began.
  private var memberGroups: [Int: (number: UInt32, startSize: Int)] = [:]
  /// The objects on the way of the paths that the last prefetching fetch followed.
  private var prefetched: [ManagedObject] = []

  package init() {}

  /// The group of a number; nil when there is none any more. It counts as used.
  package func group(_ number: UInt32) -> FetchGroup? {
    let index = Int(number % Self.limit)
    guard number != 0, index < groups.count, let group = groups[index], group.number == number else { return nil }
    group.wasUsed = true
    return group
  }

  /// Remembers objects that somebody has fetched together, and so will ask for most of: many rows are read at first.
  ///
  /// - Parameters:
  ///   - references: The objects, in their order.
  ///   - space: The space of their store.
  ///   - batch: How many rows are read together, at most as many as a statement takes; when it is 0, as many as that while they are of use.
  /// - Returns: The group's number.
  package mutating func add(_ references: [ObjectReference], space: UInt32, batch: Int = 0) -> UInt32 {
    let size = batch > 0 ? min(batch, Self.faultBatch) : Self.faultBatch
    return remember {
      FetchGroup(number: $0, space: space, references: ReferenceRun(references), batch: size, isBatchFixed: batch > 0, isFetched: true)
    }
  }

  /// Remembers the members of objects that were read together. How many rows are read at first is what the relationship's last such group has shown.
  ///
  /// - Parameters:
  ///   - references: The members, owner by owner.
  ///   - relationship: The relationship's number.
  ///   - space: The space of their store.
  /// - Returns: The group's number.
  package mutating func add(_ references: [ObjectReference], membersOf relationship: Int, space: UInt32) -> UInt32 {
    var startSize = ReadAhead.firstSize
    if let former = memberGroups[relationship] {
      // Looked at, not used.
      let group = groups[Int(former.number % Self.limit)]
      startSize = (group?.number == former.number ? group?.startSizeOfNext : nil) ?? former.startSize
    }
    let number = remember {
      FetchGroup(
        number: $0, space: space, references: ReferenceRun(references), batch: Self.faultBatch, isBatchFixed: false, isFetched: false,
        startSize: startSize)
    }
    memberGroups[relationship] = (number, startSize)
    return number
  }

  /// A number for objects that are being made, before all are known; until ``enter(_:space:as:)`` there is no group of it.
  mutating func reserve() -> UInt32 {
    for _ in 0...Self.limit {
      last &+= 1
      if last == 0 { last = Self.limit }
      let index = Int(last % Self.limit)
      guard index < groups.count, let old = groups[index], old.wasUsed else { break }
      old.wasUsed = false
    }
    return last
  }

  /// Remembers objects that somebody has fetched under the number that they have got.
  mutating func enter(_ references: ReferenceRun, space: UInt32, as number: UInt32) {
    enter(
      FetchGroup(
        number: number, space: space, references: references, batch: Self.faultBatch, isBatchFixed: false, isFetched: true))
  }

  /// The number of the group of the destinations of a to-one slot of a group's objects.
  package mutating func destinations(of group: FetchGroup, slot: Int) -> UInt32 {
    if let number = group.destinations(slot: slot), self.group(number) != nil { return number }
    let number = remember { FetchGroup(number: $0, destinationsOf: group, slot: slot) }
    group.setDestinations(number, slot: slot)
    return number
  }

  /// Puts a group in the place of one that was not used for a while.
  private mutating func remember(_ make: (UInt32) -> FetchGroup) -> UInt32 {
    let number = reserve()
    enter(make(number))
    return number
  }

  private mutating func enter(_ group: FetchGroup) {
    let index = Int(group.number % Self.limit)
    while groups.count <= index { groups.append(nil) }
    byteCount += group.byteCount - (groups[index]?.byteCount ?? 0)
    groups[index] = group
    if byteCount > Self.byteLimit { dropUnused(but: index) }
  }

  private mutating func dropUnused(but newest: Int) {
    for index in groups.indices where index != newest && byteCount > Self.byteLimit {
      guard let group = groups[index], group.byteCount > 0 else { continue }
      if group.wasUsed {
        group.wasUsed = false
      } else {
        byteCount -= group.byteCount
        groups[index] = nil
      }
    }
  }

  /// Holds the objects on the way of the paths that a fetch has followed: they know the members that were read for them.
  ///
  /// - Returns: Those of the fetch before, which die with the result unless somebody else holds them.
  mutating func hold(_ objects: [ManagedObject]) -> [ManagedObject] {
    let former = prefetched
    prefetched = objects
    return former
  }

  /// Forgets all groups. Numbers go on, so that no object is taken for one of a later group.
  ///
  /// - Returns: The objects that were held.
  @discardableResult
  package mutating func removeAll() -> [ManagedObject] {
    groups = []
    memberGroups = [:]
    byteCount = 0
    return hold([])
  }
}
