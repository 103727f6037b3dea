// NSMergeConflict: what stands in the way of a save, as objects, and who asks an application's policy about it.
public import Foundation
import ObjectContext
import ObjectStore

/// A row that others have changed or deleted since its object has read it.
open class NSMergeConflict: NSObject {
  /// The object of the save.
  public let sourceObject: NSManagedObject
  /// The values that the object has in its context, by name, unsaved changes included; the ID for an object, `NSNull` for no value.
  public let objectSnapshot: [String: Any]?
  /// The values that the coordinator has; nil where it knows that the row is gone.
  public let cachedSnapshot: [String: Any]?
  /// The values in the store, where they differ from those that the coordinator has.
  public let persistedSnapshot: [String: Any]?
  /// The version in the store; 0 where the row is gone.
  public let newVersionNumber: Int
  /// The version that was read.
  public let oldVersionNumber: Int
  /// What a policy has decided.
  final var decision: NSMergePolicyType?

  /// A conflict.
  ///
  /// - Parameters:
  ///   - srcObject: The object of the save.
  ///   - newvers: The version in the store.
  ///   - oldvers: The version that was read.
  ///   - cachesnap: The values that the coordinator has.
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

/// Objects that have the same values under a uniqueness constraint.
open class NSConstraintConflict: NSObject {
  /// The names of the constraint's properties.
  public let constraint: [String]
  /// The values of these properties, which the objects share.
  public let constraintValues: [String: Any]
  /// The object in the store that has the values; nil where only objects of the save clash.
  public let databaseObject: NSManagedObject?
  /// The values of that object, by name.
  public let databaseSnapshot: [String: Any]?
  /// The objects of the save.
  public let conflictingObjects: [NSManagedObject]
  /// The values of these, by name.
  public let conflictingSnapshots: [[AnyHashable: Any]]
  /// What a policy has decided.
  final var decision: NSMergePolicyType?

  /// A conflict.
  ///
  /// - Parameters:
  ///   - contraint: The names of the constraint's properties.
  ///   - databaseObject: The object in the store.
  ///   - databaseSnapshot: Its values.
  ///   - conflictingObjects: The objects of the save.
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

/// The values of snapshots, as applications are shown them.
private enum ConflictValues {
  /// A value, or that there is none.
  private struct Found {
    let value: (any Sendable)?
    init(_ value: (any Sendable)?) { self.value = value }
  }

  static func shown(_ snapshot: RowSnapshot?) -> [String: Any]? {
    guard let snapshot else { return nil }
    return snapshot.keys.reduce(into: [:]) { values, key in
      // What cannot be read is left out.
      guard let found = try? Found(snapshot[key]) else { return }
      values[key] = found.value.map { $0 as Any } ?? NSNull()
    }
  }

  static func values(of keys: [String], in snapshot: [AnyHashable: Any]?) -> [String: Any] {
    keys.reduce(into: [:]) { values, key in values[key] = snapshot?[key] }
  }
}

/// Asks an application's policy about the conflicts of a context.
final class MergePolicyFace: MergeResolver, CustomStringConvertible, @unchecked Sendable {  // asked on the context's queue alone
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
    // What was set of the objects of the save counts more than what was set of the stored one: it comes last.
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
      // The save says what is in conflict.
      return MergeDecision(.error)
    }
  }
}

extension NSManagedObjectContext {
  /// What a save throws, with its conflicts.
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
