import Logging

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
