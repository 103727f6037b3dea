public import Foundation
public import ObjectModel
import ObjectStore
import SQLCipherConnection
public import StoreKeys

/// An unlocked store file: what can be done with a store without opening it as a coordinator does.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: .passphrase("correct horse"))
/// let model = try await file.readModel()
/// let description = PersistentStoreDescription(url: url, key: file.key)  // stretches no passphrase again
/// ```
/// All work is done on threads of its own. Errors are ``StoreError``s.
public final class SQLCipherStoreFile: Sendable {
  /// Called with how much of a long work is done; answers whether to go on.
  ///
  /// `done / total` is one fraction over all phases of the work: the total stays, what is done only rises, and it is the total once, at the end of a work that has
  /// succeeded; the answer to that call is of no effect. Foundation's `Progress` follows by its `storeWorkHandler`.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) -> Bool

  /// Where the file is.
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
  ///   - url: The store's file.
  ///   - key: Any of its keys; without one, `keyRequired` is thrown.
  ///   - keyWorkLimit: How much work may be spent on the key file, here and where keys are added; see `PersistentStoreDescription.keyWorkLimit`.
  /// - Throws: ``StoreError`` with the code `storeNotFound`, `keyRequired`, `wrongKey`, `notEncrypted`, `notAStore`, `keyFileMissing` and so on.
  public static func unlock(at url: URL, key: StoreKey?, keyWorkLimit: Int? = nil) async throws -> SQLCipherStoreFile {
    let keyring = try await StoreError.mapping { () async throws -> StoreKeyring in
      if let keyring = key?.unlockedKeyring(for: url.path) { return keyring }
      return try await StoreKeyring.unlock(storePath: url.path, key: key, workLimit: KeyWorkLimit(keyWorkLimit))
    }
    return SQLCipherStoreFile(url: url, keyring: keyring)
  }

  /// The unlocked keys, for a store description or another ``unlock(at:key:keyWorkLimit:)`` of this file: nobody is asked and nothing is stretched again.
  public var key: StoreKey { .provider(UnlockedKey(keyring)) }

  /// The model that the store was written with.
  ///
  /// - Throws: ``StoreError`` where the model cannot be read.
  public func readModel() async throws -> ManagedObjectModel {
    try await read { try Self.readModel($0) }
  }

  /// The model that a store was written with, on an open connection.
  static func readModel(_ connection: Connection) throws -> ManagedObjectModel {
    _ = try record(connection, operation: .readModel)
    let text = try MetadataTable.readModel(connection, path: connection.path)
    do {
      return try ManagedObjectModel(xmlData: Data(text.utf8), path: connection.path)
    } catch {
      throw StoreError(.unreadableModel, operation: .readModel, path: connection.path, underlying: error)
    }
  }

  /// What only looks at the file is opened with: it never changes it.
  static var readingOptions: ConnectionOptions {
    var options = ConnectionOptions()
    options.isReadOnly = true
    return options
  }

  /// Runs `body` with a connection of its own in one read transaction. The file is not changed.
  func read<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    let keyring = keyring
    return try await Self.offActor {
      let connection = try keyring.withDatabaseKey(options: Self.readingOptions) { try Connection.reading(keyring.storePath, key: $0) }
      defer { connection.close() }
      try SQLFunctions.register(on: connection)
      return try connection.readTransaction { try body(connection) }
    }
  }

  /// Runs slow work on a thread of its own: neither the caller's actor nor one of Swift's cooperative threads waits for it.
  static func offActor<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .userInitiated).async {
        continuation.resume(with: Swift.Result { try StoreError.mapping(body) })
      }
    }
  }
}
