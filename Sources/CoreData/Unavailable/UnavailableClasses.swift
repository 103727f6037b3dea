// Core Data classes that are unavailable, with their replacements.
public import Foundation

/// Unavailable: CloudKit is not supported.
@available(
  *, unavailable,
  message: "there is no CloudKit; use NSPersistentContainer, and synchronize changes with NSPersistentHistoryChangeRequest"
)
open class NSPersistentCloudKitContainer: NSPersistentContainer, @unchecked Sendable {}  // never instantiated

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit; remove the options")
public final class NSPersistentCloudKitContainerOptions: NSObject {}

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit; track the progress in the code that synchronizes changes")
public final class NSPersistentCloudKitContainerEvent: NSObject {}

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit; track the progress in the code that synchronizes changes")
public final class NSPersistentCloudKitContainerEventRequest: NSPersistentStoreRequest {}

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit; track the progress in the code that synchronizes changes")
public final class NSPersistentCloudKitContainerEventResult: NSPersistentStoreResult {}

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit, and no schema to create; remove the call")
public struct NSPersistentCloudKitContainerSchemaInitializationOptions: Sendable {}

/// Unavailable: Spotlight is not supported.
@available(*, unavailable, message: "there is no Spotlight; add a full-text index to the entity, and search it with SEARCH in a predicate")
open class NSCoreDataCoreSpotlightDelegate: NSObject {}

/// Unavailable: requests contain their variables.
@available(*, unavailable, message: "fetch first, and use the result in the predicate")
public final class NSFetchRequestExpression: NSObject {}

/// Unavailable: key-value observing is not supported.
@available(*, unavailable, message: "there is no key-value observing; set the relationship, or use its addTo… and removeFrom… methods")
public enum NSKeyValueSetMutationKind: UInt, Sendable {
  /// Adds members.
  case union = 1
  /// Removes the given members.
  case minus
  /// Removes all other members.
  case intersect
  /// Replaces all members.
  case set
}
