import Foundation
import ObjectStore
import SQLCipherConnection
import Synchronization

/// What the process logs to standard error for all of its stores, as set by the environment variable `CIPHERDATA_LOG`.
struct EnvironmentLog: Sendable, Equatable {
  static let variable = "CIPHERDATA_LOG"
  /// The setting that the process started with.
  static let current: EnvironmentLog = {
    let (log, unknown) = EnvironmentLog.parse(ProcessInfo.processInfo.environment[variable] ?? "")
    for word in unknown { write("\(variable): “\(word.prefix(40))” is unknown; use sql and migration, separated by a comma") }
    return log
  }()

  /// Whether statements are logged after they run.
  var sql = false
  /// Whether the phases of migrations are logged.
  var migration = false

  /// Parses the value of the variable.
  static func parse(_ text: String) -> (EnvironmentLog, unknown: [String]) {
    var log = EnvironmentLog()
    var unknown: [String] = []
    for word in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
      switch word.lowercased() {
      case "sql": log.sql = true
      case "migration": log.migration = true
      default: unknown.append(String(word))
      }
    }
    return (log, unknown)
  }

  /// Writes a line with one system call, so that lines of different threads do not interleave.
  static func write(_ text: String) {
    let bytes = Array("CipherData \(text)\n".utf8)
    _ = bytes.withUnsafeBytes { Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Returns the callback for executed statements of a store's connections, or `nil` if neither the log nor the observer needs one.
  func profiler(of store: String, observer: SQLObserver?) -> (@Sendable (ProfiledStatement) -> Void)? {
    let handler = observer?.profiler
    guard sql || handler != nil else { return nil }
    let (sql, name) = (sql, Self.name(store))
    return { statement in
      let statement = ObservedStatement(statement)
      handler?(statement)
      if sql { Self.write("sql [\(name)] \(statement)") }
    }
  }

  /// Returns the progress handler for the migration of a store: it calls the description's handler, and logs each new phase if migrations
  /// are logged.
  func progress(
    of store: String, _ handler: (@Sendable (MigrationProgress) -> Void)?
  ) -> (@Sendable (MigrationProgress) -> Void)? {
    guard migration else { return handler }
    let name = Self.name(store)
    let phase = Mutex("")
    return { progress in
      handler?(progress)
      let isNew = phase.withLock { phase in
        defer { phase = progress.phase }
        return phase != progress.phase
      }
      if isNew { Self.write("migration [\(name)] \(progress)") }
    }
  }

  private static func name(_ path: String) -> String { URL(fileURLWithPath: path).lastPathComponent }
}
