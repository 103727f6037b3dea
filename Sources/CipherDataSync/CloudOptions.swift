public import Foundation
public import ObjectStore
import SQLCipherStore
import SyncEngine

/// How a store is synchronized, see ``PersistentStoreDescription/cloudOptions``.
public struct CloudOptions: Sendable, Hashable {
  /// The file of the hub, which the devices' processes open directly.
  public var hubURL: URL
  /// The name by which other devices show this one.
  public var deviceName: String

  /// Creates options.
  ///
  /// - Parameters:
  ///   - hubURL: The location of the hub's file.
  ///   - deviceName: The name by which other devices show this one; by default the name of the computer.
  public init(hubURL: URL, deviceName: String = ProcessInfo.processInfo.hostName) {
    self.hubURL = hubURL
    self.deviceName = deviceName
  }
}

extension PersistentStoreDescription {
  /// How a ``PersistentCloudContainer`` synchronizes the store; nil for a store that stays on the device.
  ///
  /// A synchronized store keeps a history of values and has stable IDs, which are switched on when its synchronization begins.
  public var cloudOptions: CloudOptions? {
    get { self[.cloudOptions] }
    set { self[.cloudOptions] = newValue }
  }

  /// Returns the description with what synchronization needs of an open store.
  func preparedForSynchronization() -> PersistentStoreDescription {
    guard cloudOptions != nil else { return self }
    var description = self
    if !description.sideTableOwners.contains(where: { $0 === SyncTables.shared }) { description.sideTableOwners.append(SyncTables.shared) }
    description.postsRemoteChangeNotifications = true
    return description
  }
}

extension StoreSettingKey<CloudOptions> {
  fileprivate static var cloudOptions: Self { Self("cloudOptions") }
}
