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
}

/// What saves do with rows that others have changed, and with unique values that are taken.
public final class NSMergePolicy: NSObject, Sendable {
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

  var policy: MergePolicy {
    switch mergeType {
    case .errorMergePolicyType: .error
    case .mergeByPropertyStoreTrumpMergePolicyType: .mergeByPropertyStoreTrump
    case .mergeByPropertyObjectTrumpMergePolicyType: .mergeByPropertyObjectTrump
    case .overwriteMergePolicyType: .overwrite
    case .rollbackMergePolicyType: .rollback
    }
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
