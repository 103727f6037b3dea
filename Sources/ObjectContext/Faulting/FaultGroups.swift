package import ObjectModel

/// The most recent fetch groups of a context, by number. Each object stores the number of its group; objects of discarded groups fault one
/// by one.
package struct FaultGroups: ~Copyable {
  /// The maximum number of rows that are read together with one statement.
  package static var faultBatch: Int { 500 }
  /// The maximum number of groups.
  package static var limit: UInt32 { 64 }
  /// The maximum number of bytes of all groups except the newest.
  private static var byteLimit: Int { 16 << 20 }

  /// The groups, by number modulo `limit`.
  private var groups: [FetchGroup?] = []
  private var last: UInt32 = 0
  private var byteCount = 0
  /// The last group of members of each relationship, by relationship number, and the batch size that it started with.
  private var memberGroups: [Int: (number: UInt32, startSize: Int)] = [:]
  /// The intermediate objects of the key paths that the last fetch with prefetching followed.
  private var prefetched: [ManagedObject] = []

  package init() {}

  /// Returns a group and marks it as used; `nil` if it was discarded.
  package func group(_ number: UInt32) -> FetchGroup? {
    let index = Int(number % Self.limit)
    guard number != 0, index < groups.count, let group = groups[index], group.number == number else { return nil }
    group.wasUsed = true
    return group
  }

  /// Adds a group of objects that were fetched together. Most of them are likely to be read, so the first batch is large.
  ///
  /// - Parameters:
  ///   - references: The objects, in order.
  ///   - space: The space of their store.
  ///   - batch: The number of rows to read together, limited to one statement's maximum. With 0, that maximum is used while the rows read
  ///     are also used.
  /// - Returns: The group's number.
  package mutating func add(_ references: [ObjectReference], space: UInt32, batch: Int = 0) -> UInt32 {
    let size = batch > 0 ? min(batch, Self.faultBatch) : Self.faultBatch
    return remember {
      FetchGroup(
        number: $0, space: space, references: CompactReferenceArray(references), batch: size, isBatchFixed: batch > 0, isFetched: true)
    }
  }

  /// Adds a group of members that were read together. The first batch size is based on how the relationship's previous group was used.
  ///
  /// - Parameters:
  ///   - references: The members, owner by owner.
  ///   - relationship: The relationship's number.
  ///   - space: The space of their store.
  /// - Returns: The group's number.
  package mutating func add(_ references: [ObjectReference], membersOf relationship: Int, space: UInt32) -> UInt32 {
    var startSize = ReadAhead.firstSize
    if let former = memberGroups[relationship] {
      // Accessed directly: `group(_:)` would mark the group as used.
      let group = groups[Int(former.number % Self.limit)]
      startSize = (group?.number == former.number ? group?.startSizeOfNext : nil) ?? former.startSize
    }
    let number = remember {
      FetchGroup(
        number: $0, space: space, references: CompactReferenceArray(references), batch: Self.faultBatch, isBatchFixed: false,
        isFetched: false,
        startSize: startSize)
    }
    memberGroups[relationship] = (number, startSize)
    return number
  }

  /// Reserves a number for objects that are being created. The group does not exist until ``enter(_:space:as:)``.
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

  /// Adds a group of fetched objects with a reserved number.
  mutating func enter(_ references: CompactReferenceArray, space: UInt32, as number: UInt32) {
    enter(
      FetchGroup(
        number: number, space: space, references: references, batch: Self.faultBatch, isBatchFixed: false, isFetched: true))
  }

  /// Returns the number of the group that contains the destinations of a to-one slot of another group's objects.
  package mutating func destinations(of group: FetchGroup, slot: Int) -> UInt32 {
    if let number = group.destinations(slot: slot), self.group(number) != nil { return number }
    let number = remember { FetchGroup(number: $0, destinationsOf: group, slot: slot) }
    group.setDestinations(number, slot: slot)
    return number
  }

  /// Adds a group, in place of one that was not used recently.
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

  /// Retains the intermediate objects of the key paths that a fetch followed, because they hold the members that were read for them.
  ///
  /// - Returns: The objects of the previous fetch, which are deallocated with the result unless they have other references.
  mutating func hold(_ objects: [ManagedObject]) -> [ManagedObject] {
    let former = prefetched
    prefetched = objects
    return former
  }

  /// Removes all groups. Numbers are not reused, so that objects are not mistaken for members of later groups.
  ///
  /// - Returns: The objects that were retained.
  @discardableResult
  package mutating func removeAll() -> [ManagedObject] {
    groups = []
    memberGroups = [:]
    byteCount = 0
    return hold([])
  }
}
