import Dispatch
import Foundation
import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreFiles
import StoreKeys

enum SourceFile {
  /// Runs `body` with one snapshot of the file, opened read-only.
  static func read<Result>(_ path: String, key: DatabaseKey?, _ body: (Connection) throws -> Result) throws -> Result {
    try StoreError.mapping {
      let connection: Connection
      if let key {
        var options = ConnectionOptions()
        options.isReadOnly = true
        connection = try Connection(opening: path, key: key, options: options)
      } else {
        connection = try PlaintextExchange.openPlaintext(path)
      }
      defer { connection.close() }
      return try connection.readTransaction { try body(connection) }
    }
  }

  /// Returns the key that opens the file; nil for a plaintext file.
  static func databaseKey(path: String, key: StoreKey?) async throws -> DatabaseKey? {
    guard try StoreError.mapping({ try StoreFile.exists(path, operation: .import) }) else {
      throw StoreError(.noStoreHere, operation: .import, path: path)
    }
    try rejectOtherForms(path)
    guard let key else {
      do {
        return try await runInBackground { try read(path, key: nil) { _ in nil } }
      } catch let error as StoreError where error.code == .unsupportedFormat {
        throw StoreError(.encryptedOrNoStore, operation: .import, path: path)
      }
    }
    var failure: any Error = StoreError(.keyDoesNotFit, operation: .import, path: path)
    for candidate in candidates(key) {
      do {
        return try await StoreError.mapping {
          let keyring = try await StoreKeyring.unlock(storePath: path, key: candidate)
          defer { keyring.close() }
          let key = try keyring.databaseKey()
          return try await runInBackground { try read(path, key: key) { _ in key } }
        }
      } catch let error as StoreError where [.unreadableStore, .unsupportedFormat].contains(error.code) {
        failure = error
      }
    }
    throw failure
  }

  /// Returns the possible interpretations of a key. The file does not contain the page format of a passphrase.
  private static func candidates(_ key: StoreKey) -> [StoreKey] {
    guard case .passphrase(let passphrase, _) = key else { return [key] }
    var formats: [SQLCipherFormat] = [.sqlcipher3, .portable]
    if LibraryVersion.isSQLCipher4 { formats.insert(.sqlcipher4, at: 0) }
    return formats.map { .sqlcipherPassphrase(passphrase, $0) }
  }

  /// Rejects Core Data's other store types, which their first bytes identify.
  private static func rejectOtherForms(_ path: String) throws {
    guard let handle = FileHandle(forReadingAtPath: path), let head = try? handle.read(upToCount: 64) else { return }
    try? handle.close()
    let forms: [(String, CoreDataImportError.Reason.Form)] = [("<?xml", .xml), ("bplist", .binary)]
    for (mark, form) in forms where head.starts(with: Data(mark.utf8)) {
      throw CoreDataImportError(.otherForm(form), path: path)
    }
  }

  /// Runs blocking work on a dispatch queue, so that it blocks neither the caller's actor nor a thread of Swift's cooperative pool.
  static func runInBackground<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .userInitiated).async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}

extension StoreError.Reason {
  static var keyDoesNotFit: Self { Self(.unreadableStore, "The key does not fit the file.") }

  static var encryptedOrNoStore: Self {
    Self(.keyRequired, "The file is not a plain SQLite database: it is encrypted and no key was given, or it is not a store.")
  }
}
