// CoreDataStore: a store file that Core Data wrote.
public import Foundation
import ObjectModel
import StoreKeys

/// A SQLite store that was written by Core Data, or by the public encrypted Core Data store for SQLCipher.
///
/// ```swift
/// let old = try await CoreDataStore.open(at: oldURL, model: model)
/// let report = try await old.importAll(creating: PersistentStoreDescription(url: newURL, key: key))
/// ```
/// The file is never changed, and nothing of it is copied to any other place than the encrypted store. Every operation opens it anew and reads one
/// snapshot, its write-ahead log included.
public struct CoreDataStore: Sendable {
  /// How a store is laid out.
  public enum Layout: String, Sendable, Hashable {
    /// Core Data's own SQLite store.
    case coreData = "Core Data"
    /// The public encrypted Core Data store (`EncryptedStore`).
    case encryptedCoreData = "encrypted Core Data"
  }

  /// Called with how much of an import is done, in objects and links; answers whether to go on.
  ///
  /// `done / total` is one fraction over the whole import: the total stays, what is done only rises, and it is the total once, when the import has succeeded; the
  /// answer to that call is of no effect. Foundation's `Progress` follows by its `storeWorkHandler`.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) -> Bool

  /// Where the file is.
  public let url: URL
  /// How it is laid out.
  public let layout: Layout
  /// The store's UUID, where its metadata tell it.
  public let storeIdentifier: String?
  /// The identifiers of the model's version that wrote the store, where its metadata tell them.
  public let versionIdentifiers: Set<String>
  /// What was found that is not taken over and does no harm, in sentences.
  public let warnings: [String]
  let model: CompiledModel
  let entityNumbers: [Int]
  let key: DatabaseKey?
  let options: CoreDataImportOptions
}
