import Foundation
import ObjectStore
import SQLCipherStore

/// The option for the maximum time to wait for other writers, in seconds.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// The option for the maximum number of concurrent readers of a store.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSizeKey"
/// The option for the system's file protection. Files are encrypted regardless of its value.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// The option to defer tasks of a migration until ``NSPersistentStoreCoordinator/finishDeferredLightweightMigration()``.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
  "NSPersistentStoreDeferredLightweightMigrationOptionKey"

/// Sets an option of a description.
///
/// - Returns: Whether the option is one of those declared here.
func setStoreOption(
  _ option: NSObject, _ key: String, in description: inout PersistentStoreDescription
) -> Bool {
  let number = option as? NSNumber
  switch key {
  case NSPersistentStoreTimeoutOption:
    if let number { description.busyTimeout = number.doubleValue }
  case NSPersistentStoreConnectionPoolMaxSizeKey:
    if let number { description.maximumReaderCount = max(1, number.intValue) }
  case NSPersistentStoreDeferredLightweightMigrationOptionKey:
    description.defersLightweightMigration = number?.boolValue ?? true
  case NSPersistentStoreFileProtectionKey: break
  default: return false
  }
  return true
}
