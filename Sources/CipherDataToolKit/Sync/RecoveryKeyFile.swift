import CipherData
import Foundation
import StoreFiles
import SyncCrypto

/// The file that keeps the recovery key of an account: the key on the first line, and what it is on the next two.
enum RecoveryKeyFile {
  /// Writes a key to a new file that only its owner can read. The file is on the disk when the method returns.
  static func write(_ key: AccountRecoveryKey, to path: String) throws {
    let text = """
      \(try key.text())
      This is the recovery key of a CipherData account. It adds devices to the account and decrypts everything that they synchronize.
      Keep it apart from the devices, for example on paper. It cannot be restored.

      """
    do { try KeyFileStorage.write(Array(text.utf8), to: path, mayReplace: false) } catch {
      throw error.kind == .fileExists ? ToolError(.cannotCreate, "\(path) already exists.") : error
    }
  }

  /// Removes the file of a key that no account has.
  static func remove(_ path: String) { unlink(path) }

  /// Whether the environment contains a key.
  static var isInEnvironment: Bool { getenv(variable) != nil }
  private static let variable = "CIPHERDATA_RECOVERY_KEY"

  /// Reads a key from the first line of a file, from the variable `CIPHERDATA_RECOVERY_KEY`, or from a prompt.
  static func read(_ path: String?) throws -> AccountRecoveryKey {
    var source = PassphraseSource(file: path, variable: variable, prompt: "Recovery key of the account: ")
    (source.noun, source.option) = ("recovery key", "--recovery")
    return try AccountRecoveryKey(parsing: try source.read())
  }
}
