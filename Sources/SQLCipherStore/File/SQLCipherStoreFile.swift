public import Foundation
public import ObjectModel
import ObjectStore
import SQLCipherConnection
public import StoreKeys

/// An unlocked store file, for operations on a store without a coordinator: reading its model, managing keys, copying, verifying, and
/// inspecting it.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: .passphrase("correct horse"))
/// let model = try await file.readModel()
/// let description = PersistentStoreDescription(url: url, key: file.key)  // stretches no passphrase again
/// ```
/// All operations run on background threads. Errors are ``StoreError``s.
public final class SQLCipherStoreFile: Sendable {
  /// Called with the progress of a long operation; returns whether to continue.
  ///
  /// `done / total` is one fraction over all phases of the operation. `total` stays the same and `done` never decreases. It equals `total`
  /// once, at the end of a successful operation; the result of that call is ignored. To use Foundation's `Progress`, pass its
  /// `storeProgressHandler`.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) -> Bool

  /// The location of the file.
  public let url: URL
  let keyring: StoreKeyring
  var path: String { keyring.storePath }

  init(url: URL, keyring: StoreKeyring) {
    self.url = url
    self.keyring = keyring
  }

  /// Unlocks an existing store. Nothing on disk is changed.
  ///
  /// - Parameters:
  ///   - url: The location of the store's file.
  ///   - key: Any of its keys. With `nil`, the error `keyRequired` is thrown.
  ///   - keyWorkLimit: The maximum cost of key derivations for the key file, here and when keys are added; see
  ///     `PersistentStoreDescription.keyWorkLimit`.
  /// - Throws: ``StoreError`` with a code such as `storeNotFound`, `keyRequired`, `wrongKey`, `notEncrypted`, `notAStore` or
  ///   `keyFileMissing`.
  public static func unlock(at url: URL, key: StoreKey?, keyWorkLimit: Int? = nil) async throws -> SQLCipherStoreFile {
    let keyring = try await StoreError.mapping { () async throws -> StoreKeyring in
      if let keyring = key?.unlockedKeyring(for: url.path) { return keyring }
      return try await StoreKeyring.unlock(storePath: url.path, key: key, workLimit: KeyWorkLimit(keyWorkLimit))
    }
    return SQLCipherStoreFile(url: url, keyring: keyring)
  }

  /// The unlocked keys, for a store description or another ``unlock(at:key:keyWorkLimit:)`` of this file. No key provider is called, and no
  /// key is derived again.
  public var key: StoreKey { .provider(UnlockedKey(keyring)) }

  /// Returns the model that the store was written with.
  ///
  /// - Throws: ``StoreError`` if the model cannot be read.
  public func readModel() async throws -> ManagedObjectModel {
    try await read { try Self.readModel($0) }
  }

  /// Returns the model that a store was written with, using an open connection.
  static func readModel(_ connection: Connection) throws -> ManagedObjectModel {
    _ = try record(connection, operation: .readModel)
    let text = try MetadataTable.readModel(connection, path: connection.path)
    do {
      return try ManagedObjectModel(xmlData: Data(text.utf8), path: connection.path)
    } catch {
      throw StoreError(.unreadableModel, operation: .readModel, path: connection.path, underlying: error)
    }
  }

  /// The options of connections that only read the file and never change it.
  static var readingOptions: ConnectionOptions {
    var options = ConnectionOptions()
    options.isReadOnly = true
    return options
  }

  /// Runs `body` with a new connection in one read transaction. The file is not changed.
  func read<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    let keyring = keyring
    return try await Self.runInBackground {
      let connection = try keyring.withDatabaseKey(options: Self.readingOptions) { try Connection.reading(keyring.storePath, key: $0) }
      defer { connection.close() }
      try SQLFunctions.register(on: connection)
      return try connection.readTransaction { try body(connection) }
    }
  }

  /// Runs a slow operation on a background thread, so that it blocks neither the caller's actor nor a thread of Swift's cooperative pool.
  static func runInBackground<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .userInitiated).async {
        continuation.resume(with: Swift.Result { try StoreError.mapping(body) })
      }
    }
  }
}
