// HistoryLinePrinter: transactions as they come, as JSON lines or as lines for people.
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// Prints transactions one after the other, each at once.
struct HistoryLinePrinter {
  enum Format { case text, jsonl }

  private let json: HistoryJSON
  private let format: Format
  private let sink: OutputSink

  init(_ container: PersistentContainer, format: Format, to sink: OutputSink) {
    json = HistoryJSON(model: container.persistentStoreCoordinator.compiledModel, showsValues: false)
    self.format = format
    self.sink = sink
  }

  /// Prints a transaction, or a part of one.
  func print(_ part: PersistentHistoryTransaction) throws {
    let changes = part.changes ?? []
    switch format {
    case .jsonl:
      var counts = HistoryCounts()
      counts.add(changes)
      try sink.line(json.header(part, counts).serialized())
      if !changes.isEmpty { try sink.line(json.changes(part).serialized()) }
    case .text:
      let time = InstantText.text(part.timestamp.timeIntervalSinceReferenceDate) ?? ""
      let head = "\(time)  \(part.author ?? "-")  \(part.kind.rawValue)"
      if changes.isEmpty { try sink.line("\(head)  \(part.isWhole ? "(anything)" : "")") }
      for change in changes {
        let properties = change.updatedProperties.joined(separator: ",")
        try sink.line(
          "\(head)  \(change.changeType.rawValue)  \(change.changedObjectID.uriString)\(properties.isEmpty ? "" : "  \(properties)")")
      }
    }
    // Who watches wants to see it now.
    try sink.flush()
  }
}
