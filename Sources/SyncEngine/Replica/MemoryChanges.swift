import ObjectModel
import SyncCore

/// Pending changes in memory.
final class MemoryChanges: PendingChanges {
  /// What the saves have changed of a record.
  private struct Entry {
    /// Its object; null if it is not known here.
    var object = ObjectReference(rawValue: 0)
    /// The position of the last change; negative if all were settled.
    var position = -1
  }

  private var packed = PackedChanges()
  private var entries: [RecordID: Entry] = [:]
  /// The positions of further changes of a record, before the last one.
  private var earlier: [RecordID: [Int]] = [:]
  private var referrers: [RecordID: Set<RecordID>] = [:]

  var countInMemory: Int { packed.end - packed.first }
  var byteCountInMemory: Int { packed.byteCount }
  var end: Int { packed.end }

  func add(_ change: PendingChange, _ object: ObjectReference?, start: Int) throws {
    var entry = entries[change.id] ?? Entry()
    if let object { entry.object = object }
    if entry.position >= start {
      packed.replace(entry.position, by: try packed[entry.position].followed(by: change))
    } else {
      if entry.position >= 0 { earlier[change.id, default: []].append(entry.position) }
      entry.position = packed.end
      packed.append(change)
    }
    entries[change.id] = entry
    addReferrer(change)
  }

  private func addReferrer(_ change: PendingChange) {
    for destination in change.destinations { referrers[destination, default: []].insert(change.id) }
  }

  func replace(_ position: Int, by change: PendingChange) throws {
    let former = try packed[position].id
    packed.replace(position, by: change)
    addReferrer(change)
    if former == change.id { return }
    entries[change.id] = Entry(object: entries[former]?.object ?? ObjectReference(rawValue: 0), position: position)
    entries[former] = Entry(position: earlier[former]?.popLast() ?? -1)
    if earlier[former]?.isEmpty ?? false { earlier[former] = nil }
  }

  func removeAll(before position: Int) throws {
    for removed in packed.first..<position { removePosition(of: try packed[removed], before: position) }
    packed.removeAll(before: position)
  }

  /// Removes the positions of a record's changes that are removed.
  private func removePosition(of change: PendingChange, before position: Int) {
    let id = change.id
    earlier[id]?.removeAll { $0 < position }
    if earlier[id]?.isEmpty ?? false { earlier[id] = nil }
    guard let last = entries[id]?.position, last < position else { return }
    entries[id]?.position = -1
    for destination in change.destinations {
      referrers[destination]?.remove(id)
      if referrers[destination]?.isEmpty ?? false { referrers[destination] = nil }
    }
  }

  func changes(in positions: Range<Int>) throws -> [PendingChange] { try positions.map { try packed[$0] } }

  func changes(of id: RecordID) throws -> [(position: Int, bytes: [UInt8])] {
    guard let last = entries[id]?.position, last >= 0 else { return [] }
    return ((earlier[id] ?? []) + [last]).map { ($0, packed.bytes(at: $0)) }
  }

  func object(of id: RecordID) -> ObjectReference? { entries[id].flatMap { $0.object.isNull ? nil : $0.object } }

  func referrers(of id: RecordID) -> Set<RecordID> { referrers[id] ?? [] }

  func forEachRecord(_ body: (RecordID) throws -> Void) throws { for (id, entry) in entries where entry.position >= 0 { try body(id) } }
}
