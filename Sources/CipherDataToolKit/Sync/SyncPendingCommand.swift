import ArgumentParser
import Foundation
import ObjectModel
import SyncEngine

extension SyncCommand {
  /// `sync pending`.
  struct Pending: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print what the hub has not accepted yet: saves, their objects, properties and sizes.",
      discussion: """
        Saves are sent in the order in which they are printed. Objects that no save contains follow: those from before the synchronization, \
        and those that a restored hub lacks. A change of a record that cannot be read on the hub waits until it can be. Sizes are those of \
        the new values, before they are sealed. The state is read from the store, so this needs no hub.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: ArgumentHelp("The maximum number of objects to print. All are counted.", valueName: "count")) var limit = 1_000
    @Option(help: "The output format.") var format = InfoCommand.Format.text

    func validate() throws { if limit < 0 { throw ValidationError("--limit takes a number from 0.") } }

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock(), isReadOnly: true)
      let count = limit
      let report = try await synced.run { try synced.pendingReport(maximumCount: count) }
      let sink = OutputSink()
      switch format {
      case .json: try sink.line(Self.json(report, path: store.store).serialized())
      case .text: try Self.write(report, to: sink)
      }
      try sink.flush()
      if report.isEmpty { Tool.note("everything was sent") }
    }

    private static func write(_ report: PendingReport, to sink: OutputSink) throws {
      if report.isEmpty { return }
      var parts: [String] = []
      if !report.saves.isEmpty { parts.append(CountText.text(report.saves.count, "save")) }
      if report.objectCount > 0 { parts.append("\(CountText.text(report.objectCount, "object")) apart from saves") }
      if report.isReadingObjects { parts.append("objects from before, which are being read") }
      try sink.line("Zone \(report.zone.uuidString): \(parts.joined(separator: ", "))")
      for save in report.saves {
        let author = save.author.map { ", by “\($0)”" } ?? ""
        let sending = save.isBeingSent ? ", being sent" : ""
        let line =
          "\(SyncText.time(save.date))  save \(save.number): \(CountText.text(save.changeCount, "object")), "
          + "\(InfoText.bytes(Int(save.size)))\(author)\(sending)"
        try sink.line(TableWriter.printable(line))
        try write(save.changes, of: save.changeCount, to: sink)
      }
      if report.objectCount > 0 { try sink.line("Apart from saves:") }
      try write(report.objects, of: report.objectCount, to: sink)
    }

    private static func write(_ changes: [PendingReport.Change], of count: Int, to sink: OutputSink) throws {
      for change in changes {
        let key = change.objectID.map { "p\($0.key)" } ?? change.stableID?.uuidString.lowercased() ?? "without an ID"
        var line = "  \(change.type.rawValue)  \(change.entityName ?? "link") \(key)"
        if change.isModelRequirement { line = "  the required version of the model" }
        if !change.propertyNames.isEmpty { line += ": \(change.propertyNames.joined(separator: ", "))" }
        if change.size > 0 { line += " (\(InfoText.bytes(Int(change.size))))" }
        if change.isBlocked { line += ", waits: its record on the hub cannot be read" }
        try sink.line(TableWriter.printable(line))
      }
      if count > changes.count { try sink.line("  and \(count - changes.count) more") }
    }

    private static func json(_ report: PendingReport, path: String) -> JSONValue {
      .object([
        ("store", .string(path)), ("zone", .string(report.zone.uuidString)),
        (
          "saves",
          .array(
            report.saves.map { save in
              .object([
                ("number", .integer(Int(save.number))), ("date", .string(SyncText.time(save.date))),
                ("author", save.author.map { .string($0) } ?? .null), ("sending", .bool(save.isBeingSent)),
                ("objectCount", .integer(save.changeCount)), ("bytes", .integer(Int(save.size))),
                ("objects", .array(save.changes.map(json))),
              ])
            })
        ),
        ("objectCount", .integer(report.objectCount)), ("objects", .array(report.objects.map(json))),
        ("addingObjects", .bool(report.isReadingObjects)), ("sendingBytes", .integer(report.sendingBytes)), ("more", .bool(report.hasMore)),
      ])
    }

    private static func json(_ change: PendingReport.Change) -> JSONValue {
      .object([
        ("object", change.objectID.map { .string($0.uriString) } ?? .null),
        ("id", change.stableID.map { .string($0.uuidString.lowercased()) } ?? .null),
        ("entity", change.entityName.map { .string($0) } ?? .null), ("change", .string(change.type.rawValue)),
        ("properties", .array(change.propertyNames.map { .string($0) })), ("bytes", .integer(Int(change.size))),
        ("blocked", .bool(change.isBlocked)),
      ])
    }
  }
}
