// ItemReplacement: one file in the place of another, as Foundation documents it.
public import Foundation

extension FileManager {
  /// Replaces an item by another one, which leaves its own place.
  ///
  /// The code that the plugin generates calls this method instead of Foundation's `replaceItemAt(_:withItemAt:backupItemName:options:)`: on Linux that method moves
  /// the original over the new item and then fails, so that the new contents are lost (Swift 6.3.1).
  ///
  /// - Parameters:
  ///   - originalItemURL: The item to replace. If it does not exist, the new item is moved to its place.
  ///   - newItemURL: The new item.
  ///   - backupItemName: The name that the original has until the new item is in its place, and afterward with `withoutDeletingBackupItem`.
  ///   - options: What becomes of the original and of its permissions.
  /// - Returns: The URL of the replaced item.
  /// - Throws: An error of the file system. The original is in its place then.
  public func _replaceItem(
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
    // One call replaces a file on the same volume; there is no moment without one.
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
