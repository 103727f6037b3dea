// Core Data functions and constants that are unavailable, with their replacements.
public import Foundation

extension NSManagedObjectContext {
  /// Unavailable: a context is confined to its queue.
  @available(*, unavailable, message: "use the context in blocks of perform and performAndWait")
  public func lock() {}
  /// Unavailable: a context is confined to its queue.
  @available(*, unavailable, message: "use the context in blocks of perform and performAndWait")
  public func unlock() {}
  /// Unavailable: a context is confined to its queue.
  @available(*, unavailable, message: "use the context in blocks of perform and performAndWait")
  public func tryLock() -> Bool { false }
  /// Unavailable: notifications report changes of objects.
  ///
  /// - Parameters:
  ///   - keyPath: The key path.
  ///   - object: The object.
  ///   - change: The change.
  ///   - context: The observer's context.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [String: Any]?,
    context: UnsafeMutableRawPointer?
  ) {}
  /// Unavailable: notifications of changes include merged changes.
  @available(*, unavailable, message: "observe didChangeObjectsNotification, which also reports merged changes")
  public static var didMergeChangesObjectIDsNotification: NSNotification.Name {
    didChangeObjectsNotification
  }
}

extension NSPersistentStoreDescription {
  /// Unavailable: CloudKit is not supported.
  @available(*, unavailable, message: "there is no CloudKit")
  public var cloudKitContainerOptions: Any? {
    get { nil }
    set {}
  }
}

extension NSPredicate {
  /// Unavailable: C variadic argument lists are not supported.
  @available(*, unavailable, message: "pass the arguments in an array: init(format:argumentArray:)")
  public convenience init(format: String, arguments: CVaListPointer) { self.init(value: false) }
  /// Unavailable: Spotlight is not supported.
  @available(*, unavailable, message: "there is no Spotlight; use init(format:)")
  public convenience init?(fromMetadataQueryString query: String) { nil }
  /// Unavailable: predicates cannot be archived.
  @available(*, unavailable, message: "predicates are not archived, so all can be evaluated; remove the call")
  public func allowEvaluation() {}
}

extension UndoManager {
  /// Unavailable: no system discards undo actions.
  @available(*, unavailable, message: "the system never discards actions; remove the call")
  public func setActionIsDiscardable(_ discardable: Bool) {}
  /// Unavailable: no system discards undo actions.
  @available(*, unavailable, message: "the system never discards actions")
  public var undoActionIsDiscardable: Bool { false }
  /// Unavailable: no system discards undo actions.
  @available(*, unavailable, message: "the system never discards actions")
  public var redoActionIsDiscardable: Bool { false }

  /// Unavailable: selectors are not supported.
  ///
  /// - Parameters:
  ///   - target: The object to change.
  ///   - selector: The method that reverts the change.
  ///   - object: The method's argument.
  @available(*, unavailable, message: "use registerUndo(withTarget:handler:)")
  public func registerUndo(withTarget target: Any, selector: Selector, object: Any?) {}
  /// Unavailable: invocations are not supported.
  @available(*, unavailable, message: "use registerUndo(withTarget:handler:)")
  public func prepare(withInvocationTarget target: Any) -> Any { target }
}
