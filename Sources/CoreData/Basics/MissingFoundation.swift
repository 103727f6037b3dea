// MissingFoundation: functions of Foundation that stacks of Core Data use, and that Linux lacks or has otherwise.
public import Foundation

/// Nanoseconds in a second.
public let NSEC_PER_SEC: UInt64 = 1_000_000_000
/// Nanoseconds in a millisecond.
public let NSEC_PER_MSEC: UInt64 = 1_000_000
/// Nanoseconds in a microsecond.
public let NSEC_PER_USEC: UInt64 = 1_000
/// Microseconds in a second.
public let USEC_PER_SEC: UInt64 = 1_000_000

/// Does what is asked: there are no pools of objects on Linux, where each object goes with its last reference.
///
/// - Parameter body: What is to be done.
/// - Returns: What it has given.
/// - Throws: What it throws.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }

extension NSObject {
  /// The class, which archives name.
  public class func classForCoder() -> AnyClass { self }
}

extension FileManager {
  /// The folder that the applications of a group share, which is made where it is missing: there are no groups on Linux, so that it is one of the user's own, as on a Mac without a sandbox.
  ///
  /// - Parameter groupIdentifier: The group.
  /// - Returns: The folder; nil where the user has none for the data of applications.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    guard let folder = urls(for: .applicationSupportDirectory, in: .userDomainMask).first else { return nil }
    let group = folder.appendingPathComponent("Group Containers").appendingPathComponent(groupIdentifier)
    // Where the folder cannot be made the store says so when it is opened.
    try? createDirectory(at: group, withIntermediateDirectories: true)
    return group
  }
}
