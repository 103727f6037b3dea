import ArgumentParser
import Foundation
import SyncEngine

extension SyncCommand {
  /// `sync status`.
  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print what is synchronized, what is pending, the last error, and the last events.",
      discussion: """
        The state is read from the store: it does not need the hub, and another process may be synchronizing. An event is work that has \
        ended: setup (objects from before were added), import or export, with its duration, the number of objects that were added or changed, \
        or of records that were sent, and what went wrong. The last error is printed with advice, others only with --format json. A store \
        keeps 1,000 events; of attempts with the same error, only the last one.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: ArgumentHelp("The number of events to print, from 0 to 1000.", valueName: "count")) var events = 10
    @Option(help: "The output format.") var format = InfoCommand.Format.text

    func validate() throws {
      if !(0...StoreReplica.maximumEventCount).contains(events) { throw ValidationError("--events takes a number from 0 to 1000.") }
    }

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock(), isReadOnly: true)
      let count = events
      let (status, last) = try await synced.run { (try synced.status(), try synced.events(maximumCount: count)) }
      let sink = OutputSink()
      switch format {
      case .json: try sink.line(Self.json(status, last, path: store.store).serialized())
      case .text:
        try Self.write(status, path: store.store, to: sink)
        try Self.write(last, to: sink)
      }
      try sink.flush()
    }

    private static func json(_ status: SyncStatus, _ events: [SyncEvent], path: String) -> JSONValue {
      func time(_ date: Date?) -> JSONValue { date.map { .string(SyncText.time($0)) } ?? .null }
      let report = status.report
      return .object([
        ("store", .string(path)), ("account", .string(status.account.uuidString)), ("zone", .string(status.zone.uuidString)),
        ("device", .string(status.device)), ("hub", .string(status.hubPath)), ("cursor", .integer(Int(status.cursor))),
        ("pendingSaves", .integer(status.pendingSaves)), ("pendingChanges", .integer(status.pendingChanges)),
        ("sendingBytes", .integer(status.frozenBytes)), ("addedObjects", status.baselineCount.map { .integer($0) } ?? .null),
        ("unsentObjects", .integer(status.unsentCount)), ("unreadableRecords", .integer(status.unreadableCount)),
        ("missingValues", .integer(status.missingAssets)), ("missingBytes", .integer(Int(status.missingBytes))),
        ("requiredModel", status.requiredModelVersion.map { .string($0.description) } ?? .null),
        ("modelTooOld", .bool(status.isModelTooOld)), ("lastSuccess", time(report.lastSuccess)),
        ("lastError", report.lastError.map { .string($0) } ?? .null),
        ("lastErrorDate", time(report.lastErrorDate)), ("verified", report.isVerified.map { .bool($0) } ?? .null),
        ("verificationDate", time(report.verificationDate)), ("events", .array(events.map(json))),
      ])
    }

    private static func json(_ event: SyncEvent) -> JSONValue {
      .object([
        ("kind", .string(event.kind.rawValue)), ("begin", .string(SyncText.time(event.start))), ("duration", .number(seconds(event))),
        ("count", .integer(event.count)), ("unreadableRecords", .integer(event.unreadable.count)),
        ("unmergedValues", .integer(event.unmerged.count)), ("error", event.error.map { .string("\($0)") } ?? .null),
      ])
    }

    private static func write(_ events: [SyncEvent], to sink: OutputSink) throws {
      if !events.isEmpty { try sink.line("Events:") }
      for event in events {
        let kind = event.kind.rawValue.padding(toLength: 6, withPad: " ", startingAt: 0)
        let line = "  \(SyncText.time(event.start))  \(kind)  \(seconds(event)) s  \(result(event))"
        try sink.line(TableWriter.printable(line))
      }
    }

    /// What an event has done, and what went wrong.
    static func result(_ event: SyncEvent) -> String {
      var parts: [String] = []
      let noun = event.kind == .export || event.kind == .reconcile ? "record" : "object"
      if event.count > 0 || event.failure == nil { parts.append(CountText.text(event.count, noun)) }
      if !event.unreadable.isEmpty { parts.append("\(event.unreadable.count) unreadable") }
      if !event.unmerged.isEmpty { parts.append("\(CountText.text(event.unmerged.count, "value")) not merged") }
      if let failure = event.failure { parts.append("failed: \(failure)") }
      return parts.joined(separator: ", ")
    }

    /// The duration of an event, in seconds.
    static func seconds(_ event: SyncEvent) -> String {
      // A clock may have been set back meanwhile.
      let milliseconds = max(0, Int(((event.end ?? event.start).timeIntervalSince(event.start) * 1_000).rounded()))
      return "\(milliseconds / 1_000).\(String(milliseconds % 1_000 + 1_000).dropFirst())"
    }

    private static func write(_ status: SyncStatus, path: String, to sink: OutputSink) throws {
      for (title, value) in [("Store", path)] + lines(status) {
        let name = title.isEmpty ? "" : "\(title):"
        try sink.line(name.padding(toLength: 14, withPad: " ", startingAt: 0) + TableWriter.printable(value))
      }
    }

    /// Returns the state with titles. A line without a title continues the one before.
    static func lines(_ status: SyncStatus) -> [(title: String, value: String)] {
      var lines = [
        (title: "Account", value: status.account.uuidString), ("Zone", status.zone.uuidString), ("Device", status.device),
        ("Hub", status.hubPath), ("Contains", "\(CountText.text(Int(status.cursor), "commit")) of the zone"), ("To send", pending(status)),
        ("Last success", status.report.lastSuccess.map(SyncText.time) ?? "none yet"),
      ]
      lines += error(status.report)
      lines.append(("Verification", verification(status.report)))
      if let required = status.requiredModelVersion {
        let present = status.modelVersion.map { "the store has \($0)" } ?? "the store's model has none"
        lines.append(("Model", "version \(required) is required\(status.isModelTooOld ? "; \(present)" : "")"))
      }
      if status.unreadableCount > 0 {
        lines.append(("Unreadable", "\(CountText.text(status.unreadableCount, "record")), kept until they can be opened"))
      }
      if status.missingAssets > 0 {
        let size = InfoText.bytes(Int(status.missingBytes))
        lines.append(("Not here", "\(CountText.text(status.missingAssets, "large value")) of \(size) together, which the hub has"))
      }
      return lines
    }

    private static func pending(_ status: SyncStatus) -> String {
      var parts: [String] = []
      if let count = status.baselineCount { parts.append("the objects from before are being read, \(count) so far") }
      if status.pendingSaves > 0 {
        parts.append("\(CountText.text(status.pendingSaves, "save")) with \(CountText.text(status.pendingChanges, "change"))")
      }
      if status.unsentCount > 0 { parts.append("\(CountText.text(status.unsentCount, "object")) from before") }
      if status.frozenBytes > 0 { parts.append("a commit of \(InfoText.bytes(status.frozenBytes)) is being sent") }
      return parts.isEmpty ? "nothing" : parts.joined(separator: "; ")
    }

    /// What went wrong, and in the next line advice or the whole message.
    private static func error(_ report: SyncReport) -> [(title: String, value: String)] {
      guard let error = report.lastError else { return [("Last error", "none")] }
      let failure = report.lastFailure ?? error
      let more = error.hasPrefix(failure) ? String(error.dropFirst(failure.count).drop { $0 == " " }) : error
      let line = (report.lastErrorDate.map { SyncText.time($0) + ", " } ?? "") + failure
      return [("Last error", line)] + (more.isEmpty ? [] : [("", more)])
    }

    private static func verification(_ report: SyncReport) -> String {
      guard let isVerified = report.isVerified else { return "none yet" }
      return (report.verificationDate.map { SyncText.time($0) + ", " } ?? "") + (isVerified ? "no difference" : "DIFFERENT from the hub")
    }
  }
}
