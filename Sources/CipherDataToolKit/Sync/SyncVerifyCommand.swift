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
      let synced = try await SyncedContainer(try await store.unlock())
      let progress = RoundProgress("Synchronizing")
      defer { progress.finish() }
      let result = try await synced.run { try await synced.resume().verify(progress: progress.handler) }
      progress.finish()
      let sink = OutputSink()
      switch format {
      case .json: try sink.line(Self.json(result, path: store.store).serialized())
      case .text:
        if result.isEqual { try sink.line("The store and the hub agree.") }
        for difference in result.records.differences { try sink.line(Self.text(difference)) }
        for difference in result.objects.differences { try sink.line(TableWriter.printable(Self.text(difference))) }
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
          "The store differs from its records in \(count), which were changed by other means than this library. “cipherdata sync leave” and "
            + "“cipherdata sync join” make them again from the records.")
      }
      return parts.joined(separator: " ")
    }

    private static func count(_ count: Int, _ noun: String, hasMore: Bool) -> String {
      (hasMore ? "more than " : "") + CountText.text(count, noun)
    }

    static func text(_ difference: RecordDifference) -> String {
      let name = difference.id?.uuid.uuidString.lowercased() ?? "a record of another device"
      return "\(name): \(kind(difference))"
    }

    private static func kind(_ difference: RecordDifference) -> String {
      switch (difference.device, difference.hub) {
      case (_, nil): "missing on the hub"
      case (nil, _): "missing in the store"
      default: "different"
      }
    }

    static func text(_ difference: ObjectDifference) -> String {
      let name = difference.objectID?.uriString ?? difference.stableID?.uuidString.lowercased() ?? ""
      let kind =
        switch difference.kind {
        case .missing: "missing, although there is a record"
        case .unknown: "without a record"
        case .different: "different from its record"
        }
      return "\(difference.entity) \(name): \(kind)"
    }

    private static func json(_ result: SyncVerificationResult, path: String) -> JSONValue {
      func id(_ id: UUID?) -> JSONValue { id.map { .string($0.uuidString.lowercased()) } ?? .null }
      let records = result.records.differences.map { difference in
        JSONValue.object([("id", id(difference.id?.uuid)), ("difference", .string(kind(difference)))])
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
