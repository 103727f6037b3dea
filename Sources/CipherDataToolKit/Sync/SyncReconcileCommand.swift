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
      let synced = try await SyncedContainer(try await store.unlock())
      let progress = RoundProgress("Synchronizing")
      defer { progress.finish() }
      let result = try await synced.run { try await synced.resume().reconcile(progress: progress.handler) }
      progress.finish()
      let sink = OutputSink()
      switch format {
      case .json: try sink.line(Self.json(result, path: store.store).serialized())
      case .text:
        for difference in result.records.differences { try sink.line(Verify.text(difference)) }
        for difference in result.objects.differences { try sink.line(TableWriter.printable(Verify.text(difference))) }
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
