public import Foundation
package import Logging

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

/// A log object for one part of an application.
///
/// ```swift
/// let storage = OSLog(subsystem: "org.example.library", category: "storage")
/// os_log("opened %{public}@ in %.2f s", log: storage, type: .info, url.lastPathComponent, seconds)
/// ```
///
/// The subsystem is the label of a swift-log logger, and the category is in its metadata under `category`.
public final class OSLog: NSObject, Sendable {
  /// A category with a meaning for Apple's tools.
  public struct Category: RawRepresentable, Hashable, Sendable {
    /// The category's name.
    public let rawValue: String
    /// Creates a category from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Points in time.
    public static let pointsOfInterest = Category(rawValue: "PointsOfInterest")
    /// Events that are recorded while a tool is tracing.
    public static let dynamicTracing = Category(rawValue: "DynamicTracing")
    /// Events with a stack trace that are recorded while a tool is tracing.
    public static let dynamicStackTracing = Category(rawValue: "DynamicStackTracing")
  }

  /// The log for messages without a subsystem. Its label is the name of the process.
  public static let `default` = OSLog(.logger(Logging.Logger(label: ProcessInfo.processInfo.processName)))
  /// A log that discards messages.
  public static let disabled = OSLog(.none)

  /// The receiver of messages at or above a level. Tests use a closure.
  private enum Destination {
    case none
    case logger(Logging.Logger)
    case sink(minimum: Logging.Logger.Level, @Sendable (Logging.Logger.Level, String) -> Void)
  }
  private let destination: Destination

  private init(_ destination: Destination) { self.destination = destination }

  package convenience init(minimum: Logging.Logger.Level, sink: @escaping @Sendable (Logging.Logger.Level, String) -> Void) {
    self.init(.sink(minimum: minimum, sink))
  }

  /// Creates a log for a subsystem and a category.
  public convenience init(subsystem: String, category: String) {
    var logger = Logging.Logger(label: subsystem)
    logger[metadataKey: "category"] = "\(category)"
    self.init(.logger(logger))
  }

  /// Creates a log for a subsystem and a category with a meaning for Apple's tools.
  public convenience init(subsystem: String, category: Category) {
    self.init(subsystem: subsystem, category: category.rawValue)
  }

  /// Returns whether messages at a level are written.
  public func isEnabled(type: OSLogType) -> Bool { isEnabled(type.level) }

  private func isEnabled(_ level: Logging.Logger.Level) -> Bool {
    switch destination {
    case .none: false
    case .logger(let logger): logger.logLevel <= level
    case .sink(let minimum, _): minimum <= level
    }
  }

  func write(_ level: Logging.Logger.Level, _ text: () -> String) {
    // The values of a message that is not written are not computed.
    guard isEnabled(level) else { return }
    switch destination {
    case .none: break
    case .logger(let logger): logger.log(level: level, "\(text())", source: logger.label, file: "", function: "", line: 0)
    case .sink(_, let sink): sink(level, text())
    }
  }
}

/// Writes a message with a format and arguments.
///
/// The arguments can be of any type, because strings, errors, and most objects do not conform to `CVarArg` on Linux. Numbers are shown, and
/// objects and strings are `<private>`, unless the format specifies otherwise: `%{public}@`, `%{private}d`.
///
/// - Parameters:
///   - message: The format.
///   - dso: Ignored.
///   - log: The log.
///   - type: The level.
///   - args: The arguments.
public func os_log(
  _ message: StaticString, dso: UnsafeRawPointer? = nil, log: OSLog = .default, type: OSLogType = .default, _ args: Any?...
) {
  log.write(type.level) { FormatString(message.description).text(args) }
}

/// Writes a message at a level with a format and arguments.
///
/// - Parameters:
///   - type: The level.
///   - dso: Ignored.
///   - log: The log.
///   - message: The format.
///   - args: The arguments.
public func os_log(
  _ type: OSLogType, dso: UnsafeRawPointer? = nil, log: OSLog = .default, _ message: StaticString, _ args: Any?...
) {
  log.write(type.level) { FormatString(message.description).text(args) }
}

/// Writes a message with interpolations.
@_disfavoredOverload
public func os_log(_ message: OSLogMessage) { OSLog.default.write(OSLogType.default.level) { message.text } }

/// Writes a message at a level with interpolations.
///
/// - Parameters:
///   - logLevel: The level.
///   - log: The log.
///   - message: The message.
@_disfavoredOverload
public func os_log(_ logLevel: OSLogType, log: OSLog = .default, _ message: OSLogMessage) { log.write(logLevel.level) { message.text } }

/// The level of a message.
public struct OSLogType: RawRepresentable, Hashable, Sendable {
  /// The raw value of the level on Apple's systems.
  public let rawValue: UInt8

  /// Creates a level from its raw value.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A message that should be kept: swift-log's `notice`.
  public static let `default` = OSLogType(rawValue: 0x00)
  /// A helpful but not essential message.
  public static let info = OSLogType(rawValue: 0x01)
  /// A message for development.
  public static let debug = OSLogType(rawValue: 0x02)
  /// An error in the process.
  public static let error = OSLogType(rawValue: 0x10)
  /// An error that affects more than the process, or a bug: swift-log's `critical`.
  public static let fault = OSLogType(rawValue: 0x11)

  var level: Logging.Logger.Level {
    switch self {
    case .debug: .debug
    case .info: .info
    case .error: .error
    case .fault: .critical
    default: .notice
    }
  }
}
