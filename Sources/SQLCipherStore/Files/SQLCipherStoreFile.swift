public import Foundation
public import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreFiles
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

// MARK: - Reporting progress

extension SQLCipherStoreFile {
  /// Runs a long operation. It ends at its next progress report after `progress` returns `false` or the calling task is canceled.
  ///
  /// - Throws: `CancellationError` if the task was canceled; any error of the operation.
  static func withProgress<Result: Sendable>(
    _ progress: Progress?, _ work: (ProgressHandler?) async throws -> sending Result
  ) async throws -> Result {
    let cancellation = RequestCancellation()
    do {
      return try await withTaskCancellationHandler {
        try Task.checkCancellation()
        return try await MonotonicProgress.run({ (progress?($0, $1) ?? true) && !cancellation.isCancelled }, work)
      } onCancel: {
        cancellation.cancel()
      }
    } catch let error as StoreError where error.code == .cancelled && cancellation.isCancelled {
      throw CancellationError()
    }
  }
}

// MARK: - Limits of models

extension SQLCipherStoreFile {
  /// Returns the limits of the linked library that a new store of a model would exceed, as issues of the affected entities.
  package static func limitIssues(of model: CompiledModel) -> [ModelIssue] {
    let layout = TableLayout(model: model, entityNumbers: model.entities.map(\.number))
    guard let schema = try? StoreSchema(model: model, layout: layout), let problem = SchemaLimits(schema: schema).problem else { return [] }
    let error = StoreError(problem, operation: .create)
    return [ModelIssue(entityName: error.entityName, reason: error.message)]
  }
}

/// A `StoreKey` that holds the keys of an unlocked store, so that no key is derived from a passphrase twice.
final class UnlockedKey: StoreKeyProvider {
  let keyring: StoreKeyring

  init(_ keyring: StoreKeyring) { self.keyring = keyring }

  /// Called only if the key is used for a store other than the one that it unlocked.
  func key(for request: StoreKeyRequest) async throws -> SecretBytes {
    throw StoreError(.keyOfOtherStore, operation: .unlock, path: request.url.path)
  }
}

extension StoreKey {
  /// Returns the unlocked keys in this key, if it has any and they belong to the store at a path.
  func unlockedKeyring(for path: String) -> StoreKeyring? {
    guard case .provider(let provider) = self, let unlocked = provider as? UnlockedKey,
      unlocked.keyring.storePath == StoreFile.place(of: path)
    else { return nil }
    return unlocked.keyring
  }
}

/// The libraries that the store uses in this process.
package struct LibraryInformation: Sendable {
  /// SQLCipher's version; empty if another library is linked in its place.
  package let sqlcipher: String
  /// The version of the SQLite in SQLCipher.
  package let sqlite: String
  /// SQLCipher's cryptography provider and its version.
  package let provider: String
  /// The cryptography library for keys and large values.
  package let libcrypto: String
  /// The reason why encrypted stores do not work in this process, or `nil` if they do.
  package let problem: String?

  package init() throws {
    problem = LibraryVersion.problem
    sqlite = LibraryVersion.sqliteName
    libcrypto = Cryptography.libraryName
    guard problem == nil else {
      (sqlcipher, provider) = ("", "")
      return
    }
    (sqlcipher, provider) = try StoreError.mapping {
      let parts = [try LibraryVersion.answer(to: "cipher_provider"), try LibraryVersion.answer(to: "cipher_provider_version")]
      return (try LibraryVersion.answer(to: "cipher_version") ?? "", parts.compactMap { $0 }.joined(separator: " "))
    }
  }
}

extension SQLCipherStoreFile {
  /// The names of the pragmas that describe how a connection is configured.
  package static let settingNames = [
    "cipher_provider", "cipher_provider_version", "page_size", "journal_mode", "synchronous", "temp_store", "secure_delete",
    "cell_size_check", "trusted_schema",
    "mmap_size", "auto_vacuum", "encoding",
  ]

  /// Returns the settings of a connection to the store, by pragma. Pragmas that the linked library does not support are omitted. The file
  /// is not changed.
  package func settings() async throws -> [(name: String, value: String)] {
    try await read { connection in
      try Self.settingNames.compactMap { name in try connection.pragma(name).map { (name, $0) } }
    }
  }
}
