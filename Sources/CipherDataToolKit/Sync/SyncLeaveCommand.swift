import ArgumentParser
import SyncEngine

extension SyncCommand {
  /// `sync leave`.
  struct Leave: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "End the synchronization of the store, and keep its objects.",
      discussion: """
        The hub and the other devices keep theirs. The hub need not be reachable. Changes that were not sent stay in the store only.
        """)

    @OptionGroup var store: StoreOptions

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock())
      let status = try await synced.run {
        let service = try await synced.resume()
        let status = try synced.status()
        try await service.leave()
        return status
      }
      let count = status.pendingChanges
      let unsent = count == 0 ? "" : " \(CountText.text(count, "change")) \(count == 1 ? "was" : "were") not sent."
      Tool.note("\(store.store) is no longer synchronized.\(unsent)")
    }
  }
}
