public import Foundation
import ObjectContext
import ObjectStore

/// The resolution of conflicts.
public enum NSMergePolicyType: UInt, Sendable {
  /// The save fails with an error.
  case errorMergePolicyType
  /// The store's changes take precedence, property by property.
  case mergeByPropertyStoreTrumpMergePolicyType
  /// The context's changes take precedence, property by property.
  case mergeByPropertyObjectTrumpMergePolicyType
  /// The context's object replaces the row.
  case overwriteMergePolicyType
  /// The context's changes are discarded.
  case rollbackMergePolicyType

  var value: MergePolicy.MergeType {
    switch self {
    case .errorMergePolicyType: .error
    case .mergeByPropertyStoreTrumpMergePolicyType: .mergeByPropertyStoreTrump
    case .mergeByPropertyObjectTrumpMergePolicyType: .mergeByPropertyObjectTrump
    case .overwriteMergePolicyType: .overwrite
    case .rollbackMergePolicyType: .rollback
    }
  }
}

/// The policy that resolves the conflicts of a save: rows changed since they were fetched, and violated uniqueness constraints.
///
/// A subclass can resolve conflicts itself. The save calls it for one conflict at a time, before anything is written. Changes that it makes
/// to the conflict's objects are saved in any case. For all other values, it calls `super`, or another policy's method, which resolves the
/// conflict by that policy's type. Without such a call, the object in memory takes precedence. Errors that the subclass throws are thrown
/// by the save.
///
/// The subclass must not change other objects or to-many relationships. Such changes are kept and become part of the next save.
open class NSMergePolicy: NSObject, @unchecked Sendable {  // immutable; subclasses are responsible for their own state
  /// The resolution of conflicts.
  public let mergeType: NSMergePolicyType

  /// Creates a policy of a type.
  public init(merge type: NSMergePolicyType) { mergeType = type }

  /// The save fails with an error.
  public static let error = NSMergePolicy(merge: .errorMergePolicyType)
  /// The store's changes take precedence, property by property.
  public static let mergeByPropertyStoreTrump = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
  /// The context's changes take precedence, property by property.
  public static let mergeByPropertyObjectTrump = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  /// The context's object replaces the row.
  public static let overwrite = NSMergePolicy(merge: .overwriteMergePolicyType)
  /// The context's changes are discarded.
  public static let rollback = NSMergePolicy(merge: .rollbackMergePolicyType)

  /// Resolves conflicts: ``resolve(optimisticLockingConflicts:)`` those of changed rows, ``resolve(constraintConflicts:)`` those of
  /// uniqueness constraints.
  ///
  /// - Throws: The error that the save throws.
  open func resolve(mergeConflicts list: [Any]) throws {
    let rows = list.compactMap { $0 as? NSMergeConflict }
    if !rows.isEmpty { try resolve(optimisticLockingConflicts: rows) }
    let values = list.compactMap { $0 as? NSConstraintConflict }
    if !values.isEmpty { try resolve(constraintConflicts: values) }
  }

  /// Resolves conflicts of changed rows by the policy's type.
  ///
  /// - Throws: `NSError` with ``NSManagedObjectMergeError`` if the type is ``NSMergePolicyType/errorMergePolicyType``.
  open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    if mergeType == .errorMergePolicyType { throw Self.unresolved(NSManagedObjectMergeError, list) }
    for conflict in list { conflict.decision = mergeType }
  }

  /// Resolves violations of uniqueness constraints by the policy's type.
  ///
  /// - Throws: `NSError` with ``NSManagedObjectConstraintMergeError`` if the type is ``NSMergePolicyType/errorMergePolicyType``.
  open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    if mergeType == .errorMergePolicyType { throw Self.unresolved(NSManagedObjectConstraintMergeError, list) }
    for conflict in list { conflict.decision = mergeType }
  }

  private static func unresolved(_ code: Int, _ list: [Any]) -> NSError {
    NSError(domain: NSCocoaErrorDomain, code: code, userInfo: [NSPersistentStoreSaveConflictsErrorKey: list])
  }

  /// Returns the underlying policy for a context.
  final func policy(in context: NSManagedObjectContext) -> MergePolicy {
    type(of: self) == NSMergePolicy.self
      ? MergePolicy(merge: mergeType.value) : MergePolicy(MergePolicyAdapter(policy: self, context: context))
  }
}

/// The save fails with an error.
public let NSErrorMergePolicy = NSMergePolicy.error
/// The store's changes take precedence, property by property.
public let NSMergeByPropertyStoreTrumpMergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
/// The context's changes take precedence, property by property.
public let NSMergeByPropertyObjectTrumpMergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
/// The context's object replaces the row.
public let NSOverwriteMergePolicy = NSMergePolicy.overwrite
/// The context's changes are discarded.
public let NSRollbackMergePolicy = NSMergePolicy.rollback

/// A conflict with a row that was changed or deleted since its object was fetched.
open class NSMergeConflict: NSObject {
  /// The object being saved.
  public let sourceObject: NSManagedObject
  /// The values of the object in its context by name, including unsaved changes: the ID for an object, `NSNull` for no value.
  public let objectSnapshot: [String: Any]?
  /// The values cached by the coordinator; nil if the row is known to be deleted.
  public let cachedSnapshot: [String: Any]?
  /// The values in the store, if they differ from the cached ones.
  public let persistedSnapshot: [String: Any]?
  /// The version in the store; 0 if the row was deleted.
  public let newVersionNumber: Int
  /// The version of the object when it was fetched.
  public let oldVersionNumber: Int
  /// The policy's decision.
  final var decision: NSMergePolicyType?

  /// Creates a conflict.
  ///
  /// - Parameters:
  ///   - srcObject: The object being saved.
  ///   - newvers: The version in the store.
  ///   - oldvers: The version of the object when it was fetched.
  ///   - cachesnap: The values cached by the coordinator.
  ///   - persnap: The values in the store.
  public init(
    source srcObject: NSManagedObject, newVersion newvers: Int, oldVersion oldvers: Int, cachedSnapshot cachesnap: [String: Any]?,
    persistedSnapshot persnap: [String: Any]?
  ) {
    (sourceObject, newVersionNumber, oldVersionNumber) = (srcObject, newvers, oldvers)
    (cachedSnapshot, persistedSnapshot) = (cachesnap, persnap)
    objectSnapshot = nil
  }

  init(_ conflict: MergeConflict, in context: NSManagedObjectContext) {
    sourceObject = context.object(with: conflict.objectID)
    objectSnapshot = ConflictValues.shown(conflict.objectSnapshot)
    cachedSnapshot = ConflictValues.shown(conflict.cachedSnapshot)
    persistedSnapshot = ConflictValues.shown(conflict.persistedSnapshot)
    (newVersionNumber, oldVersionNumber) = (Int(conflict.newVersion), Int(conflict.oldVersion))
  }
}

/// A conflict of objects with equal values for a uniqueness constraint.
open class NSConstraintConflict: NSObject {
  /// The names of the constraint's properties.
  public let constraint: [String]
  /// The values of these properties that the objects share.
  public let constraintValues: [String: Any]
  /// The stored object with these values; nil if only objects of the save conflict.
  public let databaseObject: NSManagedObject?
  /// The values of the stored object by name.
  public let databaseSnapshot: [String: Any]?
  /// The objects being saved.
  public let conflictingObjects: [NSManagedObject]
  /// The values of these objects by name.
  public let conflictingSnapshots: [[AnyHashable: Any]]
  /// The policy's decision.
  final var decision: NSMergePolicyType?

  /// Creates a conflict.
  ///
  /// - Parameters:
  ///   - contraint: The names of the constraint's properties.
  ///   - databaseObject: The stored object.
  ///   - databaseSnapshot: Its values.
  ///   - conflictingObjects: The objects being saved.
  ///   - conflictingSnapshots: Their values.
  public init(
    constraint contraint: [String], databaseObject: NSManagedObject?, databaseSnapshot: [AnyHashable: Any]?,
    conflictingObjects: [NSManagedObject], conflictingSnapshots: [Any]
  ) {
    constraint = contraint
    self.databaseObject = databaseObject
    self.databaseSnapshot = databaseSnapshot?.reduce(into: [:]) { $0["\($1.key)"] = $1.value }
    self.conflictingObjects = conflictingObjects
    self.conflictingSnapshots = conflictingSnapshots.compactMap { $0 as? [AnyHashable: Any] }
    constraintValues = ConflictValues.values(of: contraint, in: self.conflictingSnapshots.first ?? databaseSnapshot)
  }

  init(_ conflict: ConstraintConflict, in context: NSManagedObjectContext) {
    constraint = conflict.constraint
    databaseObject = conflict.databaseObjectID.map { context.object(with: $0) }
    databaseSnapshot = ConflictValues.shown(conflict.databaseSnapshot)
    conflictingObjects = conflict.objectIDs.map { context.object(with: $0) }
    conflictingSnapshots = conflict.objectSnapshots.compactMap { ConflictValues.shown($0) }
    constraintValues = ConflictValues.values(
      of: conflict.constraint, in: conflictingSnapshots.first ?? databaseSnapshot.map { $0 as [AnyHashable: Any] })
  }
}

/// Converts snapshots to Core Data's types.
private enum ConflictValues {
  /// A value, which may be missing.
  private struct Found {
    let value: (any Sendable)?
    init(_ value: (any Sendable)?) { self.value = value }
  }

  static func shown(_ snapshot: RowSnapshot?) -> [String: Any]? {
    guard let snapshot else { return nil }
    return snapshot.keys.reduce(into: [:]) { values, key in
      // Values that cannot be read are omitted.
      guard let found = try? Found(snapshot[key]) else { return }
      values[key] = found.value.map { $0 as Any } ?? NSNull()
    }
  }

  static func values(of keys: [String], in snapshot: [AnyHashable: Any]?) -> [String: Any] {
    keys.reduce(into: [:]) { values, key in values[key] = snapshot?[key] }
  }
}

/// Calls an application's merge policy for the conflicts of a context.
final class MergePolicyAdapter: MergeResolver, CustomStringConvertible, @unchecked Sendable {  // called only on the context's queue
  private let policy: NSMergePolicy
  private weak var context: NSManagedObjectContext?

  init(policy: NSMergePolicy, context: NSManagedObjectContext) { (self.policy, self.context) = (policy, context) }

  var description: String { "\(type(of: policy))" }

  func decision(for conflict: MergeConflict) throws -> MergeDecision {
    guard let context else { return MergeDecision(policy.mergeType.value) }
    let shown = NSMergeConflict(conflict, in: context)
    return try decision(about: [shown.sourceObject], shown, in: context) { shown.decision }
  }

  func decision(for conflict: ConstraintConflict) throws -> MergeDecision {
    guard let context else { return MergeDecision(policy.mergeType.value) }
    let shown = NSConstraintConflict(conflict, in: context)
    // Changes of the objects being saved take precedence over those of the stored object, so they come last.
    let objects = [shown.databaseObject].compactMap { $0 } + shown.conflictingObjects
    return try decision(about: objects, shown, in: context) { shown.decision }
  }

  private func decision(
    about objects: [NSManagedObject], _ conflict: NSObject, in context: NSManagedObjectContext, _ decided: () -> NSMergePolicyType?
  ) throws -> MergeDecision {
    do {
      let values = try context.context.withTrialChanges(objects) { try policy.resolve(mergeConflicts: [conflict]) }
      var decision = MergeDecision(decided()?.value ?? .overwrite)
      decision.storedValues = values
      return decision
    } catch let error as NSError
      where error.domain == NSCocoaErrorDomain && [NSManagedObjectMergeError, NSManagedObjectConstraintMergeError].contains(error.code)
    {
      // The save reports the conflict.
      return MergeDecision(.error)
    }
  }
}

extension NSManagedObjectContext {
  /// Returns the error that a save throws, with its conflicts.
  func savingError(_ error: any Error) -> NSError {
    let made = CoreDataError.make(error) { [context] in context.registeredObject(for: $0) as? NSManagedObject }
    guard let error = error as? StoreError, !error.mergeConflicts.isEmpty || !error.constraintConflicts.isEmpty else { return made }
    var info = made.userInfo
    info[NSPersistentStoreSaveConflictsErrorKey] =
      error.mergeConflicts.map { NSMergeConflict($0, in: self) } as [Any]
      + error.constraintConflicts.map { NSConstraintConflict($0, in: self) }
    return NSError(domain: made.domain, code: made.code, userInfo: info)
  }
}
