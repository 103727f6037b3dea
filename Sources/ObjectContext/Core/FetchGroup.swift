// FetchGroup: objects that came together and therefore fault together.
package import ObjectModel
import ObjectStore

/// Objects that were read together, or are the destinations of such: when one fires, unfired siblings are read with it.
///
/// A group knows references only, so that it keeps no row in memory that nobody else holds. Where who asks for its objects has come to, and how far ahead is
/// read, is remembered in it: no walk through its objects is repeated.
package final class FetchGroup {
  package let number: UInt32
  package let space: UInt32
  /// The objects; empty for the destinations of another group's.
  private let references: ReferenceRun
  /// The group whose objects the slots lead from, one after the other, to this one's.
  private weak var sources: FetchGroup?
  private let slots: [Int]
  /// How many of its objects' rows are read together, at most.
  package let batch: Int
  /// Whether as many are read at once as somebody has said.
  private let isBatchFixed: Bool
  /// Whether somebody has fetched the objects, and so will ask for most of them.
  let isFetched: Bool
  /// Whether it was asked for since it was last passed over.
  var wasUsed = false
  /// The numbers of the groups made of this one's to-one slots.
  private var destinationGroups: [(slot: Int, number: UInt32)] = []
  /// How far ahead rows are read, and the keys that were looked at on the way.
  // Asked for each object on the way; a context's isolation admits one access at a time.
  @exclusivity(unchecked) private var rows = ReadAhead()
  @exclusivity(unchecked) private var seen = KeySet()
  /// How many rows were read, and how many were asked for.
  private var readRows = 0
  private var usedRows = 0
  /// How far ahead members are read, by the relationships' numbers.
  // Asked for each object on the way; unchecked for the same reason.
  @exclusivity(unchecked) private var members: [(relationship: Int, ahead: ReadAhead)] = []

  /// - Parameter startSize: How many rows are read with the first that is missing.
  init(
    number: UInt32, space: UInt32, references: ReferenceRun, batch: Int, isBatchFixed: Bool, isFetched: Bool,
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
    references = ReferenceRun()
    batch = sources.batch
    isBatchFixed = sources.isBatchFixed
    isFetched = false
    self.sources = sources.slots.isEmpty ? sources : sources.sources
    slots = sources.slots + [slot]
  }

  /// The bytes it holds.
  var byteCount: Int { references.byteCount }

  package var count: Int { sources?.count ?? references.count }

  // MARK: Destinations

  /// The number of the group of the destinations of a slot, if there is one.
  func destinations(slot: Int) -> UInt32? { destinationGroups.first { $0.slot == slot }?.number }

  func setDestinations(_ number: UInt32, slot: Int) {
    destinationGroups.removeAll { $0.slot == slot }
    destinationGroups.append((slot, number))
  }

  // MARK: Walking

  /// Shows objects beside a position to a visitor until it has had enough.
  ///
  /// - Parameters:
  ///   - start: The first position.
  ///   - stride: The distance of the positions.
  ///   - limit: How many positions are looked at, at most.
  ///   - destination: The destination of an object's to-one relationship as far as it is at hand.
  ///   - visit: Is shown an object and its position, and says whether to go on. What is empty or not at hand is passed over.
  /// - Returns: The first position that was not looked at.
  @inline(__always)
  package func walk(
    from start: Int, stride: Int, limit: Int, destination: (_ source: ObjectReference, _ slot: Int) -> ObjectReference?,
    _ visit: (ObjectReference, Int) -> Bool
  ) -> Int {
    // A group whose sources were forgotten is empty.
    let root = slots.isEmpty ? self : sources
    guard let root else { return start }
    let references = root.references
    var (position, left) = (start, limit)
    while left > 0, position >= 0, position < references.count {
      var reference = references[position]
      let place = position
      position += stride
      left -= 1
      for slot in slots {
        guard reference.key > 0, let next = destination(reference, slot) else {
          reference = ObjectReference(rawValue: 0)
          break
        }
        reference = next
      }
      if !reference.isNull, !visit(reference, place) { break }
    }
    return position
  }

  // MARK: Reading ahead

  /// What tells where a to-one relationship of an object leads to, as far as it is at hand.
  package typealias Destination = (_ source: ObjectReference, _ slot: Int) -> ObjectReference?

  /// The objects whose rows are to be read with a missing one.
  ///
  /// - Parameters:
  ///   - key: The key of the object whose row is missing.
  ///   - position: Its position.
  ///   - destination: The destination of an object's to-one relationship as far as it is at hand.
  ///   - isMissing: Is shown each object on the way once, and says whether its row is to be read.
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
    // Who asks for many at once may begin anywhere: at the end of a group to go backwards.
    if isFilled || rows.isScattered { _ = collect(from: position - rows.stride, stride: -rows.stride) }
    rows.finish(at: end, count: found.count)
    readRows += found.count + 1
    usedRows += 1
    return found
  }

  /// A row that was at hand was asked for.
  @inline(__always) package func noteRowUse(at position: Int) {
    rows.noteUse(of: position)
    usedRows += 1
  }

  /// How many misses in no order are read one by one: until they have cost about what reading all rows does, so that who asks for a few here and there reads
  /// hardly more.
  private var patience: Int { max(64, count >> 7) }

  /// With how many rows a group begins that takes this one's place; nil where this one has not shown it.
  var startSizeOfNext: Int? {
    if readRows == 0 { return nil }
    return usedRows * 2 >= readRows ? min(readRows * 4, batch) : ReadAhead.firstSize
  }

  /// Visits the objects whose members may be read with those of an object.
  ///
  /// - Parameters:
  ///   - relationship: The relationship's number.
  ///   - position: The position of the object whose members are missing.
  ///   - limit: Of how many objects members are read together, at most.
  ///   - destination: The destination of an object's to-one relationship as far as it is at hand.
  ///   - takes: Is shown the objects on the way and their positions, and says whether their members are read.
  package func missMembers(
    of relationship: Int, at position: Int, limit: Int, destination: Destination, _ takes: (ObjectReference, Int) -> Bool
  ) {
    let index = memberIndex(relationship)
    // Members of an object may be many: twice as long they are read one by one.
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

  /// Members that were read with those of another object were asked for.
  package func noteMembersUse(of relationship: Int, at position: Int) { members[memberIndex(relationship)].ahead.noteUse(of: position) }

  private func memberIndex(_ relationship: Int) -> Int {
    if let index = members.firstIndex(where: { $0.relationship == relationship }) { return index }
    members.append((relationship, ReadAhead()))
    return members.count - 1
  }
}

extension ManagedObject {
  /// The object faults together with those of a group from now on.
  @inline(__always) final func join(_ number: UInt32, at position: Int) {
    group = number
    groupPosition = UInt32(truncatingIfNeeded: position)
  }
}
