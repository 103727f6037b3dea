package import Foundation
import ObjectModel

extension InMemoryStore: HistoryStore {
  package func historySettings() throws -> HistorySettings? { try visibleHistory()?.settings }

  package func historyIDs() throws -> HistoryIDs? { try visibleHistory()?.ids }

  package func historyOpening() throws -> UUID? { nil }

  package func historyBounds() throws -> HistoryBounds? {
    guard let entries = try visibleHistory()?.entries, let first = entries.first(where: { $0.start == nil }),
      let newest = entries.last(where: { $0.start == nil })
    else { return nil }
    return HistoryBounds(oldest: first.position, newest: newest.position)
  }

  package func historyPosition(of number: Int64) throws -> HistoryPosition? {
    try visibleHistory()?.entries.first { $0.number == number }?.position
  }

  package func historyEntries(_ query: HistoryQuery, byteLimit: Int) throws -> [HistoryEntry] {
    var found: [HistoryEntry] = []
    var size = 0
    let entries = try visibleHistory()?.entries ?? []
    // Binary search, so that reading in chunks does not scan rows that were already read.
    let last = max(query.after, query.behindRow)
    var (first, end) = (0, entries.count)
    while first < end {
      let middle = (first + end) / 2
      if entries[middle].number > last { end = middle } else { first = middle + 1 }
    }
    for entry in entries[first...] where query.accepts(entry) {
      found.append(entry)
      size += entry.size
      if size >= byteLimit { break }
    }
    return found
  }

  package func deleteHistory(before number: Int64, rowLimit: Int) throws -> Bool {
    var isUnfinished = false
    try changeHistory(.deleteHistory) { history in
      let newest = history.entries.last { $0.start == nil }?.number ?? 0
      let end = history.entries.firstIndex { $0.number >= min(number, newest) } ?? 0
      guard history.entries[..<end].contains(where: { $0.authorship.kind != .begin }) else { return }
      history.entries.removeFirst(min(end, rowLimit))
      isUnfinished = end > rowLimit
    }
    return isUnfinished
  }

  package func historyConsumers() throws -> [HistoryConsumerRecord] {
    try (visibleHistory()?.consumers.values).map { $0.sorted { $0.name < $1.name } } ?? []
  }

  package func setHistoryConsumer(_ consumer: HistoryConsumerRecord) throws {
    try changeHistory(.changeHistoryConsumer) { $0.consumers[consumer.name] = consumer }
  }

  package func removeHistoryConsumer(_ name: String) throws -> Bool {
    var existed = false
    try changeHistory(.changeHistoryConsumer) { existed = $0.consumers.removeValue(forKey: name) != nil }
    return existed
  }
}
