import ArgumentParser
import Foundation
import ObjectModel
import SyncCore
import SyncEngine

extension SyncCommand {
  /// `sync verify`.
  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Synchronize, and then compare the store with the hub exactly.",
      discussion: """
        Two things are compared: the store's records with those of the hub, and its objects with its records, which shows what was \
        changed by other means than this library. Differences are listed, at most 100 of each. The exit status is 1 if there are any. \
        `sync status` states the result of the last comparison.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: "The output format.") var format = InfoCommand.Format.text

    func run() async throws {
      let result = try await SyncedContainer.withService(store) { try await $0.verify(progress: $1) }
      let sink = OutputSink()
      switch format {
      case .json: try sink.line(Self.json(result, path: store.store).serialized())
      case .text:
        if result.isEqual { try sink.line("The store and the hub agree.") }
        try DifferenceText.write(result.records.differences, result.objects, to: sink)
      }
      try sink.flush()
      if !result.isEqual { throw ToolError(.failure, message(result)) }
    }

    private func message(_ result: SyncVerificationResult) -> String {
      var parts: [String] = []
      if !result.records.isEqual {
        let count = Self.count(result.records.differences.count, "record", hasMore: result.records.hasMore)
        parts.append("The store and the hub differ in \(count).")
      }
      if !result.objects.isEqual {
        let count = Self.count(result.objects.differences.count, "object", hasMore: result.objects.hasMore)
        parts.append(
          "The store differs from its records in \(count), which were changed by other means than this library.")
      }
      parts.append("“cipherdata sync reconcile” repairs that.")
      return parts.joined(separator: " ")
    }

    private static func count(_ count: Int, _ noun: String, hasMore: Bool) -> String {
      (hasMore ? "more than " : "") + CountText.text(count, noun)
    }

    private static func json(_ result: SyncVerificationResult, path: String) -> JSONValue {
      func id(_ id: UUID?) -> JSONValue { id.map { .string($0.uuidString.lowercased()) } ?? .null }
      let records = result.records.differences.map { difference in
        JSONValue.object([("id", id(difference.id?.uuid)), ("difference", .string(DifferenceText.kind(difference)))])
      }
      let objects = result.objects.differences.map { difference in
        JSONValue.object([
          ("entity", .string(difference.entity)), ("object", difference.objectID.map { .string($0.uriString) } ?? .null),
          ("id", id(difference.stableID)), ("difference", .string(difference.kind.rawValue)),
        ])
      }
      return .object([
        ("store", .string(path)), ("equal", .bool(result.isEqual)), ("records", .array(records)),
        ("moreRecords", .bool(result.records.hasMore)), ("objects", .array(objects)), ("moreObjects", .bool(result.objects.hasMore)),
      ])
    }
  }
}
