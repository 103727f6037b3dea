public import Foundation
import ObjectContext

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
