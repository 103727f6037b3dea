public import Foundation

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
