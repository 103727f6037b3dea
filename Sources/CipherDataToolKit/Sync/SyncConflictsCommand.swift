import ArgumentParser
import Foundation
import ObjectModel
import ObjectStore
import SyncEngine

extension SyncCommand {
  /// `sync conflicts`.
  struct Conflicts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print what devices disagree about at present.",
      discussion: """
        These are the entries of the journal (`sync journal`) that are still undecided: they were not restored, and the object is as the \
        winner has left it. A conflict ends when it is restored (`sync restore`), when any device sets the property to another value, or when \
        its entry is removed from the journal. Records of the hub that cannot be read are conflicts too. The state is read from the store, \
        so this needs no hub.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: "The output format.") var format = InfoCommand.Format.text

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock(), isReadOnly: true)
      let conflicts = try await synced.run { try synced.openConflicts() }
      let sink = OutputSink()
      let model = synced.coordinator.compiledModel
      switch format {
      case .json:
        try sink.line(
          JSONValue.object([
            ("store", .string(store.store)), ("values", .array(conflicts.values.map { JournalText.json($0, model) })),
            ("unreadable", .array(conflicts.unreadable.map(Self.json))),
          ]).serialized())
      case .text:
        try JournalText.write(conflicts.values, model, to: sink)
        for record in conflicts.unreadable { try sink.line(TableWriter.printable(Self.text(record))) }
      }
      try sink.flush()
      if conflicts.values.isEmpty, conflicts.unreadable.isEmpty { Tool.note("there are no conflicts") }
    }

    private static func text(_ record: OpenConflicts.UnreadableRecord) -> String {
      guard let id = record.stableID else { return "A record that this device does not have cannot be read." }
      let object = record.objectID.map { "p\($0.key)" } ?? id.uuidString.lowercased()
      let names = record.pendingNames.isEmpty ? "" : " Unsent: \(record.pendingNames.joined(separator: ", "))."
      return "\(record.entityName ?? "link") \(object): the record on the hub cannot be read.\(names)"
    }

    private static func json(_ record: OpenConflicts.UnreadableRecord) -> JSONValue {
      .object([
        ("object", record.objectID.map { .string($0.uriString) } ?? .null),
        ("id", record.stableID.map { .string($0.uuidString.lowercased()) } ?? .null),
        ("entity", record.entityName.map { .string($0) } ?? .null), ("unsent", .array(record.pendingNames.map { .string($0) })),
      ])
    }
  }
}
