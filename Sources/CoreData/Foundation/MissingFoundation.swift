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

extension FileManager {
  /// Replaces an item with another one and removes the latter from its location.
  ///
  /// Generated code calls this method instead of Foundation's `replaceItemAt(_:withItemAt:backupItemName:options:)`. On Linux, that method
  /// moves the original over the new item and then fails, so the new contents are lost (Swift 6.3.1).
  ///
  /// - Parameters:
  ///   - originalItemURL: The item to replace. If it does not exist, the new item is moved to this URL.
  ///   - newItemURL: The new item.
  ///   - backupItemName: The name of the original during the replacement, and afterward if `withoutDeletingBackupItem` is set.
  ///   - options: Whether to keep the backup and the original's permissions.
  /// - Returns: The URL of the replaced item.
  /// - Throws: A file system error. The original is then unchanged.
  @_spi(Generated) public func safelyReplaceItem(
    at originalItemURL: URL, withItemAt newItemURL: URL, backupItemName: String?, options: ItemReplacementOptions
  ) throws -> URL? {
    guard fileExists(atPath: originalItemURL.path) else {
      try moveItem(at: newItemURL, to: originalItemURL)
      return originalItemURL
    }
    let attributes = try attributesOfItem(atPath: newItemURL.path)
    let permissions = try attributesOfItem(atPath: originalItemURL.path)[.posixPermissions]
    if let permissions, !options.contains(.usingNewMetadataOnly) {
      try setAttributes([.posixPermissions: permissions], ofItemAtPath: newItemURL.path)
    }
    let keepsBackup = options.contains(.withoutDeletingBackupItem) && backupItemName != nil
    // On one volume, `rename` replaces a file atomically.
    if !keepsBackup, attributes[.type] as? FileAttributeType == .typeRegular, rename(newItemURL.path, originalItemURL.path) == 0 {
      return originalItemURL
    }
    let backup = originalItemURL.deletingLastPathComponent().appendingPathComponent(backupItemName ?? ".\(UUID().uuidString)")
    try? removeItem(at: backup)
    try moveItem(at: originalItemURL, to: backup)
    do { try moveItem(at: newItemURL, to: originalItemURL) } catch {
      try moveItem(at: backup, to: originalItemURL)
      throw error
    }
    if !keepsBackup { try removeItem(at: backup) }
    return originalItemURL
  }
}
