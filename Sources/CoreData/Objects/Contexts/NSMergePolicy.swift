// NSMergePolicy: what saves do about conflicts, as an object.
public import Foundation
import ObjectContext

/// How conflicts are decided.
public enum NSMergePolicyType: UInt, Sendable {
  /// The save fails.
  case errorMergePolicyType
  /// What the store has wins, property by property.
  case mergeByPropertyStoreTrumpMergePolicyType
  /// What the context has wins, property by property.
  case mergeByPropertyObjectTrumpMergePolicyType
  /// What the context has replaces the row.
  case overwriteMergePolicyType
  /// The context's changes are dropped.
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

/// What saves do with rows that others have changed, and with unique values that are taken.
///
/// A subclass decides about conflicts itself. It is asked about one at a time, before anything is written. What it sets of the conflict's objects is saved in
/// any case; for everything else it calls `super`, or another policy's function for the conflict, which decides by that policy's type. A conflict that nobody
/// decides about is decided for the object as it is in memory. What it throws is thrown by the save. Other objects, and to-many relationships, are not to be
/// changed there: they keep what is set, and it is part of the next save.
open class NSMergePolicy: NSObject, @unchecked Sendable {  // it never changes, and what subclasses add is theirs
  /// How conflicts are decided.
  public let mergeType: NSMergePolicyType

  /// A policy of a type.
  public init(merge type: NSMergePolicyType) { mergeType = type }

  /// The save fails.
  public static let error = NSMergePolicy(merge: .errorMergePolicyType)
  /// What the store has wins, property by property.
  public static let mergeByPropertyStoreTrump = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
  /// What the context has wins, property by property.
  public static let mergeByPropertyObjectTrump = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  /// What the context has replaces the row.
  public static let overwrite = NSMergePolicy(merge: .overwriteMergePolicyType)
  /// The context's changes are dropped.
  public static let rollback = NSMergePolicy(merge: .rollbackMergePolicyType)

  /// Decides about conflicts: about rows that others have changed by ``resolve(optimisticLockingConflicts:)``, about unique values by
  /// ``resolve(constraintConflicts:)``.
  ///
  /// - Throws: What the save throws.
  open func resolve(mergeConflicts list: [Any]) throws {
    let rows = list.compactMap { $0 as? NSMergeConflict }
    if !rows.isEmpty { try resolve(optimisticLockingConflicts: rows) }
    let values = list.compactMap { $0 as? NSConstraintConflict }
    if !values.isEmpty { try resolve(constraintConflicts: values) }
  }

  /// Decides about rows that others have changed, by the policy's type.
  ///
  /// - Throws: `NSError` with ``NSManagedObjectMergeError`` where the type is ``NSMergePolicyType/errorMergePolicyType``.
  open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    if mergeType == .errorMergePolicyType { throw Self.unresolved(NSManagedObjectMergeError, list) }
    for conflict in list { conflict.decision = mergeType }
  }

  /// Decides about unique values that are taken, by the policy's type.
  ///
  /// - Throws: `NSError` with ``NSManagedObjectConstraintMergeError`` where the type is ``NSMergePolicyType/errorMergePolicyType``.
  open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    if mergeType == .errorMergePolicyType { throw Self.unresolved(NSManagedObjectConstraintMergeError, list) }
    for conflict in list { conflict.decision = mergeType }
  }

  private static func unresolved(_ code: Int, _ list: [Any]) -> NSError {
    NSError(domain: NSCocoaErrorDomain, code: code, userInfo: [NSPersistentStoreSaveConflictsErrorKey: list])
  }

  /// The policy as a context has it.
  final func policy(in context: NSManagedObjectContext) -> MergePolicy {
    type(of: self) == NSMergePolicy.self
      ? MergePolicy(merge: mergeType.value) : MergePolicy(MergePolicyFace(policy: self, context: context))
  }
}

/// The save fails.
public let NSErrorMergePolicy = NSMergePolicy.error
/// What the store has wins, property by property.
public let NSMergeByPropertyStoreTrumpMergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
/// What the context has wins, property by property.
public let NSMergeByPropertyObjectTrumpMergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
/// What the context has replaces the row.
public let NSOverwriteMergePolicy = NSMergePolicy.overwrite
/// The context's changes are dropped.
public let NSRollbackMergePolicy = NSMergePolicy.rollback
