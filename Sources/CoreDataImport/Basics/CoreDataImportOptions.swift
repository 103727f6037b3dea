// CoreDataImportOptions: what an import does with what it cannot take over, and what it tells at the end.
public import Foundation

/// How an import deals with what is missing or unknown.
public struct CoreDataImportOptions: Sendable {
  /// Whether files and objects that the source refers to but does not have are left out and told in the report, instead of ending the import.
  public var skipsMissing = false
  /// Whether entities and columns that the model does not know are left behind and told in the report, instead of ending the import.
  public var ignoresUnknown = false
  /// Turns the bytes of transformable attributes into what this application's transformer reads; nil keeps them as they are.
  ///
  /// Core Data keeps such values as keyed archives as a rule, which no library outside Apple's systems reads in general.
  public var transformableConversion: (@Sendable (_ entityName: String, _ attributeName: String, _ data: Data) throws -> Data)?

  /// Everything must be there and known, and bytes stay as they are.
  public init() {}
}

/// What an import has done.
public struct CoreDataImportReport: Sendable {
  /// The objects of one entity, without those of its subentities.
  public struct EntityCount: Sendable, Hashable {
    /// The entity's name.
    public var entityName: String
    /// How many objects were imported.
    public var count: Int
  }
  /// Something that was left out or needs a look.
  public struct Note: Sendable, Hashable, CustomStringConvertible {
    /// The entity concerned.
    public var entityName: String
    /// The property concerned.
    public var propertyName: String
    /// What about it.
    public var text: String
    /// How many values are concerned.
    public var count: Int
    /// For example `Photo.image: 3 files are missing`.
    public var description: String { "\(entityName).\(propertyName): \(count) \(text)" }
  }

  /// How the source was laid out.
  public var layout: CoreDataStore.Layout
  /// The objects by entity, in the order of the names; abstract entities have none and are not listed.
  public var entities: [EntityCount] = []
  /// The links of many-to-many relationships and of those without inverse.
  public var linkCount = 0
  /// The values that were read from files beside the source.
  public var externalFileCount = 0
  /// What was left out or needs a look, by property.
  public var notes: [Note] = []
  /// What was found before a row was read.
  public var warnings: [String] = []

  /// All objects.
  public var objectCount: Int { entities.reduce(0) { $0 + $1.count } }
}
