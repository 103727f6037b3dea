import Foundation
import StoreFiles
import StoreKeys

/// The file next to a hub that contains the hub's key, for hubs that are created without a key.
///
/// It contains the printed form of a random key, with check digits, which also opens the hub with other tools. Only its owner can read it.
enum HubKeyFile {
  static let suffix = ".key"
  static func path(for hubPath: String) -> String { hubPath + suffix }

  /// Reads the key.
  static func read(for hubPath: String) throws -> StoreKey {
    let path = path(for: hubPath)
    var bytes = try content(for: hubPath)
    defer { bytes.withUnsafeMutableBytes { Cryptography.wipe($0) } }
    do {
      return .raw(try bytes.withUnsafeBytes { try RecoveryKey.parse($0) })
    } catch {
      throw HubError(.wrongKey, "The file \(path) does not contain a key.", underlying: error as? StoreAccessError)
    }
  }

  private static func content(for hubPath: String) throws -> [UInt8] {
    do throws(StoreAccessError) { return try KeyFileStorage.read(path(for: hubPath)) } catch {
      guard error.kind == .noSuchFile else { throw error }
      if isStore(hubPath) { throw storeError(hubPath, error) }
      guard StoreFile.exists(KeyFileStorage.path(for: hubPath)) || StoreFile.exists(KeyFileStorage.pendingPath(for: hubPath)) else {
        throw HubError(.notAHub, "\(hubPath) is not a hub, or has lost both of its key files.", underlying: error)
      }
      throw HubError(
        .keyFileMissing, "The hub's key file \(path(for: hubPath)) is missing, or the path is that of a store.", underlying: error)
    }
  }

  // MARK: Errors

  /// Returns the error for a file that the key does not open, in the terms of a hub. Other errors stay unchanged.
  static func converted(_ error: any Error, for hubPath: String) -> any Error {
    guard let error = error as? StoreAccessError else { return error }
    let slots = KeyFileStorage.path(for: hubPath)
    switch error.kind {
    case .wrongKey:
      if isStore(hubPath) { return storeError(hubPath, error) }
      return HubError(.wrongKey, "The key in the file \(path(for: hubPath)) does not open the hub.", underlying: error)
    case .keyFileOutdated:
      return HubError(
        .wrongKey, "The key file \(slots) does not belong to the hub, or the beginning of the hub's file is damaged.", underlying: error)
    case .keyFileMissing: return HubError(.keyFileMissing, "The hub's key file \(slots) is missing.", underlying: error)
    case .keyFileCorrupt: return HubError(.damaged, "The hub's key file \(slots) is damaged.", underlying: error)
    default: return error
    }
  }

  private static func storeError(_ path: String, _ error: StoreAccessError) -> HubError {
    HubError(.notAHub, "\(path) is a store, not a hub.", underlying: error)
  }

  /// Whether a file without the right key is a store. A hub whose key is in a file is created without a passphrase and a recovery key.
  private static func isStore(_ path: String) -> Bool {
    let slots = KeyFileStorage.path(for: path)
    guard let bytes = try? KeyFileStorage.read(slots), let file = try? KeyFile(parsing: bytes, path: slots) else { return false }
    return file.slots.contains { $0.description.kind != .rawKey }
  }

  // MARK: Creating

  /// Creates the file with a random key, or reads the one that another process has created.
  ///
  /// A file without a hub remains if the hub cannot be created: another process may be creating one with it.
  static func create(for hubPath: String) throws -> StoreKey {
    if !StoreFile.exists(path(for: hubPath)) {
      let text = try RecoveryKey.text(for: Cryptography.randomSecret(DatabaseKey.keySize))
      _ = try KeyFileStorage.writeOnce(Array((text + "\n").utf8), to: path(for: hubPath))
    }
    return try read(for: hubPath)
  }
}
