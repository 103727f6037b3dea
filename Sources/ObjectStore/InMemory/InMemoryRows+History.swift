// InMemoryRows+History: the history of an in-memory store: rows of it in an array, a part of each version of the rows.
import Foundation
import ObjectModel

/// The history of an in-memory store.
struct InMemoryHistory: Sendable {
  var settings: HistorySettings
  let ids: HistoryIDs
  /// In the order of their numbers.
  var entries: [HistoryEntry] = []
  var consumers: [String: HistoryConsumerRecord] = [:]
  /// The transaction that further requests of the body of `performTransaction` may belong to.
  var run: HistoryRun?
  let retention: HistoryRetention

  init(_ settings: HistorySettings, of model: CompiledModel, retention: HistoryRetention) {
    self.settings = settings
    self.retention = retention
    ids = HistoryIDs(HistoryIDs.Assignment(ofAll: model), of: model)
  }

  /// Adds the records of a request.
  ///
  /// - Returns: The place of its transaction; nil where it has written nothing.
  @discardableResult
  mutating func add(_ recorder: consuming HistoryRecorder, _ authorship: HistoryAuthorship, isPart: Bool) -> HistoryPosition? {
    var recorder = recorder
    if !isPart { run = nil }
    let new = HistoryAssembly.entries(
      recorder.takePortions(), authorship, behind: entries.last.map { ($0.number, $0.clock) }, run: &run)
    entries += new
    if !isPart { shorten(now: authorship.time) }
    return new.isEmpty ? nil : run?.position
  }

  /// Deletes what is older than it is to be kept, but nothing that a consumer has still to read.
  private mutating func shorten(now: Double) {
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
    // Without a transaction before it the beginning stays: a place there is valid as long as nothing behind it is deleted.
    if let first = starts.first?.number, first < end { entries.removeAll { $0.number < end } }
  }
}

extension InMemoryRows {
  /// Takes a save over, and notes it in the history, if there is one.
  mutating func save(
    _ request: SaveChangesRequest, objectIDSpace space: ObjectIDSpace, _ authorship: HistoryAuthorship, isPart: Bool
  ) throws -> SaveOutcome {
    guard let history else { return try save(request, objectIDSpace: space) }
    var recorder = HistoryRecorder(ids: history.ids, level: history.settings.level)
    var former: [ObjectReference: RowImage] = [:]
    for deleted in request.deleted where recorder.needsFormerRow(ofDeleted: deleted.reference.entity) {
      former[deleted.reference] = row(of: deleted.reference)
    }
    if recorder.needsFormerRows {
      for update in request.updated { former[update.row.reference] = row(of: update.row.reference) }
    }
    var outcome = try save(request, objectIDSpace: space)
    try recorder.add(request, formerRows: former, large: largeValue)
    recorder.add(outcome, of: request)
    outcome.historyPosition = self.history?.add(recorder, authorship, isPart: isPart)
    return outcome
  }

  /// Values from this size on are not kept where their attribute allows them to be outside the row: as in stores that have files for them.
  private static let largeSize = 128 << 10

  private func largeValue(_ row: RowImage, _ slot: Int) throws -> HistoryValue? {
    let attribute = history?.ids.model.entities[row.entityNumber].slots[slot].attribute
    guard attribute?.allowsExternalBinaryDataStorage == true else { return nil }
    let data = try row.data(slot)
    guard data.count >= Self.largeSize else { return nil }
    return .large(id: 0, size: Int64(data.count), digest: ContentDigest.sha256(data))
  }
}
