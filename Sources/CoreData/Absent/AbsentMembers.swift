// AbsentMembers: functions and constants of Core Data that are not there, with what to do instead.
public import Foundation

/// Absent: everything that is written is encrypted.
@available(*, unavailable, message: "there are no XML stores; NSSQLiteStoreType is the encrypted store")
public var NSXMLStoreType: String { "XML" }
extension NSManagedObjectContext {
  /// Absent: a context is used on its queue.
  @available(*, unavailable, message: "use the context in blocks of perform and performAndWait")
  public func lock() {}
  /// Absent: a context is used on its queue.
  @available(*, unavailable, message: "use the context in blocks of perform and performAndWait")
  public func unlock() {}
  /// Absent: a context is used on its queue.
  @available(*, unavailable, message: "use the context in blocks of perform and performAndWait")
  public func tryLock() -> Bool { false }
  /// Absent: objects are observed by notifications.
  ///
  /// - Parameters:
  ///   - keyPath: The path.
  ///   - object: The object.
  ///   - change: What was changed.
  ///   - context: What the observer gave.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [String: Any]?, context: UnsafeMutableRawPointer?
  ) {}
  /// Absent: merging is told with all other changes.
  @available(*, unavailable, message: "observe didChangeObjectsNotification, which tells of merged changes too")
  public static var didMergeChangesObjectIDsNotification: NSNotification.Name { didChangeObjectsNotification }
}

extension NSPersistentStoreDescription {
  /// Absent: the store sets its pragmas itself.
  @available(*, unavailable, message: "the store sets its pragmas itself")
  public func setValue(_ value: NSObject?, forPragmaNamed name: String) {}
  /// Absent: there is no CloudKit.
  @available(*, unavailable, message: "there is no CloudKit")
  public var cloudKitContainerOptions: Any? { nil }
}

extension NSPredicate {
  /// Absent: there are no lists of C's variadic arguments.
  @available(*, unavailable, message: "give the arguments in an array: init(format:argumentArray:)")
  public convenience init(format: String, arguments: CVaListPointer) { self.init(value: false) }
  /// Absent: there is no Spotlight.
  @available(*, unavailable, message: "there is no Spotlight; use init(format:)")
  public convenience init?(fromMetadataQueryString query: String) { nil }
}

extension UndoManager {
  /// Absent: there are no selectors.
  ///
  /// - Parameters:
  ///   - target: What is changed.
  ///   - selector: What changes it back.
  ///   - object: What it is given.
  @available(*, unavailable, message: "use registerUndo(withTarget:handler:)")
  public func registerUndo(withTarget target: Any, selector: Selector, object: Any?) {}
  /// Absent: there are no invocations.
  @available(*, unavailable, message: "use registerUndo(withTarget:handler:)")
  public func prepare(withInvocationTarget target: Any) -> Any { target }
}

extension NSManagedObject {
  /// Absent: there is no key-value observing.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func observationInfo() -> UnsafeMutableRawPointer? { nil }
}
