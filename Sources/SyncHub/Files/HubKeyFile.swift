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
      guard StoreFile.exists(KeyFileStorage.path(for: hubPath)) || StoreFile.exists(KeyFileStorage.pendingPath(for: hubPath)) else {
        throw HubError(.notAHub, "\(hubPath) is not a hub, or has lost both of its key files.", underlying: error)
      }
      throw HubError(.keyFileMissing, "The hub's key file \(path(for: hubPath)) is missing.", underlying: error)
    }
  }

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
