import ObjectModel
package import ObjectStore
import SQLCipherStore

/// An error of synchronization: what is wrong, where, and what to do. It never contains stored values or key material.
///
/// Local data are never lost by such an error. Synchronization goes on by itself when its cause is gone.
public struct SyncError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// Stores of this type cannot be synchronized, or the store was not opened for synchronization.
    case unsupportedStore
    /// The model has parts that are not synchronized yet, which ``SyncError/obstacles`` lists.
    case unsupportedModel
    /// The store is not synchronized.
    case notSynchronized
    /// The store is already synchronized.
    case alreadySynchronized
    /// No new hub is created, because the one that the store is synchronized with exists at another path.
    case hubExists
    /// The store keeps no history of values or no stable IDs, which synchronization needs.
    case historyMissing
    /// Synchronization needs what was to be removed from the store.
    case neededBySynchronization
    /// Values of the journal cannot be restored.
    case notRestorable
    /// The application's handler of imports has thrown an error, which ``SyncError/underlying`` is.
    case importHandlerFailed
    /// Values of an attribute could not be merged by a function of the application: see `SyncMergeFunctions`.
    case mergeFailed
    /// A large value of an attribute is not on this device, and the hub cannot be reached or does not have it.
    case assetMissing
    /// No store of the container is to be synchronized, or several are and the call concerns one.
    case noCloudStore
    /// Another process synchronizes the store.
    case busy
    /// The hub does not have the account, or has several and the call must name one.
    case accountNotFound
    /// The store's model has none of the entities of the account's objects.
    case differentModel
    /// The account requires a later version of the model: see `requireModelVersion(_:of:)` of `PersistentCloudContainer`.
    case modelTooOld
    /// The user of an existing device has refused the request to join, or the messages between the devices were changed on their way.
    case joinRefused
    /// The request to join was not approved in time, was canceled, or was answered by another device.
    case joinRequestExpired
    /// The text is not a recovery key, or the key belongs to another account.
    case wrongRecoveryKey
    /// The hub cannot be reached or used at the moment. ``SyncError/underlying`` says why.
    case hubUnavailable
    /// The hub, or what other devices have sent to it, is damaged, cannot be opened with its key, or was written by a newer version.
    case hubUnreadable
    /// The file that shows which process synchronizes the store cannot be locked.
    case leaseUnavailable
    /// What the store knows of its zone cannot be read.
    case damagedState
    /// A transaction of the store ended too early.
    case transactionEnded
  }

  /// The kind of the error.
  public let code: Code
  /// What happened, and what to do.
  public let message: String
  /// The path of the store.
  public let path: String?
  /// The parts of the model that are not synchronized yet, one per line of the report of the model.
  public let obstacles: [String]
  /// The error that caused this one.
  public let underlying: (any Error)?

  /// The version of the model that is required, if the error is that the model is older.
  let requiredModelVersion: String?

  package init(_ reason: Reason, path: String? = nil, underlying: (any Error)? = nil) {
    (code, message, obstacles) = (reason.code, reason.message, reason.obstacles)
    requiredModelVersion = reason.requiredModelVersion
    (self.path, self.underlying) = (path, underlying)
  }

  /// The message, the path and the cause.
  public var description: String {
    ErrorCause.chain(path.map { "\(message) (\($0))" } ?? message, underlying) { _ in "" }
  }

  /// The cause of an error. Each part of the module declares its reasons next to the code that throws them.
  package struct Reason: Sendable {
    let code: Code
    let message: String
    var obstacles: [String] = []
    var requiredModelVersion: String?

    package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
  }
}

extension SyncError.Reason {
  package static func unsupportedStore(_ type: StoreType) -> Self {
    if type == .sqlcipher {
      return Self(.unsupportedStore, "The store was not opened for synchronization. Set its cloud options before the stores are loaded.")
    }
    return Self(
      .unsupportedStore,
      "A store of the type “\(type.rawValue)” cannot be synchronized. Use one of the type “\(StoreType.sqlcipher.rawValue)”, or set no cloud "
        + "options for it.")
  }

  static var readOnlyStore: Self {
    Self(.unsupportedStore, "The store was opened read-only, so this process cannot synchronize it. Open it for writing.")
  }

  static func unsupportedModel(_ obstacles: [String]) -> Self {
    var reason = Self(
      .unsupportedModel, "The model cannot be synchronized yet: \(obstacles.joined(separator: "; ")). Nothing was changed.")
    reason.obstacles = obstacles
    return reason
  }

  static var notSynchronized: Self {
    Self(.notSynchronized, "The store is not synchronized. Start synchronization with a hub, or join an existing account.")
  }

  package static var alreadySynchronized: Self {
    Self(.alreadySynchronized, "The store is already synchronized. Leave its zone first to synchronize it with another hub.")
  }

  static func hubExists(_ path: String) -> Self {
    Self(
      .hubExists,
      "The store is synchronized with the hub \(path), which exists, so no new one was created: devices with two hubs do not see each other's "
        + "changes. Continue without creating a hub. If it cannot be used any more, move its files away first.")
  }

  static var historyMissing: Self {
    Self(.historyMissing, "Synchronization needs the store's history with values and its stable IDs, which are switched off.")
  }

  static func needed(_ reduction: String) -> Self {
    Self(.neededBySynchronization, "Synchronization needs \(reduction). Leave the zone first; nothing was changed.")
  }

  /// - Parameter isReachable: Whether the hub has answered that it does not have the value.
  static func assetMissing(entity: String, property: String, id: String, isReachable: Bool) -> Self {
    let cause =
      isReachable
      ? "the hub does not have it: it was restored from an older state. A device that has the value sends it with its next round."
      : "the hub cannot be used at the moment. Try again later."
    return Self(.assetMissing, "The value of \(entity).\(property) of the object \(id) is not on this device, and \(cause)")
  }

  package static var noCloudStore: Self {
    Self(.noCloudStore, "No open store of the container has cloud options. Set them before the stores are loaded.")
  }

  package static var severalCloudStores: Self {
    Self(.noCloudStore, "Several stores of the container have cloud options. Use a container for each account.")
  }

  static var transactionEnded: Self { Self(.transactionEnded, "A transaction of the store ended before synchronization was done with it.") }
}
