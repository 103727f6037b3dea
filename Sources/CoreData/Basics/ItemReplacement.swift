public import Foundation

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
