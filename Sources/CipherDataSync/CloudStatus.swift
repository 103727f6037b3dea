public import Foundation
import SyncEngine

/// The state of a store's synchronization, as the store knows it.
public struct CloudStatus: Sendable, Hashable {
  /// The identifier of the store.
  public let storeIdentifier: String
  /// The identity of the account.
  public let accountID: UUID
  /// The name by which other devices show this one: that of ``CloudOptions/deviceName``, with a number if another device of the account
  /// has the name, such as the original of a store that was copied or restored.
  public let deviceName: String
  /// The file of the hub.
  public let hubURL: URL
  /// The number of saves that the hub has not accepted yet.
  public let pendingSaves: Int
  /// The number of changes of objects in those saves.
  public let pendingChanges: Int
  /// The number of objects from before the synchronization that were added to the account so far; nil if all were.
  public let addedObjects: Int?
  /// The number of objects to send that no pending save contains: those from before the synchronization, and those that a restored hub
  /// lacks.
  public let unsentObjects: Int
  /// The number of records of other devices that cannot be read. They are kept until they can be.
  public let unreadableRecords: Int
  /// The number of large values that are not on this device, see ``CloudOptions/assetPolicy``.
  public let missingValues: Int
  /// The size of the missing large values in bytes.
  public let missingBytes: Int64
  /// The least version of the model that the account requires; nil if any version may be used. See
  /// ``PersistentCloudContainer/requireModelVersion(_:of:)``.
  public let requiredModelVersion: String?
  /// Whether the store's model is older than that, so that nothing is sent or imported.
  public let isModelTooOld: Bool
  /// When everything was sent and pulled last.
  public let lastSuccess: Date?
  /// The message of the error that prevents synchronization, and when it occurred last; nil if the last attempt succeeded.
  public let lastError: String?
  /// When ``lastError`` occurred last.
  public let lastErrorDate: Date?
  /// Whether ``PersistentCloudContainer/verifyState()`` found no difference; nil if it was never called.
  public let isVerified: Bool?
  /// When the state was verified.
  public let verificationDate: Date?

  /// The number of saves and objects that the hub has not accepted yet. It is not 0 while the objects from before are added.
  public var pendingCount: Int { pendingSaves + unsentObjects + (addedObjects == nil ? 0 : 1) }

  init(_ status: SyncStatus, storeIdentifier: String) {
    self.storeIdentifier = storeIdentifier
    (accountID, deviceName, hubURL) = (status.account, status.device, URL(fileURLWithPath: status.hubPath))
    (pendingSaves, pendingChanges) = (status.pendingSaves, status.pendingChanges)
    (addedObjects, unsentObjects, unreadableRecords) = (status.baselineCount, status.unsentCount, status.unreadableCount)
    (missingValues, missingBytes) = (status.missingAssets, status.missingBytes)
    (lastSuccess, lastError, lastErrorDate) = (status.report.lastSuccess, status.report.lastError, status.report.lastErrorDate)
    (requiredModelVersion, isModelTooOld) = (status.requiredModelVersion?.description, status.isModelTooOld)
    (isVerified, verificationDate) = (status.report.isVerified, status.report.verificationDate)
  }
}
