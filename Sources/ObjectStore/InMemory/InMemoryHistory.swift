package import Foundation
import ObjectModel

/// The history of an in-memory store, part of each version of its rows.
struct InMemoryHistory: Sendable {
  var settings: HistorySettings
  let ids: HistoryIDs
  /// The rows of the history, ordered by number.
  var entries: [HistoryEntry] = []
  var consumers: [String: HistoryConsumerRecord] = [:]
  /// The transaction that further requests within `performTransaction` may join.
  var run: OpenHistoryTransaction?
  let retention: HistoryRetention

  init(_ settings: HistorySettings, of model: CompiledModel, retention: HistoryRetention) {
    self.settings = settings
    self.retention = retention
    ids = HistoryIDs(HistoryIDs.Assignment(ofAll: model), of: model)
  }

  /// Adds the records of a request.
  ///
  /// - Returns: The position of its transaction, or nil if it has written nothing.
  @discardableResult
  mutating func add(_ recorder: consuming HistoryRecorder, _ authorship: HistoryAuthorship, isPart: Bool) -> HistoryPosition? {
    var recorder = recorder
    if !isPart { run = nil }
    let new = HistoryRowBuilder.entries(
      recorder.takeChunks(), authorship, behind: entries.last.map { ($0.number, $0.clock) }, run: &run)
    entries += new
    if !isPart { purge(now: authorship.time) }
    return new.isEmpty ? nil : run?.position
  }

  /// Purges transactions beyond the retention limit, except those that a consumer has not read.
  private mutating func purge(now: Double) {
    if retention == .unlimited { return }
    let starts = entries.filter { $0.start == nil && $0.authorship.kind != .begin }
    guard let newest = starts.last?.number else { return }
    var end: Int64
    switch retention {
    case .unlimited: return
    case .age(let seconds): end = starts.first { $0.authorship.time >= now - seconds }?.number ?? newest
    case .transactions(let count): end = starts.count > max(1, count) ? starts[starts.count - max(1, count)].number : 0
    }
    end = min(end, newest)
    for consumer in consumers.values { end = min(end, consumer.position?.number ?? 0) }
    // The initial record is not purged alone: a token for it is valid as long as no later transaction was purged.
    if let first = starts.first?.number, first < end { entries.removeAll { $0.number < end } }
  }
}

/// Records the changes of one request.
final class InMemoryHistoryRecord: ChangeConsumer {
  let needs: ChangeNeeds
  /// The model, since the recorder is modified while a value is read.
  private let model: CompiledModel
  private var recorder: HistoryRecorder

  init(of history: InMemoryHistory) {
    model = history.ids.model
    needs = ChangeNeeds(ofHistory: history.ids, level: history.settings.level)
    recorder = HistoryRecorder(ids: history.ids, level: history.settings.level)
  }

  func receive(_ change: RowChange) throws { try recorder.add(change, large: largeValue) }

  /// Returns the records and resets them.
  func takeRecorder() -> HistoryRecorder {
    defer { recorder = HistoryRecorder(ids: recorder.ids, level: recorder.level) }
    return recorder
  }

  /// The minimum size in bytes of values that are recorded as digests if their attribute allows external storage, as in stores that keep
  /// them in files.
  private static let largeSize = 128 << 10

  private func largeValue(_ row: RowImage, _ slot: Int) throws -> HistoryValue? {
    let attribute = model.entities[row.entityNumber].slots[slot].attribute
    guard attribute?.allowsExternalBinaryDataStorage == true else { return nil }
    let data = try row.data(slot)
    guard data.count >= Self.largeSize else { return nil }
    return .large(id: 0, size: Int64(data.count), digest: ContentDigest.sha256(data))
  }
}

// MARK: - History of an in-memory store

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
