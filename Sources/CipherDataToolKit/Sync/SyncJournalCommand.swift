import ArgumentParser
import Foundation
import ObjectModel
import ObjectStore
import SyncCore
import SyncEngine

extension SyncCommand {
  /// `sync journal`.
  struct Journal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the values that have lost against changes on other devices.",
      discussion: """
        If two devices change the same property, or one deletes what the other one changes, one change wins. The device that receives the \
        other change keeps what has lost, until it is restored (`sync restore`) or removed (--remove-before). The journal is read from the \
        store, so it needs no hub. Each store has its own: what has lost on another device is in the journal of the store there.
        """)

    @OptionGroup var store: StoreOptions
    @Flag(help: "Print entries that were restored too.") var all = false
    @Option(
      help: ArgumentHelp("Remove the entries that were noticed before a date, instead of printing them.", valueName: "date"),
      transform: { text in
        guard let seconds = InstantText.seconds(text) else {
          throw ValidationError("“\(text)” is not a date. Write one such as 2026-01-31.")
        }
        return Date(timeIntervalSinceReferenceDate: seconds)
      }) var removeBefore: Date?
    @Option(help: "The output format.") var format = InfoCommand.Format.text

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock(), isReadOnly: removeBefore == nil)
      if let date = removeBefore {
        let count = try await synced.run { try synced.removeJournalEntries(before: date) }
        return Tool.note("\(count == 1 ? "1 entry was" : "\(count) entries were") removed")
      }
      let includesRestored = all
      let items = try await synced.run { try synced.journal(includesRestored: includesRestored) }
      let sink = OutputSink()
      let model = synced.coordinator.compiledModel
      switch format {
      case .json:
        try sink.line(
          JSONValue.object([
            ("store", .string(store.store)), ("entries", .array(items.map { JournalText.json($0, model) })),
          ]).serialized())
      case .text:
        try JournalText.write(items, model, to: sink)
      }
      try sink.flush()
      if items.isEmpty {
        Tool.note(all ? "nothing has lost" : "nothing has lost that was not restored; --all also prints what was restored")
      }
    }
  }

  /// `sync restore`.
  struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Give objects values again that have lost.",
      discussion: """
        The numbers are those that `sync journal` prints. A value is set again; a deleted object is inserted again, as a new object with the \
        values that it had. This is saved like any other change, and sent by the next round.
        """)

    @OptionGroup var store: StoreOptions
    @Argument(help: ArgumentHelp("The numbers of entries of the journal.", valueName: "entry")) var entries: [Int64]

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock())
      let numbers = entries
      let restored = try await synced.run { try await synced.restore(numbers) }
      let sink = OutputSink()
      for (number, object) in restored { try sink.line("\(number): \(object.uriString)") }
      try sink.flush()
    }
  }
}

/// The texts of entries of the journal.
enum JournalText {
  static func write(_ items: [JournalItem], _ model: CompiledModel, to sink: OutputSink) throws {
    for item in items { for line in lines(item, model) { try sink.line(TableWriter.printable(line)) } }
  }

  private static func lines(_ item: JournalItem, _ model: CompiledModel) -> [String] {
    let number = "\(item.number)".padding(toLength: 4, withPad: " ", startingAt: 0)
    let object = "\(item.entityName) \(item.objectID.map { "p\($0.key)" } ?? item.stableID.uuidString.lowercased())"
    let restored = item.restoredID == nil ? "" : " (restored)"
    var lines = ["\(number)  \(SyncText.time(item.date))  \(object): \(reason(item.reason))\(restored)"]
    lines.append("      lost: \(text(item.propertyNames, item.values, item, model)), \(author(item.author))")
    if let winner = item.winner {
      let names = item.propertyNames.filter { item.winningValues.names.contains($0) || item.reason == .laterChange }
      let values = names.isEmpty ? "the deletion" : text(names, item.winningValues, item, model)
      lines.append("      won:  \(values), \(author(winner))")
    }
    return lines
  }

  private static func reason(_ reason: JournalEntry.Reason) -> String {
    switch reason {
    case .laterChange: "another change is later"
    case .deletion: "deleted on one device, changed on another"
    case .destinationDeleted: "an object that it requires was deleted"
    case .destinationTaken: "another object refers to the destination"
    case .duplicate: "another object had the same unique values"
    case .failedMerge: "the application's function could not merge it"
    case .cycle: "the parent was moved into the object"
    }
  }

  private static func text(_ names: [String], _ values: RecordedValues, _ item: JournalItem, _ model: CompiledModel) -> String {
    names.map { "\($0) = \(json($0, values, item, model).serialized())" }.joined(separator: ", ")
  }

  private static func author(_ author: JournalItem.Author) -> String {
    let device = author.deviceName.map { "on “\($0)”" } ?? "on an unknown device"
    return author.date.map { "\(device) at \(SyncText.time($0))" } ?? "from before the synchronization"
  }

  private static func json(_ name: String, _ values: RecordedValues, _ item: JournalItem, _ model: CompiledModel) -> JSONValue {
    let slot = model.entity(named: item.entityName)?.slots.first { $0.name == name }
    switch values.values[name] {
    case nil, .object(nil): return .null
    case .attribute(let value): return slot?.attributeType.map { ValueCoding.json(value, type: $0) } ?? .null
    case .object(let id?): return .string(id.uriString)
    case .large(let size, _): return .string(InfoText.bytes(Int(size)))
    }
  }

  static func json(_ item: JournalItem, _ model: CompiledModel) -> JSONValue {
    func author(_ author: JournalItem.Author?) -> [(String, JSONValue)] {
      [
        ("device", author?.deviceName.map { .string($0) } ?? .null),
        ("date", author?.date.map { .string(SyncText.time($0)) } ?? .null),
      ]
    }
    func values(_ values: RecordedValues) -> (String, JSONValue) {
      ("values", .object(item.propertyNames.map { ($0, json($0, values, item, model)) }))
    }
    return .object([
      ("number", .integer(Int(item.number))), ("date", .string(SyncText.time(item.date))), ("reason", .string("\(item.reason)")),
      ("entity", .string(item.entityName)), ("object", item.objectID.map { .string($0.uriString) } ?? .null),
      ("id", .string(item.stableID.uuidString.lowercased())), ("lost", .object(author(item.author) + [values(item.values)])),
      ("won", item.winner.map { .object(author($0) + [values(item.winningValues)]) } ?? .null),
      ("restored", item.restoredID.map { .string($0.uuidString.lowercased()) } ?? .null),
    ])
  }
}
