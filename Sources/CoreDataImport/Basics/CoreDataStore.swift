public import Foundation
import ObjectModel
import StoreKeys

/// A SQLite store written by Core Data, or by the open-source encrypted Core Data store for SQLCipher.
///
/// ```swift
/// let old = try await CoreDataStore.open(at: oldURL, model: model)
/// let report = try await old.importAll(creating: PersistentStoreDescription(url: newURL, key: key))
/// ```
/// The file is never changed, and its contents are copied only to the encrypted store. Every operation opens the file again and reads one
/// snapshot, including the write-ahead log.
public struct CoreDataStore: Sendable {
  /// The layout of a store.
  public enum Layout: String, Sendable, Hashable {
    /// Core Data's own SQLite store.
    case coreData = "Core Data"
    /// The open-source encrypted Core Data store (`EncryptedStore`).
    case encryptedCoreData = "encrypted Core Data"
  }

  /// Called with the progress of an import, in objects and links. Returns whether to continue.
  ///
  /// `done / total` is the fraction of the whole import. The total is constant, and `done` never decreases. It equals the total once, after
  /// the import has succeeded; the result of that call is ignored. To use Foundation's `Progress`, pass its `storeProgressHandler`.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) -> Bool

  /// The location of the file.
  public let url: URL
  /// The layout of the store.
  public let layout: Layout
  /// The store's UUID, if its metadata contains one.
  public let storeIdentifier: String?
  /// The identifiers of the model version that wrote the store, if its metadata contains any.
  public let versionIdentifiers: Set<String>
  /// Messages about harmless parts of the source that are not imported.
  public let warnings: [String]
  let model: CompiledModel
  let entityNumbers: [Int]
  let key: DatabaseKey?
  let options: CoreDataImportOptions
}
