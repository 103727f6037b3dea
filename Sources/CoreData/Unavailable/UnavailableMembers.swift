// Unavailable members of contexts, objects and models, with their replacements.

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

extension NSManagedObjectModel {
  /// Unavailable: names are not localized.
  @available(*, unavailable, message: "errors use the model's names of entities and properties; localize them in the user interface")
  public var localizationDictionary: [String: String]? {
    get { nil }
    set {}
  }
  /// Unavailable: `entityVersionHashesByName` identifies a version.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "compare entityVersionHashesByName")
  public static func checksumsForVersionedModel(at modelURL: URL) throws -> [String: String] { [:] }
}

extension NSEntityDescription {
  /// Unavailable: deprecated in Core Data.
  @available(*, unavailable, message: "use indexes")
  public var compoundIndexes: [[Any]] {
    get { [] }
    set {}
  }
}

extension NSPropertyDescription {
  /// Unavailable: validation rules are read from the model file.
  @available(*, unavailable, message: "declare the rules in the model file, or override validateForInsert and similar methods")
  public var validationPredicates: [NSPredicate] { [] }
  /// Unavailable: validation rules are read from the model file.
  @available(*, unavailable, message: "declare the rules in the model file, or override validateForInsert and similar methods")
  public var validationWarnings: [Any] { [] }
  /// Unavailable: validation rules are read from the model file.
  ///
  /// - Parameters:
  ///   - validationPredicates: The rules.
  ///   - validationWarnings: The messages for values that violate them.
  @available(*, unavailable, message: "declare the rules in the model file, or override validateForInsert and similar methods")
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {}
  /// Unavailable: only entities have version hashes.
  @available(*, unavailable, message: "compare the entity's versionHash")
  public var versionHash: Data { Data() }
  /// Unavailable: deprecated in Core Data.
  @available(*, unavailable, message: "there are no external records; remove it")
  public var isStoredInExternalRecord: Bool {
    get { false }
    set {}
  }
}

extension NSManagedObject {
  /// Unavailable: key-value observing is not supported.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public var observationInfo: UnsafeMutableRawPointer? {
    get { nil }
    set {}
  }
  /// Unavailable: key-value observing is not supported.
  ///
  /// - Parameters:
  ///   - observer: The observer.
  ///   - keyPath: The key path.
  ///   - options: The values to include in notifications.
  ///   - context: The observer's context.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func addObserver(
    _ observer: NSObject, forKeyPath keyPath: String, options: UInt = 0,
    context: UnsafeMutableRawPointer?
  ) {}
  /// Unavailable: key-value observing is not supported.
  ///
  /// - Parameters:
  ///   - observer: The observer.
  ///   - keyPath: The key path.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func removeObserver(_ observer: NSObject, forKeyPath keyPath: String) {}
  /// Unavailable: key-value observing is not supported.
  ///
  /// - Parameters:
  ///   - key: The relationship's name.
  ///   - mutationKind: The kind of change.
  ///   - objects: The objects added, removed or set.
  @available(*, unavailable, message: "set the relationship, or use its addTo… and removeFrom… methods, or mutableSetValue(forKey:)")
  public func willChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {}
  /// Unavailable: key-value observing is not supported.
  ///
  /// - Parameters:
  ///   - key: The relationship's name.
  ///   - mutationKind: The kind of change.
  ///   - objects: The objects added, removed or set.
  @available(*, unavailable, message: "set the relationship, or use its addTo… and removeFrom… methods, or mutableSetValue(forKey:)")
  public func didChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {}
  /// Unavailable: no property is a mutable array.
  @available(*, unavailable, message: "use mutableSetValue(forKey:) or mutableOrderedSetValue(forKey:)")
  public func mutableArrayValue(forKey key: String) -> NSMutableArray { [] }
}
