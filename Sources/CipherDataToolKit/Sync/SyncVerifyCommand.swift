import ArgumentParser
import Foundation
import SyncCore
import SyncEngine

extension SyncCommand {
  /// `sync verify`.
  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Synchronize, and then compare the store with the hub exactly.",
      discussion: """
        Records that differ are listed by their stable IDs, at most 100. The exit status is 1 if there are any. `sync status` states the \
        result of the last comparison.
        """)

    @OptionGroup var store: StoreOptions

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock())
      let result = try await synced.run { try await synced.resume().verify() }
      let sink = OutputSink()
      if result.isEqual {
        try sink.line("The store and the hub agree.")
        return try sink.flush()
      }
      for difference in result.differences { try sink.line(Self.text(difference)) }
      try sink.flush()
      let count = SyncText.count(result.differences.count, "record")
      throw ToolError(.failure, "The store and the hub differ in \(result.hasMore ? "more than " : "")\(count).")
    }

    static func text(_ difference: Verification.Difference) -> String {
      let name = difference.id?.uuid.uuidString.lowercased() ?? "a record of another device"
      let kind =
        switch (difference.device, difference.hub) {
        case (_, nil): "missing on the hub"
        case (nil, _): "missing in the store"
        default: "different"
        }
      return "\(name): \(kind)"
    }
  }
}
