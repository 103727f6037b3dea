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

/// Absent: there is no Spotlight.
@available(*, unavailable, message: "there is no Spotlight; give the entity a full-text index, and search it by a predicate with SEARCH")
open class NSCoreDataCoreSpotlightDelegate: NSObject {}

/// Absent: requests carry their variables.
@available(*, unavailable, message: "fetch first, and give what was fetched to the predicate")
public final class NSFetchRequestExpression: NSObject {}

/// Absent: compositions of attributes are made in the model's file.
@available(*, unavailable, message: "declare the composite attribute in the model's file")
public final class NSCompositeAttributeDescription: NSObject {}
