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

/// Options for missing and unknown parts of a source.
public struct CoreDataImportOptions: Sendable {
  /// Whether to skip missing files and objects that the source refers to, and list them in the report. If false, they end the import.
  public var skipsMissing = false
  /// Whether to skip entities and columns that are not in the model, and list them in the report. If false, they end the import.
  public var ignoresUnknown = false
  /// Converts the bytes of transformable attributes to a format that this application's transformer reads; nil keeps the bytes unchanged.
  ///
  /// Core Data usually stores such values as keyed archives, which in general cannot be read outside Apple's platforms.
  public var transformableConversion: (@Sendable (_ entityName: String, _ attributeName: String, _ data: Data) throws -> Data)?

  /// Creates options without skipping or conversion.
  public init() {}
}

/// The result of an import.
public struct CoreDataImportReport: Sendable {
  /// The number of objects of one entity, excluding subentities.
  public struct EntityCount: Sendable, Hashable {
    /// The name of the entity.
    public var entityName: String
    /// The number of imported objects.
    public var count: Int
  }
  /// A part that was skipped or needs attention.
  public struct Note: Sendable, Hashable, CustomStringConvertible {
    /// The name of the entity.
    public var entityName: String
    /// The name of the property.
    public var propertyName: String
    /// A description of the problem.
    public var text: String
    /// The number of affected values.
    public var count: Int
    /// A message such as `Photo.image: 3 files are missing`.
    public var description: String { "\(entityName).\(propertyName): \(count) \(text)" }
  }

  /// The layout of the source.
  public var layout: CoreDataStore.Layout
  /// The number of objects by entity, sorted by name. Abstract entities have no objects and are omitted.
  public var entities: [EntityCount] = []
  /// The number of links of many-to-many relationships and of those without an inverse.
  public var linkCount = 0
  /// The number of values read from external files of the source.
  public var externalFileCount = 0
  /// The parts that were skipped or need attention, by property.
  public var notes: [Note] = []
  /// Warnings from before any row was read.
  public var warnings: [String] = []

  /// The total number of objects.
  public var objectCount: Int { entities.reduce(0) { $0 + $1.count } }
}
