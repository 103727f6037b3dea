import CipherData
import Foundation
import StoreFiles
import SyncCrypto

/// The file that keeps the recovery key of an account: the key on the first line, and what it is on the next two.
enum RecoveryKeyFile {
  /// Writes a key to a new file that only its owner can read. The file is on the disk when the method returns. If it exists with the same
  /// key, nothing is written.
  static func write(_ key: AccountRecoveryKey, to path: String) throws {
    let text = """
      \(try key.text())
      This is the recovery key of a CipherData account. It adds devices to the account and decrypts everything that they synchronize.
      Keep it apart from the devices, for example on paper. It cannot be restored.

      """
    let found = try KeyFileStorage.writeOnce(Array(text.utf8), to: StoreFile.absolutePath(path))
    guard found == Array(text.utf8) else { throw exists(path) }
  }

  /// Returns the key in an existing file, or nil if there is no file.
  ///
  /// - Throws: ``ToolError`` if the file is not one with a recovery key, or if it cannot be created.
  static func existingKey(_ path: String) throws -> AccountRecoveryKey? {
    guard try PathCheck.isTaken(path) else {
      try PathCheck.checkFolder(of: path)
      return nil
    }
    do { return try read(path) } catch { throw exists(path) }
  }

  /// The error for a file that does not contain the key of the account.
  static func exists(_ path: String) -> ToolError { ToolError(.cannotCreate, "\(path) already exists.") }

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
