// HistoryLinePrinter: transactions as they come, as JSON lines or as lines for people.
import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// Prints transactions one after the other: as JSON lines with a line for each, then its changes, at most a thousand a line; as text with a line for each change.
struct HistoryLinePrinter {
  enum Format: String, CaseIterable, ExpressibleByArgument { case text, jsonl }

  private let json: HistoryJSON
  private let format: Format
  private let coordinator: PersistentStoreCoordinator
  private let filter: FetchPredicate?
  private let sink: OutputSink
  private var isContinuation = false

  /// - Parameters:
  ///   - filter: The condition that chose the changes that are printed, by which they are counted too.
  ///   - showsValues: Whether JSON has values, where the history has them.
  init(_ container: PersistentContainer, changes filter: FetchPredicate?, format: Format, showsValues: Bool, to sink: OutputSink) {
    coordinator = container.persistentStoreCoordinator
    self.filter = filter
    json = HistoryJSON(model: coordinator.compiledModel, showsValues: showsValues)
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
  }
}
