// EnvironmentLog: what the environment variable CIPHERDATA_LOG asks to be told on standard error.
import Foundation
import ObjectStore
import SQLCipherConnection
import Synchronization

/// What of all stores of the process is told on standard error, one line each.
struct EnvironmentLog: Sendable, Equatable {
  static let variable = "CIPHERDATA_LOG"
  /// What the process was started with.
  static let current: EnvironmentLog = {
    let (log, unknown) = EnvironmentLog.parse(ProcessInfo.processInfo.environment[variable] ?? "")
    for word in unknown { write("\(variable): “\(word.prefix(40))” is not known; sql and migration are, parted by a comma") }
    return log
  }()

  /// The statements that run.
  var sql = false
  /// The phases of migrations.
  var migration = false

  /// Reads the variable's value.
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

  /// Writes a line at once, so that those of several threads stay whole.
  static func write(_ text: String) {
    let bytes = Array("CipherData \(text)\n".utf8)
    _ = bytes.withUnsafeBytes { Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Who is told of the statements of a store's connections; nil where nobody is.
  func profiler(of store: String, observer: SQLObserver?) -> (@Sendable (ProfiledStatement) -> Void)? {
    let heard = observer?.profiler
    guard sql || heard != nil else { return nil }
    let (sql, name) = (sql, Self.name(store))
    return { statement in
      let statement = ObservedStatement(statement)
      heard?(statement)
      if sql { Self.write("sql [\(name)] \(statement)") }
    }
  }

  /// Who is told how far the migration of a store has come: the description's handler, and standard error at each new phase.
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
