package import Foundation
package import ObjectStore

extension SQLCipherIncrementalStore: HistoryStore {
  package func historySettings() throws -> HistorySettings? {
    let engine = try engine(.readHistory)
    // A read transaction adopts settings that another process has switched.
    return try StoreError.mapping { try engine.read { _ in engine.history.recording?.settings } }
  }

  package func setHistory(_ settings: HistorySettings?) throws {
    let engine = try writableEngine(.switchHistory)
    try StoreError.mapping { try engine.setHistory(settings) }
  }

  package func historyIDs() throws -> HistoryIDs? {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.read { _ in engine.history.recording?.ids } }
  }

  package func historyOpening() throws -> UUID? {
    let history = try engine(.readHistory).history
    return history.recording == nil ? nil : HistoryOpening(history.opening)?.identifier
  }

  package func historyBounds() throws -> HistoryBounds? {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.historyBounds() }
  }

  package func historyPosition(of number: Int64) throws -> HistoryPosition? {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.historyPosition(of: number) }
  }

  package func historyEntries(_ query: HistoryQuery, byteLimit: Int) throws -> [HistoryEntry] {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.historyEntries(query, byteLimit: byteLimit) }
  }

  package func deleteHistory(before number: Int64, rowLimit: Int) throws -> Bool {
    let engine = try writableEngine(.deleteHistory)
    return try StoreError.mapping { try engine.deleteHistory(before: number, rowLimit: rowLimit) }
  }

  package func historyConsumers() throws -> [HistoryConsumerRecord] {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.historyConsumers() }
  }

  package func setHistoryConsumer(_ consumer: HistoryConsumerRecord) throws {
    let engine = try writableEngine(.changeHistoryConsumer)
    try StoreError.mapping { try engine.setHistoryConsumer(consumer) }
  }

  package func removeHistoryConsumer(_ name: String) throws -> Bool {
    let engine = try writableEngine(.changeHistoryConsumer)
    return try StoreError.mapping { try engine.removeHistoryConsumer(name) }
  }

  /// Switches the history as the description requires, after the store is opened.
  func switchHistory(_ engine: StoreEngine) throws {
    let description = configuration.description
    guard let isTracked = description.historyTracking ?? (description.historyLevel == nil ? nil : engine.history.recording != nil),
      !description.isReadOnly
    else { return }
    let present = engine.history.recording?.settings
    let requested = isTracked ? HistorySettings(level: description.historyLevel ?? present?.level ?? .properties) : nil
    if requested != present { try engine.setHistory(requested) }
  }
}
