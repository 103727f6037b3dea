public import Foundation
public import ObjectStore
import SQLCipherStore
public import SyncEngine

/// How a store is synchronized, see ``PersistentStoreDescription/cloudOptions``.
public struct CloudOptions: Sendable, Hashable {
  /// The file of the hub, which the devices' processes open directly.
  public var hubURL: URL
  /// The name by which other devices show this one. If another device of the account has it, a number is added: ``CloudStatus/deviceName``
  /// is the name that the account has.
  public var deviceName: String
  /// Whether loading the store creates the hub's file again, if it is missing although the store belongs to an account.
  ///
  /// False by default, because a hub that cannot be found is usually on a disk that is not mounted, or was moved: then the devices would
  /// continue with two hubs. Set it for one start, when the user has confirmed that the hub is lost. The devices send what they have to the
  /// new hub.
  public var createsMissingHub: Bool
  /// Which large values of other devices are downloaded: by default all. See ``PersistentCloudContainer/loadAsset(of:attribute:)``.
  public var assetPolicy: AssetPolicy

  /// Creates options.
  ///
  /// - Parameters:
  ///   - hubURL: The location of the hub's file.
  ///   - deviceName: The name by which other devices show this one; by default the name of the computer.
  ///   - createsMissingHub: Whether to create a hub again that was lost, see ``createsMissingHub``.
  ///   - assetPolicy: Which large values of other devices are downloaded.
  public init(
    hubURL: URL, deviceName: String = ProcessInfo.processInfo.hostName, createsMissingHub: Bool = false, assetPolicy: AssetPolicy = .eager
  ) {
    self.assetPolicy = assetPolicy
    self.hubURL = hubURL
    self.deviceName = deviceName
    self.createsMissingHub = createsMissingHub
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
  ///
  /// - Throws: ``SyncError`` if stores of this description cannot be synchronized.
  func preparedForSynchronization() throws -> PersistentStoreDescription {
    guard let cloudOptions else { return self }
    if !cloudOptions.hubURL.isFileURL { throw SyncError(.unsupportedHub(cloudOptions.hubURL), path: url?.path) }
    if type != .sqlcipher { throw SyncError(.unsupportedStore(type), path: url?.path) }
    var description = self
    if !description.sideTableOwners.contains(where: { $0 === SyncTables.shared }) { description.sideTableOwners.append(SyncTables.shared) }
    description.postsRemoteChangeNotifications = true
    return description
  }
}

extension StoreSettingKey<CloudOptions> {
  fileprivate static var cloudOptions: Self { Self("cloudOptions") }
}

extension SyncError.Reason {
  fileprivate static func unsupportedHub(_ url: URL) -> Self {
    Self(.hubUnreadable, "The hub \(url.absoluteString) is not a file. Other hubs cannot be used yet: set a file URL.")
  }
}
