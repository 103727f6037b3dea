// Core Data classes that are unavailable, with their replacements.
public import Foundation

/// Unavailable: CloudKit is not supported.
@available(
  *, unavailable,
  message: "there is no CloudKit; use NSPersistentContainer, and read NSPersistentHistoryChangeRequest to send changes elsewhere"
)
open class NSPersistentCloudKitContainer: NSPersistentContainer, @unchecked Sendable {}  // it is never made

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit; leave the options out")
public final class NSPersistentCloudKitContainerOptions: NSObject {}

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit; an application that sends changes itself knows what has become of them")
public final class NSPersistentCloudKitContainerEvent: NSObject {}

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit; an application that sends changes itself knows what has become of them")
public final class NSPersistentCloudKitContainerEventRequest: NSPersistentStoreRequest {}

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit; an application that sends changes itself knows what has become of them")
public final class NSPersistentCloudKitContainerEventResult: NSPersistentStoreResult {}

/// Unavailable: CloudKit is not supported.
@available(*, unavailable, message: "there is no CloudKit, and no schema to make there; leave the call out")
public struct NSPersistentCloudKitContainerSchemaInitializationOptions: Sendable {}

/// Unavailable: Spotlight is not supported.
@available(*, unavailable, message: "there is no Spotlight; give the entity a full-text index, and search it by a predicate with SEARCH")
open class NSCoreDataCoreSpotlightDelegate: NSObject {}

/// Unavailable: requests contain their variables.
@available(*, unavailable, message: "fetch first, and give what was fetched to the predicate")
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
