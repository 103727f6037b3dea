public import ObjectStore
import SyncEngine

extension PersistentCloudContainer {
  /// Requires all devices of the account to have at least a version of the model, such as one without an error that damages data.
  ///
  /// The version of a model is the greatest of its ``ManagedObjectModel/versionIdentifiers`` that consists of numbers: `2`, or `2.1`. Devices
  /// whose model has an earlier one, or none, do not send or import anything as soon as they have received the requirement. They can be used
  /// as before, and keep what they save. Synchronization reports a ``SyncError`` with `modelTooOld`, and ``CloudStatus/isModelTooOld`` is true.
  /// When they are updated, they continue: what they have saved is sent, and changes of the other devices are imported.
  ///
  /// The requirement is sealed like all data, so the hub can neither read nor change it. What a device sends before it has received it is
  /// accepted.
  /// - Parameters:
  ///   - version: The version, not later than that of this store's model; nil for that one. An earlier one than before lowers the requirement.
  ///   - store: The store; nil for the container's only one with cloud options.
  /// - Returns: The required version.
  /// - Throws: ``SyncError`` with `unsupportedModel` if the store's model has no version or an earlier one, or if the text is not a version;
  ///   with `notSynchronized` if the store does not belong to an account, with `noCloudStore` if it has no cloud options; ``StoreError`` if
  ///   it cannot be written.
  @discardableResult
  public func requireModelVersion(_ version: String? = nil, of store: PersistentStore? = nil) async throws -> String {
    try await cloudStore(of: store).requireModelVersion(version)
  }
}
