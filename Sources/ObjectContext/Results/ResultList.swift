package import ObjectModel

/// A result in a list: its ID, its sort values, and its section. It does not retain the object.
package struct ResultItem: Equatable {
  package var id: ManagedObjectID
  package var values: [Slot]
  /// The number of the section's name.
  package var section: Int32
}

/// An ordered list of results, stored in chunks of a few hundred, so that an insertion or removal moves the results of one chunk only. A
/// section is a run of results with the same section number.
final class ResultList {
  /// Counters of the operations performed by a list.
  struct Work: Equatable {
    /// The number of comparisons of two results.
    var comparisons = 0
    /// The number of results moved to open or close a gap.
    var moved = 0
  }

  /// A chunk of consecutive results.
  private final class Piece {
    var number = 0
    var ids: [ManagedObjectID] = []
    /// The sort values of all results, concatenated.
    var values: [Slot] = []
    var sections: [Int32] = []
    /// The number of results in the chunk that start a section.
    var startCount = 0
  }

  static var greatestPiece: Int { 256 }

  private let order: ResultOrder
  private let isSectioned: Bool
  private var width: Int { order.keyCount }
  private var pieces: [Piece] = []
  private var counts = CountTree()
  private var starts = CountTree()
  private var piecesByID: [QuickID: Piece] = [:]
  private(set) var work = Work()

  init(_ order: ResultOrder, isSectioned: Bool) {
    self.order = order
    self.isSectioned = isSectioned
  }

  var count: Int { piecesByID.count }

  // MARK: Loading

  /// Replaces the contents with sorted results.
  ///
  /// - Parameters:
  ///   - values: The sort values of all results, concatenated.
  ///   - sections: The section numbers of the results; empty if there are no sections.
  func load(_ ids: [ManagedObjectID], values: [Slot], sections: [Int32]) {
    pieces = []
    var piecesByID: [QuickID: Piece] = Dictionary(minimumCapacity: ids.count)
    // Leave space in each chunk, so that the first insertions split none.
    let size = Self.greatestPiece * 3 / 4
    for start in stride(from: 0, to: ids.count, by: size) {
      let range = start..<min(start + size, ids.count)
      let piece = Piece()
      piece.ids = Array(ids[range])
      piece.values = Array(values[range.lowerBound * width..<range.upperBound * width])
      if isSectioned { piece.sections = Array(sections[range]) }
      for id in ids[range] { piecesByID[QuickID(id)] = piece }
      pieces.append(piece)
    }
    self.piecesByID = piecesByID
    renumber(changed: pieces.indices)
  }

  /// Updates the indexes after chunks were added or removed.
  ///
  /// - Parameter changed: The chunks whose results, or whose preceding results, have changed.
  private func renumber(changed: Range<Int>) {
    for (number, piece) in pieces.enumerated() { piece.number = number }
    counts = CountTree(pieces.map(\.ids.count))
    if !isSectioned { return }
    for piece in pieces[changed.clamped(to: pieces.indices)] { piece.startCount = countStarts(of: piece) }
    starts = CountTree(pieces.map(\.startCount))
  }

  // MARK: Positions

  /// Returns the position of a result; nil if the ID is not in the list.
  func position(of id: ManagedObjectID) -> Int? {
    guard let piece = piecesByID[QuickID(id)], let index = piece.ids.firstIndex(of: id) else { return nil }
    return counts.sum(before: piece.number) + index
  }

  func contains(_ id: ManagedObjectID) -> Bool { piecesByID[QuickID(id)] != nil }

  private func place(_ position: Int) -> (piece: Piece, index: Int) {
    let (number, before) = counts.piece(having: position)
    return (pieces[number], position - before)
  }

  func id(at position: Int) -> ManagedObjectID {
    let (piece, index) = place(position)
    return piece.ids[index]
  }

  func item(at position: Int) -> ResultItem {
    let (piece, index) = place(position)
    return item(of: piece, at: index)
  }

  private func item(of piece: Piece, at index: Int) -> ResultItem {
    ResultItem(
      id: piece.ids[index], values: Array(piece.values[index * width..<(index + 1) * width]),
      section: isSectioned ? piece.sections[index] : 0)
  }

  func ids(in range: Range<Int>) -> [ManagedObjectID] {
    var ids: [ManagedObjectID] = []
    guard !range.isEmpty else { return ids }
    ids.reserveCapacity(range.count)
    var (piece, index) = place(range.lowerBound)
    while ids.count < range.count {
      let part = piece.ids[index...].prefix(range.count - ids.count)
      ids += part
      guard ids.count < range.count else { break }
      (piece, index) = (pieces[piece.number + 1], 0)
    }
    return ids
  }

  // MARK: Sections

  /// The number of sections; 1 if there are no section names.
  var sectionCount: Int { isSectioned ? starts.total : 1 }

  func range(ofSection section: Int) -> Range<Int> {
    guard isSectioned else { return 0..<count }
    return start(ofSection: section)..<(section + 1 < sectionCount ? start(ofSection: section + 1) : count)
  }

  private func start(ofSection section: Int) -> Int {
    let (number, before) = starts.piece(having: section)
    let piece = pieces[number]
    var missing = section - before
    for index in piece.ids.indices where isStart(index, of: piece) {
      if missing == 0 { return counts.sum(before: number) + index }
      missing -= 1
    }
    return count
  }

  /// Returns the section of the result at a position, and its position in the section.
  func path(ofPosition position: Int) -> (section: Int, item: Int) {
    guard isSectioned else { return (0, position) }
    let (piece, index) = place(position)
    var section = starts.sum(before: piece.number) - 1
    var start: Int?
    for other in 0...index where isStart(other, of: piece) {
      section += 1
      start = other
    }
    let first = start.map { counts.sum(before: piece.number) + $0 } ?? self.start(ofSection: section)
    return (section, position - first)
  }

  func name(ofSection section: Int) -> Int32 {
    guard isSectioned else { return 0 }
    let (piece, index) = place(start(ofSection: section))
    return piece.sections[index]
  }

  private func isStart(_ index: Int, of piece: Piece) -> Bool {
    if index > 0 { return piece.sections[index - 1] != piece.sections[index] }
    return piece.number == 0 || pieces[piece.number - 1].sections.last != piece.sections[0]
  }

  private func countStarts(of piece: Piece) -> Int {
    piece.ids.indices.reduce(0) { $0 + (isStart($1, of: piece) ? 1 : 0) }
  }

  /// Recounts the section starts of a chunk and of the following one, whose first result may have become or ceased to be a start.
  private func updateStarts(from number: Int) {
    guard isSectioned else { return }
    for piece in pieces[number...].prefix(2) {
      let count = countStarts(of: piece)
      starts.add(count - piece.startCount, to: piece.number)
      piece.startCount = count
    }
  }

  // MARK: Changing

  func remove(_ id: ManagedObjectID) {
    guard let piece = piecesByID.removeValue(forKey: QuickID(id)), let index = piece.ids.firstIndex(of: id) else { return }
    piece.ids.remove(at: index)
    piece.values.removeSubrange(index * width..<(index + 1) * width)
    if isSectioned { piece.sections.remove(at: index) }
    work.moved += piece.ids.count - index
    if piece.ids.isEmpty {
      pieces.remove(at: piece.number)
      return renumber(changed: piece.number..<piece.number + 1)
    }
    counts.add(-1, to: piece.number)
    updateStarts(from: piece.number)
  }

  /// Inserts a result at its position in the order.
  ///
  /// - Returns: The position of the result.
  @discardableResult
  func insert(_ item: ResultItem) -> Int {
    let (number, index) = place(for: item)
    if pieces.isEmpty {
      pieces.append(Piece())
      renumber(changed: 0..<0)
    }
    let piece = pieces[number]
    piece.ids.insert(item.id, at: index)
    piece.values.insert(contentsOf: item.values, at: index * width)
    if isSectioned { piece.sections.insert(item.section, at: index) }
    piecesByID[QuickID(item.id)] = piece
    work.moved += piece.ids.count - 1 - index
    let position = counts.sum(before: number) + index
    if piece.ids.count > Self.greatestPiece {
      split(piece)
    } else {
      counts.add(1, to: number)
      updateStarts(from: number)
    }
    return position
  }

  /// Returns the chunk and the index at which to insert a result.
  private func place(for item: ResultItem) -> (number: Int, index: Int) {
    var (low, high) = (0, pieces.count)
    // Find the last chunk whose first result is not after the new one.
    while low < high {
      let middle = (low + high) / 2
      if precedes(item, pieces[middle], 0) { high = middle } else { low = middle + 1 }
    }
    guard low > 0 else { return (0, 0) }
    let piece = pieces[low - 1]
    (low, high) = (1, piece.ids.count)
    while low < high {
      let middle = (low + high) / 2
      if precedes(item, piece, middle) { high = middle } else { low = middle + 1 }
    }
    return (piece.number, low)
  }

  private func precedes(_ item: ResultItem, _ piece: Piece, _ index: Int) -> Bool {
    work.comparisons += 1
    return order.compare(item.values[...], item.id, piece.values[index * width..<(index + 1) * width], piece.ids[index]) < 0
  }

  private func split(_ piece: Piece) {
    let middle = piece.ids.count / 2
    let next = Piece()
    next.ids = Array(piece.ids[middle...])
    next.values = Array(piece.values[(middle * width)...])
    piece.ids.removeSubrange(middle...)
    piece.values.removeSubrange((middle * width)...)
    if isSectioned {
      next.sections = Array(piece.sections[middle...])
      piece.sections.removeSubrange(middle...)
    }
    for id in next.ids { piecesByID[QuickID(id)] = next }
    work.moved += next.ids.count
    pieces.insert(next, at: piece.number + 1)
    renumber(changed: piece.number..<piece.number + 3)
  }
}

/// An ID with a fast hash function. A list can contain a hundred thousand results, and their keys are assigned by the store, so they need
/// no protection from hash flooding.
private struct QuickID: Hashable {
  private let id: ManagedObjectID

  init(_ id: ManagedObjectID) { self.id = id }

  // The standard library's hashed collections call this requirement.
  func _rawHashValue(seed: Int) -> Int {
    let word = UInt64(bitPattern: id.key) ^ UInt64(id.entityNumber) &<< 48 ^ UInt64(id.space) &<< 32 ^ UInt64(UInt(bitPattern: seed))
    // The same mixing function as in sets of objects.
    let product = word.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return Int(truncatingIfNeeded: product.high ^ product.low)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
