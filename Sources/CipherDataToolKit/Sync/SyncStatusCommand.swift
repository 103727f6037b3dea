import ArgumentParser
import Foundation
import SyncEngine

extension SyncCommand {
  /// `sync status`.
  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print what is synchronized, what is pending, and the last error.",
      discussion: "The state is read from the store: it does not need the hub, and another process may be synchronizing.")

    @OptionGroup var store: StoreOptions
    @Option(help: "The output format.") var format = InfoCommand.Format.text

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock(), isReadOnly: true)
      let status = try await synced.run { try synced.status() }
      let sink = OutputSink()
      switch format {
      case .json: try sink.line(Self.json(status, path: store.store).serialized())
      case .text: try Self.write(status, path: store.store, to: sink)
      }
      try sink.flush()
    }

    static func json(_ status: SyncStatus, path: String) -> JSONValue {
      func time(_ date: Date?) -> JSONValue { date.map { .string(SyncText.time($0)) } ?? .null }
      let report = status.report
      return .object([
        ("store", .string(path)), ("account", .string(status.account.uuidString)), ("zone", .string(status.zone.uuidString)),
        ("device", .string(status.device)), ("hub", .string(status.hubPath)), ("cursor", .integer(Int(status.cursor))),
        ("pendingSaves", .integer(status.pendingSaves)), ("pendingChanges", .integer(status.pendingChanges)),
        ("sendingBytes", .integer(status.frozenBytes)), ("addedObjects", status.baselineCount.map { .integer($0) } ?? .null),
        ("unsentObjects", .integer(status.unsentCount)), ("unreadableRecords", .integer(status.unreadableCount)),
        ("lastSuccess", time(report.lastSuccess)), ("lastError", report.lastError.map { .string($0) } ?? .null),
        ("lastErrorDate", time(report.lastErrorDate)), ("verified", report.isVerified.map { .bool($0) } ?? .null),
        ("verificationDate", time(report.verificationDate)),
      ])
    }

    private static func write(_ status: SyncStatus, path: String, to sink: OutputSink) throws {
      var lines = [
        ("Store", path), ("Account", status.account.uuidString), ("Zone", status.zone.uuidString), ("Device", status.device),
        ("Hub", status.hubPath), ("Received", "\(SyncText.count(Int(status.cursor), "commit")) of the zone"), ("To send", pending(status)),
        ("Last success", status.report.lastSuccess.map(SyncText.time) ?? "none yet"), ("Last error", error(status.report)),
        ("Verification", verification(status.report)),
      ]
      if status.unreadableCount > 0 {
        lines.append(("Unreadable", "\(SyncText.count(status.unreadableCount, "record")), kept until they can be opened"))
      }
      for (title, value) in lines {
        try sink.line("\(title):".padding(toLength: 14, withPad: " ", startingAt: 0) + TableWriter.printable(value))
      }
    }

    private static func pending(_ status: SyncStatus) -> String {
      var parts: [String] = []
      if let count = status.baselineCount { parts.append("the objects from before are being read, \(count) so far") }
      if status.pendingSaves > 0 {
        parts.append("\(SyncText.count(status.pendingSaves, "save")) with \(SyncText.count(status.pendingChanges, "change"))")
      }
      if status.unsentCount > 0 { parts.append("\(SyncText.count(status.unsentCount, "object")) from before") }
      if status.frozenBytes > 0 { parts.append("a commit of \(InfoText.bytes(status.frozenBytes)) is being sent") }
      return parts.isEmpty ? "nothing" : parts.joined(separator: "; ")
    }

    private static func error(_ report: SyncReport) -> String {
      guard let error = report.lastError else { return "none" }
      return (report.lastErrorDate.map { SyncText.time($0) + ", " } ?? "") + error
    }

    private static func verification(_ report: SyncReport) -> String {
      guard let isVerified = report.isVerified else { return "none yet" }
      return (report.verificationDate.map { SyncText.time($0) + ", " } ?? "") + (isVerified ? "no difference" : "DIFFERENT from the hub")
    }
  }
}
