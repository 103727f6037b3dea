// AbsentClasses: classes of Core Data that are not there, with what to do instead.
public import Foundation

/// Absent: there is no CloudKit.
@available(
  *, unavailable,
  message: "there is no CloudKit; use NSPersistentContainer, and read NSPersistentHistoryChangeRequest to send changes elsewhere"
)
open class NSPersistentCloudKitContainer: NSPersistentContainer, @unchecked Sendable {}  // it is never made

/// Absent: there is no CloudKit.
@available(*, unavailable, message: "there is no CloudKit; leave the options out")
public final class NSPersistentCloudKitContainerOptions: NSObject {}

/// Absent: there is no CloudKit.
@available(*, unavailable, message: "there is no CloudKit; an application that sends changes itself knows what has become of them")
public final class NSPersistentCloudKitContainerEvent: NSObject {}

/// Absent: there is no CloudKit.
@available(*, unavailable, message: "there is no CloudKit; an application that sends changes itself knows what has become of them")
public final class NSPersistentCloudKitContainerEventRequest: NSPersistentStoreRequest {}

/// Absent: there is no CloudKit.
@available(*, unavailable, message: "there is no CloudKit; an application that sends changes itself knows what has become of them")
public final class NSPersistentCloudKitContainerEventResult: NSPersistentStoreResult {}

/// Absent: there is no CloudKit.
@available(*, unavailable, message: "there is no CloudKit, and no schema to make there; leave the call out")
public struct NSPersistentCloudKitContainerSchemaInitializationOptions: Sendable {}

/// Absent: there is no Spotlight.
@available(*, unavailable, message: "there is no Spotlight; give the entity a full-text index, and search it by a predicate with SEARCH")
open class NSCoreDataCoreSpotlightDelegate: NSObject {}

/// Absent: requests carry their variables.
@available(*, unavailable, message: "fetch first, and give what was fetched to the predicate")
public final class NSFetchRequestExpression: NSObject {}

/// Absent: there is no key-value observing.
@available(*, unavailable, message: "there is no key-value observing; set the relationship, or use its addTo… and removeFrom… methods")
public enum NSKeyValueSetMutationKind: UInt, Sendable {
  /// Members are added.
  case union = 1
  /// Members are removed.
  case minus
  /// Other members are removed.
  case intersect
  /// All members are others.
  case set
}
