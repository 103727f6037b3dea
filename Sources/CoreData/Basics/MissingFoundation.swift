// Foundation functions that Core Data stacks use and that are missing or different on Linux.
public import Foundation

/// Nanoseconds in a second.
public let NSEC_PER_SEC: UInt64 = 1_000_000_000
/// Nanoseconds in a millisecond.
public let NSEC_PER_MSEC: UInt64 = 1_000_000
/// Nanoseconds in a microsecond.
public let NSEC_PER_USEC: UInt64 = 1_000
/// Microseconds in a second.
public let USEC_PER_SEC: UInt64 = 1_000_000

/// Calls the closure. Linux has no autorelease pools: an object is released with its last reference.
///
/// - Parameter body: The closure.
/// - Returns: The closure's result.
/// - Throws: The closure's error.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }

extension NSObject {
  /// The class to use for archiving.
  public class func classForCoder() -> AnyClass { self }
}

extension FileManager {
  /// Returns the shared directory of an application group and creates it if it is missing.
  ///
  /// Linux has no application groups. As on macOS without a sandbox, the directory belongs to the user.
  ///
  /// - Parameter groupIdentifier: The group identifier.
  /// - Returns: The directory; nil if the user has no application data directory.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    guard let folder = urls(for: .applicationSupportDirectory, in: .userDomainMask).first else { return nil }
    let group = folder.appendingPathComponent("Group Containers").appendingPathComponent(groupIdentifier)
    // If the directory cannot be created, opening the store reports the error.
    try? createDirectory(at: group, withIntermediateDirectories: true)
    return group
  }
}
