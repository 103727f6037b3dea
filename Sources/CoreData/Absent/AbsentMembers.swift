// AbsentMembers: functions and constants of Core Data that are not there, with what to do instead.
public import Foundation

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
    forKeyPath keyPath: String?, of object: Any?, change: [String: Any]?,
    context: UnsafeMutableRawPointer?
  ) {}
  /// Absent: merging is told with all other changes.
  @available(*, unavailable, message: "observe didChangeObjectsNotification, which tells of merged changes too")
  public static var didMergeChangesObjectIDsNotification: NSNotification.Name {
    didChangeObjectsNotification
  }
}

extension NSPersistentStoreDescription {
  /// Absent: there is no CloudKit.
  @available(*, unavailable, message: "there is no CloudKit")
  public var cloudKitContainerOptions: Any? {
    get { nil }
    set {}
  }
}

extension NSPredicate {
  /// Absent: there are no lists of C's variadic arguments.
  @available(*, unavailable, message: "give the arguments in an array: init(format:argumentArray:)")
  public convenience init(format: String, arguments: CVaListPointer) { self.init(value: false) }
  /// Absent: there is no Spotlight.
  @available(*, unavailable, message: "there is no Spotlight; use init(format:)")
  public convenience init?(fromMetadataQueryString query: String) { nil }
  /// Absent: predicates are not archived.
  @available(*, unavailable, message: "predicates are not archived here, so that all may be evaluated; leave the call out")
  public func allowEvaluation() {}
}

extension UndoManager {
  /// Absent: nothing is discarded when a system ends an application.
  @available(*, unavailable, message: "no system discards actions here; leave the call out")
  public func setActionIsDiscardable(_ discardable: Bool) {}
  /// Absent: nothing is discarded when a system ends an application.
  @available(*, unavailable, message: "no system discards actions here")
  public var undoActionIsDiscardable: Bool { false }
  /// Absent: nothing is discarded when a system ends an application.
  @available(*, unavailable, message: "no system discards actions here")
  public var redoActionIsDiscardable: Bool { false }

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
