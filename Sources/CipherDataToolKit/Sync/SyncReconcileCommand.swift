import ArgumentParser
import Foundation
import ObjectModel
import SyncCore
import SyncEngine

extension SyncCommand {
  /// `sync reconcile`.
  struct Reconcile: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Synchronize, compare the store with the hub, and repair what differs.",
      discussion: """
        The store's records are compared with those of the hub, and only those that differ are transferred. They get the state of the hub. \
        Unsent changes remain and are sent. Objects that were changed by other means than this library get the values of their records. \
        Synchronization does this by itself when it finds a difference after an import. `sync verify` compares without repairing.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: "The output format.") var format = InfoCommand.Format.text

    func run() async throws {
      let result = try await SyncedContainer.withService(store) { try await $0.reconcile(progress: $1) }
      let sink = OutputSink()
      switch format {
      case .json: try sink.line(Self.json(result, path: store.store).serialized())
      case .text:
        try DifferenceText.write(result.records.differences, result.objects, to: sink)
        try sink.line(Self.summary(result))
      }
      try sink.flush()
    }

    private static func summary(_ result: SyncReconciliation) -> String {
      if result.isEqual { return "The store and the hub agree." }
      let records = result.records
      return "\(CountText.text(records.differenceCount, "record")) differed: \(records.fetchedCount) fetched, "
        + "\(records.removedCount) removed, \(records.resent.count) sent again. \(CountText.text(result.objects.differences.count, "object")) differed from the records."
    }

    private static func json(_ result: SyncReconciliation, path: String) -> JSONValue {
      .object([
        ("store", .string(path)), ("equal", .bool(result.isEqual)), ("differentRecords", .integer(result.records.differenceCount)),
        ("fetchedRecords", .integer(result.records.fetchedCount)), ("removedRecords", .integer(result.records.removedCount)),
        ("resentRecords", .integer(result.records.resent.count)), ("differentObjects", .integer(result.objects.differences.count)),
      ])
    }
  }
}
