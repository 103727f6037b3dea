import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// A printer for transactions: as JSON lines, one for the transaction and then at most a thousand changes a line; as text, one line for
/// each change.
struct HistoryLinePrinter {
  enum Format: String, CaseIterable, ExpressibleByArgument { case text, jsonl }

  private let json: HistoryJSON
  private let format: Format
  private let coordinator: PersistentStoreCoordinator
  private let filter: FetchPredicate?
  private let sink: OutputSink
  private var isContinuation = false

  /// Creates a printer.
  ///
  /// - Parameters:
  ///   - filter: The condition that selected the printed changes, by which they are also counted.
  ///   - showsValues: Whether JSON includes values, where the history has them.
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
