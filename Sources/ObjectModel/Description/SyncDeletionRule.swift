/// What synchronization does if an object is deleted on one device and changed on another one, without either having received the other's.
///
/// ```swift
/// Entity("Note") { Attribute("text", .string) }.syncDeletionRule(.updateWins)
/// ```
///
/// In a model file, the raw value is the entry `syncDeletionRule` in the entity's user info. Subentities have the rule of their superentity
/// unless they declare the other one. A change of the rule does not change the version hash, so that stores stay compatible. Use the same rule
/// on all devices: a device whose model does not declare `updateWins` deletes for good.
public enum SyncDeletionRule: String, Sendable, Hashable, CaseIterable {
  /// The object is deleted. The default, except for objects to whose deletion a relationship with the delete rule Deny objects.
  case deletionWins
  /// The object exists, with the change.
  case updateWins

  /// The key of the rule in an entity's user info.
  static let userInfoKey = "syncDeletionRule"
}

extension EntityDescription {
  /// What synchronization does if an object is deleted on one device and changed on another one; nil for the rule of the superentity, or
  /// `deletionWins`.
  ///
  /// Stored in ``userInfo`` under the key `syncDeletionRule`. Validation reports an entry that is not a rule.
  public var syncDeletionRule: SyncDeletionRule? {
    get { userInfo[SyncDeletionRule.userInfoKey].flatMap { SyncDeletionRule(rawValue: $0) } }
    set { userInfo[SyncDeletionRule.userInfoKey] = newValue?.rawValue }
  }
}
