package import ObjectModel
import ObjectStore

/// A group of objects that were read together, or of the destinations of such objects. When one of them fires, unfired siblings are read
/// with it.
///
/// A group stores references only, so that it does not keep rows in memory. It records the current position and the read-ahead size of each
/// traversal, so that no part of a traversal is repeated.
package final class FetchGroup {
  package let number: UInt32
  package let space: UInt32
  /// The objects; empty if the group contains destinations of another group's objects.
  private let references: CompactReferenceArray
  /// The group whose objects lead to this group's objects through `slots`, one after the other.
  private weak var sources: FetchGroup?
  private let slots: [Int]
  /// The maximum number of rows that are read together.
  package let batch: Int
  /// Whether each read has the batch size that the fetch request specifies.
  private let isBatchFixed: Bool
  /// Whether the objects are the results of a fetch, so that most of them are likely to be read.
  let isFetched: Bool
  /// Whether the group was used since it was last considered for removal.
  var wasUsed = false
  /// The numbers of the groups that contain the destinations of to-one slots.
  private var destinationGroups: [(slot: Int, number: UInt32)] = []
  /// The read-ahead state for rows, and the keys already visited.
  // Accessed for each object of a traversal; a context's isolation admits one access at a time.
  @exclusivity(unchecked) private var rows = ReadAhead()
  @exclusivity(unchecked) private var seen = KeySet()
  /// The number of rows that were read, and the number of rows that were requested.
  private var readRows = 0
  private var usedRows = 0
  /// The read-ahead states for members, by relationship number.
  @exclusivity(unchecked) private var members: [(relationship: Int, ahead: ReadAhead)] = []

  /// - Parameter startSize: The number of rows to read on the first miss.
  init(
    number: UInt32, space: UInt32, references: CompactReferenceArray, batch: Int, isBatchFixed: Bool, isFetched: Bool,
    startSize: Int = ReadAhead.firstSize
  ) {
    self.number = number
    self.batch = batch
    self.isBatchFixed = isBatchFixed
    self.space = space
    self.references = references
    self.isFetched = isFetched
    slots = []
    rows = ReadAhead(startSize: isFetched ? batch : startSize)
  }

  init(number: UInt32, destinationsOf sources: FetchGroup, slot: Int) {
    self.number = number
    space = sources.space
    references = CompactReferenceArray()
    batch = sources.batch
    isBatchFixed = sources.isBatchFixed
    isFetched = false
    self.sources = sources.slots.isEmpty ? sources : sources.sources
    slots = sources.slots + [slot]
  }

  var byteCount: Int { references.byteCount }

  package var count: Int { sources?.count ?? references.count }

  // MARK: Destinations

  /// Returns the number of the group that contains the destinations of a slot, if there is one.
  func destinations(slot: Int) -> UInt32? { destinationGroups.first { $0.slot == slot }?.number }

  func setDestinations(_ number: UInt32, slot: Int) {
    destinationGroups.removeAll { $0.slot == slot }
    destinationGroups.append((slot, number))
  }

  // MARK: Traversal

  /// Visits objects from a position on until the visitor returns `false`.
  ///
  /// - Parameters:
  ///   - start: The first position.
  ///   - stride: The distance between positions.
  ///   - limit: The maximum number of positions to visit.
  ///   - destination: Returns the destination of an object's to-one relationship if it is in memory.
  ///   - visit: Receives an object and its position, and returns whether to continue. Positions whose object is null or not in memory are
  ///     skipped.
  /// - Returns: The first position that was not visited.
  @inline(__always)
  package func walk(
    from start: Int, stride: Int, limit: Int, destination: (_ source: ObjectReference, _ slot: Int) -> ObjectReference?,
    _ visit: (ObjectReference, Int) -> Bool
  ) -> Int {
    // A group whose source group was discarded is empty.
    let root = slots.isEmpty ? self : sources
    guard let root else { return start }
    let references = root.references
    var (position, left) = (start, limit)
    while left > 0, position >= 0, position < references.count {
      var reference = references[position]
      let current = position
      position += stride
      left -= 1
      for slot in slots {
        guard reference.key > 0, let next = destination(reference, slot) else {
          reference = ObjectReference(rawValue: 0)
          break
        }
        reference = next
      }
      if !reference.isNull, !visit(reference, current) { break }
    }
    return position
  }

  // MARK: Read-ahead

  /// Returns the destination of an object's to-one relationship if it is in memory.
  package typealias Destination = (_ source: ObjectReference, _ slot: Int) -> ObjectReference?

  /// Returns the objects whose rows to read together with a missing one.
  ///
  /// - Parameters:
  ///   - key: The key of the object whose row is missing.
  ///   - position: The position of that object.
  ///   - destination: Returns the destination of an object's to-one relationship if it is in memory.
  ///   - isMissing: Receives each visited object once, and returns whether its row must be read.
  package func missRow(
    _ key: Int64, at position: Int, destination: Destination, _ isMissing: (ObjectReference) -> Bool
  ) -> [ObjectReference] {
    let isFilled = isBatchFixed || rows.beginsWithMany
    let miss = isBatchFixed ? rows.fixedMiss(at: position, size: batch) : rows.miss(at: position, limit: batch, patience: patience)
    if miss.isNewWalk { seen.removeAll() }
    seen.insert(key)
    var found: [ObjectReference] = []
    func collect(from start: Int, stride: Int) -> Int {
      if found.count >= miss.size - 1 { return start }
      return walk(from: start, stride: stride, limit: ReadAhead.window, destination: destination) { reference, _ in
        if seen.insert(reference.key), isMissing(reference) { found.append(reference) }
        return found.count < miss.size - 1
      }
    }
    let end = collect(from: miss.start, stride: rows.stride)
    // Large reads also cover the objects before the position: a traversal may start at the end of a group and go backward.
    if isFilled || rows.isScattered { _ = collect(from: position - rows.stride, stride: -rows.stride) }
    rows.finish(at: end, count: found.count)
    readRows += found.count + 1
    usedRows += 1
    return found
  }

  /// Records the use of a row that was in memory.
  @inline(__always) package func recordRowUse(at position: Int) {
    rows.recordUse(of: position)
    usedRows += 1
  }

  /// The number of random misses that are read one by one. By then they have cost about as much as reading all rows, so a caller that needs
  /// only a few rows reads hardly more than those.
  private var patience: Int { max(64, count >> 7) }

  /// The first batch size for the group that replaces this one; `nil` if this group's use gives no indication.
  var startSizeOfNext: Int? {
    if readRows == 0 { return nil }
    return usedRows * 2 >= readRows ? min(readRows * 4, batch) : ReadAhead.firstSize
  }

  /// Selects the objects whose members to read together with those of an object.
  ///
  /// - Parameters:
  ///   - relationship: The relationship's number.
  ///   - position: The position of the object whose members are missing.
  ///   - limit: The maximum number of objects whose members are read together.
  ///   - destination: Returns the destination of an object's to-one relationship if it is in memory.
  ///   - takes: Receives the visited objects and their positions, and returns whether their members are read.
  package func missMembers(
    of relationship: Int, at position: Int, limit: Int, destination: Destination, _ takes: (ObjectReference, Int) -> Bool
  ) {
    let index = memberIndex(relationship)
    // An object can have many members, so twice as many misses are read one by one.
    let miss = members[index].ahead.miss(at: position, limit: limit, patience: patience * 2)
    var count = 0
    func take(from start: Int, stride: Int) -> Int {
      if count >= miss.size - 1 { return start }
      return walk(from: start, stride: stride, limit: ReadAhead.window, destination: destination) {
        if takes($0, $1) { count += 1 }
        return count < miss.size - 1
      }
    }
    let stride = members[index].ahead.stride
    let end = take(from: miss.start, stride: stride)
    if members[index].ahead.isScattered { _ = take(from: position - stride, stride: -stride) }
    members[index].ahead.finish(at: end, count: count)
  }

  /// Records the use of members that were read together with those of another object.
  package func recordMembersUse(of relationship: Int, at position: Int) { members[memberIndex(relationship)].ahead.recordUse(of: position) }

  private func memberIndex(_ relationship: Int) -> Int {
    if let index = members.firstIndex(where: { $0.relationship == relationship }) { return index }
    members.append((relationship, ReadAhead()))
    return members.count - 1
  }
}

extension ManagedObject {
  /// Adds the object to a fetch group.
  @inline(__always) final func join(_ number: UInt32, at position: Int) {
    group = number
    groupPosition = UInt32(truncatingIfNeeded: position)
  }
}

/// An array of references. If the references belong to one entity and have consecutive keys, as in most fetches of all objects, only the
/// first one and the count are stored.
package struct CompactReferenceArray {
  private var first = ObjectReference(rawValue: 0)
  /// All references; `nil` while they are consecutive.
  private var list: [ObjectReference]?
  package private(set) var count = 0

  package init() {}

  package init(_ references: [ObjectReference]) {
    list = references
    count = references.count
  }

  /// Returns the reference at a valid position.
  @inline(__always) package subscript(position: Int) -> ObjectReference {
    list.map { $0[position] } ?? ObjectReference(rawValue: first.rawValue + Int64(position))
  }

  @inline(__always) package mutating func append(_ reference: ObjectReference) {
    if list == nil, count == 0 || reference.rawValue == first.rawValue + Int64(count) {
      if count == 0 { first = reference }
    } else {
      appendToList(reference)
    }
    count += 1
  }

  private mutating func appendToList(_ reference: ObjectReference) {
    if list?.append(reference) == nil { list = (0..<count).map { self[$0] } + [reference] }
  }

  package var byteCount: Int { (list?.count ?? 0) * 8 }
}

/// A set of keys of one entity tree. Low keys, which are typical of nearly every store, take one bit each.
package struct KeySet {
  /// The bits cover 2²² keys, and then take 512 KiB.
  private static let bitLimit: Int64 = 1 << 22

  private var bits: ContiguousArray<UInt64> = []
  private var others: Set<Int64> = []

  package init() {}

  /// Inserts a key; returns `false` if the set already contains it.
  @discardableResult
  @inline(__always) package mutating func insert(_ key: Int64) -> Bool {
    guard key >= 0, key < Self.bitLimit else { return others.insert(key).inserted }
    let word = Int(key >> 6)
    if word >= bits.count { grow(to: word) }
    let bit: UInt64 = 1 << UInt64(key & 63)
    if bits[word] & bit != 0 { return false }
    bits[word] |= bit
    return true
  }

  private mutating func grow(to word: Int) {
    // Doubled, so that ascending keys do not copy the bits each time.
    let count = min(max(word + 1, bits.count * 2, 8), Int(Self.bitLimit >> 6))
    bits.append(contentsOf: repeatElement(0, count: count - bits.count))
  }

  package mutating func removeAll() {
    bits = []
    others = []
  }
}
