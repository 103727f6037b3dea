// HistoryLinePrinter: transactions as they come, as JSON lines or as lines for people.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// Prints transactions one after the other, each at once.
struct HistoryLinePrinter {
  enum Format { case text, jsonl }

  private let json: HistoryJSON
  private let format: Format
  private let coordinator: PersistentStoreCoordinator
  private let filter: FetchPredicate?
  private let sink: OutputSink
  private var isContinuation = false

  /// - Parameter filter: The condition that chose the changes that are printed, by which they are counted too.
  init(_ container: PersistentContainer, changes filter: FetchPredicate?, format: Format, to sink: OutputSink) {
    coordinator = container.persistentStoreCoordinator
    self.filter = filter
    json = HistoryJSON(model: coordinator.compiledModel, showsValues: false)
    self.format = format
    self.sink = sink
  }

  /// Prints a transaction, or the next part of one.
  mutating func print(_ part: PersistentHistoryTransaction) async throws {
    let changes = part.changes ?? []
    switch format {
    case .jsonl:
      if !isContinuation {
        try sink.line(json.header(part, try await HistoryCounts(of: part, in: coordinator, changes: filter)).serialized())
      }
      if !changes.isEmpty { try sink.line(json.changes(part).serialized()) }
    case .text:
      let time = InstantText.text(part.timestamp.timeIntervalSinceReferenceDate) ?? ""
      let head = "\(time)  \(part.author ?? "-")  \(part.kind.rawValue)"
      if changes.isEmpty, !part.isContinued, !isContinuation { try sink.line("\(head)  \(part.isWhole ? "(anything)" : "")") }
      for change in changes {
        let properties = change.updatedProperties.joined(separator: ",")
        try sink.line(
          "\(head)  \(change.changeType.rawValue)  \(change.changedObjectID.uriString)\(properties.isEmpty ? "" : "  \(properties)")")
      }
    }
    isContinuation = part.isContinued
    // Who watches wants to see it now.
    try sink.flush()
  }
}
