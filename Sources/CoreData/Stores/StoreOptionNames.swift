// StoreOptionNames: options of stores that applications set beside those of a description's own.
import Foundation
import ObjectStore
import SQLCipherStore

/// The option of how long a store waits for others who write, in seconds.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// The option of how many readers a store may have at once.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSizeKey"
/// The option of how the system protects a store's files; here they are encrypted, whatever it says.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// The option that a migration does what can wait later, by ``NSPersistentStoreCoordinator/finishDeferredLightweightMigration()``.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
  "NSPersistentStoreDeferredLightweightMigrationOptionKey"

/// Sets an option of a description.
///
/// - Returns: Whether it is one of these.
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
