import Logging

/// A logger for one part of an application.
///
/// ```swift
/// let logger = Logger(subsystem: "org.example.library", category: "storage")
/// logger.info("saved \(count) books")
/// logger.error("\(title, privacy: .private(mask: .hash)) was not saved: \(error.localizedDescription, privacy: .public)")
/// ```
///
/// Numbers are shown, and strings and objects are `<private>`, unless the message specifies otherwise. Messages go to swift-log: the
/// subsystem is the label of a logger, and the category is in its metadata under `category`. The log handler that the application passes to
/// `LoggingSystem.bootstrap` determines which messages are written and where.
public struct Logger: Sendable {
  private let log: OSLog

  /// Creates a logger for messages without a subsystem.
  public init() { log = .default }
  /// Creates a logger with a log object.
  public init(_ logObj: OSLog) { log = logObj }
  /// Creates a logger for a subsystem and a category.
  public init(subsystem: String, category: String) { log = OSLog(subsystem: subsystem, category: category) }

  /// Writes a message at the default level.
  public func log(_ message: OSLogMessage) { log.write(.notice) { message.text } }
  /// Writes a message at a level.
  public func log(level: OSLogType, _ message: OSLogMessage) { log.write(level.level) { message.text } }
  /// Writes a trace message.
  public func trace(_ message: OSLogMessage) { log.write(.trace) { message.text } }
  /// Writes a debug message.
  public func debug(_ message: OSLogMessage) { log.write(.debug) { message.text } }
  /// Writes an informational message.
  public func info(_ message: OSLogMessage) { log.write(.info) { message.text } }
  /// Writes a message at the default level.
  public func notice(_ message: OSLogMessage) { log.write(.notice) { message.text } }
  /// Writes a warning.
  public func warning(_ message: OSLogMessage) { log.write(.warning) { message.text } }
  /// Writes an error.
  public func error(_ message: OSLogMessage) { log.write(.error) { message.text } }
  /// Writes a critical error, which requires immediate attention.
  public func critical(_ message: OSLogMessage) { log.write(.critical) { message.text } }
  /// Writes a fault: an error that affects more than the process, or a bug.
  public func fault(_ message: OSLogMessage) { log.write(.critical) { message.text } }
}
