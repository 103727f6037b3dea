/// The position of a member in an ordered relationship.
///
/// Members are in the order of their keys. A key is a sequence of steps, each of which has a number, the mark of the device that has made it,
/// and an index. Members that one save moves or adds next to each other are a *run*: their keys differ in the last index only. No other device
/// makes keys between those of a run, except for what it inserts after a member that it knows. Concurrent runs at the same place therefore
/// follow each other, whole.
///
/// A device continues its own run at both ends without longer keys, so that a list to which members are appended, or in front of which they
/// are inserted, keeps keys of 6 to 16 bytes. Only an insertion between two adjacent members of a run adds a step. The scheme is a variant of
/// the position strings of Weidner and Kleppmann ("The Art of the Fugue", 2023).
package struct PositionKey: Hashable, Comparable, Sendable {
  /// The encoded steps, whose order is that of their bytes.
  package let bytes: [UInt8]

  /// A key that another device has made. Any bytes have a place in the order.
  package init(bytes: [UInt8]) { self.bytes = bytes }

  private init(_ steps: [Step]) {
    var bytes: [UInt8] = []
    for step in steps {
      Self.encode(step.number, to: &bytes)
      withUnsafeBytes(of: step.mark.bigEndian) { bytes += $0 }
      Self.encode(step.index, to: &bytes)
    }
    self.bytes = bytes
  }

  /// Creates the key of a member from before synchronization: the same one on devices that had copies of one store.
  ///
  /// - Parameter index: The position in the list.
  package init(baseline index: Int) { self.init([Step(number: 0, mark: 0, index: Int64(index))]) }

  package static func < (one: PositionKey, other: PositionKey) -> Bool { one.bytes.lexicographicallyPrecedes(other.bytes) }

  /// Returns the keys of a run between two members.
  ///
  /// - Parameters:
  ///   - before: The key of the member before the run; nil at the beginning of the list.
  ///   - after: The key of the member after the run, which is greater; nil at the end of the list.
  ///   - device: The device that makes the keys.
  /// - Returns: The keys in ascending order.
  package static func run(of count: Int, after before: PositionKey?, before after: PositionKey?, by device: DeviceID) -> [PositionKey] {
    // No device has the mark of members from before synchronization.
    let mark = max(1, UInt32(truncatingIfNeeded: device.value &* 0x9E37_79B9_7F4A_7C15 >> 32))
    let (low, high) = (before?.steps, after?.steps)
    // Keys that cannot be read are of no version of the library. The run is after or before them as far as that is possible.
    guard before == nil || low != nil, after == nil || high != nil else {
      return keys(of: count, after: (before?.bytes ?? []), mark)
    }
    if let (parent, first) = continuation(after: low ?? [], before: high, count, mark) {
      return (0..<count).map { PositionKey(parent.dropLast() + [parent[parent.count - 1].with(index: first + Int64($0))]) }
    }
    let (parent, number) = place(after: low, before: high)
    return (0..<count).map { PositionKey(parent + [Step(number: number, mark: mark, index: Int64($0))]) }
  }

  /// Returns keys after one that cannot be read.
  private static func keys(of count: Int, after bytes: [UInt8], _ mark: UInt32) -> [PositionKey] {
    (0..<count).map { PositionKey(bytes: bytes + PositionKey([Step(number: 0, mark: mark, index: Int64($0))]).bytes) }
  }

  /// Returns the last member of a run of the device that the new members continue, and the first index; nil if there is no such run.
  private static func continuation(after low: [Step], before high: [Step]?, _ count: Int, _ mark: UInt32) -> ([Step], Int64)? {
    if let last = low.last, last.mark == mark, high.map({ !$0.isInRun(of: low) }) ?? true { return (low, last.index + 1) }
    if let high, let first = high.last, first.mark == mark, !low.isInRun(of: high) { return (high, first.index - Int64(count)) }
    return nil
  }

  /// Returns where a new run can be: the steps before its own, and the number of that.
  private static func place(after low: [Step]?, before high: [Step]?) -> (parent: [Step], number: Int64) {
    guard let low, let first = low.first else { return ([], (high?.first?.number ?? 1) - 1) }
    guard let high else { return ([], first.number + 1) }
    let common = zip(low, high).prefix { $0 == $1 }.count
    guard common < low.count else {
      // The list continues with what was inserted after this member.
      return (low, common < high.count ? high[common].number - 1 : 0)
    }
    if common < high.count, low[common].number + 1 < high[common].number { return (Array(low[..<common]), low[common].number + 1) }
    let parent = Array(low[...common])
    return (parent, common + 1 < low.count ? low[common + 1].number + 1 : 0)
  }

  // MARK: Steps

  fileprivate struct Step: Hashable {
    let number: Int64
    let mark: UInt32
    let index: Int64

    func with(index: Int64) -> Step { Step(number: number, mark: mark, index: index) }
  }

  /// The steps; nil if the bytes are not those of a key.
  fileprivate var steps: [Step]? {
    var (steps, rest): ([Step], ArraySlice<UInt8>) = ([], bytes[...])
    while !rest.isEmpty {
      guard let number = Self.decode(&rest), rest.count >= 4 else { return nil }
      let mark = rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
      rest = rest.dropFirst(4)
      guard let index = Self.decode(&rest) else { return nil }
      steps.append(Step(number: number, mark: mark, index: index))
    }
    return steps.isEmpty ? nil : steps
  }

  /// A greater number is of no version of the library. Numbers that follow do not overflow.
  private static let limit: Int64 = 1 << 56

  /// Encodes a number in bytes that have the same order: numbers from -32 to 31 in one byte, others after a byte for their sign and length.
  private static func encode(_ number: Int64, to bytes: inout [UInt8]) {
    if -32...31 ~= number { return bytes.append(UInt8(0x80 + number)) }
    let distance = UInt64(bitPattern: number < 0 ? -33 - number : number - 32)
    let count = max(1, (71 - distance.leadingZeroBitCount) / 8)
    bytes.append(UInt8(number < 0 ? 0x60 - count : 0x9F + count))
    for position in (0..<count).reversed() {
      let byte = UInt8(truncatingIfNeeded: distance >> (8 * UInt64(position)))
      bytes.append(number < 0 ? ~byte : byte)
    }
  }

  private static func decode(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    guard let first = rest.popFirst() else { return nil }
    if 0x60...0x9F ~= first { return Int64(first) - 0x80 }
    let isNegative = first < 0x60
    let count = isNegative ? 0x60 - Int(first) : Int(first) - 0x9F
    guard count <= 8, rest.count >= count else { return nil }
    let distance = rest.prefix(count).reduce(UInt64(0)) { $0 << 8 | UInt64(isNegative ? ~$1 : $1) }
    rest = rest.dropFirst(count)
    guard distance < UInt64(limit) else { return nil }
    return isNegative ? -33 - Int64(distance) : Int64(distance) + 32
  }
}

extension [PositionKey.Step] {
  /// Returns whether a key is one of a run, or of what was inserted after a member of it.
  fileprivate func isInRun(of other: [PositionKey.Step]) -> Bool {
    guard let last = other.last, count >= other.count else { return false }
    let own = self[other.count - 1]
    return dropLast(count - other.count + 1).elementsEqual(other.dropLast()) && own.number == last.number && own.mark == last.mark
  }
}

/// The properties of positions.
extension PropertyID {
  /// Returns the property that says where a record is in the ordered relationship of the object to which it refers.
  ///
  /// - Parameter reference: The reference to the object that has the list: a to-one relationship of a member, or an end of a link.
  package static func position(through reference: PropertyID) -> PropertyID {
    switch reference {
    case .linkSource: PropertyID(.max - 4)
    case .linkDestination: PropertyID(.max - 5)
    default: PropertyID(reference.value ^ 0x706F_7369_7469_6F6E)  // "position"
    }
  }

  /// The position of a link in the list of the other end.
  package var oppositeLinkPosition: PropertyID {
    self == .position(through: .linkSource) ? .position(through: .linkDestination) : .position(through: .linkSource)
  }

  /// Whether a link has its position in the list of one of its ends under the property.
  package var isLinkPosition: Bool { self == .position(through: .linkSource) || self == .position(through: .linkDestination) }
}
