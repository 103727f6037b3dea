public import Foundation
package import ObjectContext
import ObjectModel
package import ObjectStore

/// A mapping of the objects of one model to those of another.
///
/// Nothing is inferred in addition: an entity without a mapping is empty afterward.
open class NSMappingModel: NSObject {
  /// The entity mappings, in order of execution.
  public var entityMappings: [NSEntityMapping]! = []

  /// Creates an empty mapping model.
  public override init() {}

  package init(_ mapping: MappingModel) { entityMappings = mapping.entityMappings.map(NSEntityMapping.init) }

  /// The models for which the mapping was inferred, and its initial contents.
  private var inference: (source: ManagedObjectModel, destination: ManagedObjectModel, contents: [String])?

  /// Returns whether the mapping model is unmodified since it was inferred for two models. The store can then migrate its tables without
  /// creating objects.
  ///
  /// - Parameters:
  ///   - source: The store's model.
  ///   - destination: The model to migrate to.
  func isAsInferred(from source: NSManagedObjectModel, to destination: NSManagedObjectModel) -> Bool {
    guard let inference else { return false }
    return inference.source == source.model && inference.destination == destination.model
      && inference.contents == (entityMappings ?? []).flatMap(\.contents)
  }

  /// Returns nil: only Apple's tools create mapping model files, which are not supported.
  ///
  /// - Parameter url: The file.
  /// - Returns: nil.
  public convenience init?(contentsOf url: URL?) { nil }

  /// Returns nil: only Apple's tools create mapping model files, which are not supported.
  ///
  /// - Parameters:
  ///   - bundles: The bundles.
  ///   - sourceModel: The store's model.
  ///   - destinationModel: The model to migrate to.
  /// - Returns: nil.
  public convenience init?(
    from bundles: [Bundle]?, forSourceModel sourceModel: NSManagedObjectModel?, destinationModel: NSManagedObjectModel?
  ) {
    nil
  }

  /// Infers the mapping between two models.
  ///
  /// - Throws: `NSError` if the mapping cannot be inferred.
  public class func inferredMappingModel(
    forSourceModel sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel
  ) throws -> NSMappingModel {
    try CoreDataError.translating {
      let (source, destination) = (sourceModel.model, destinationModel.model)
      let model = NSMappingModel(try MappingModel.inferred(forSourceModel: source, destinationModel: destination))
      model.inference = (source, destination, model.entityMappings.flatMap(\.contents))
      return model
    }
  }

  /// The entity mappings by name.
  public var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary((entityMappings ?? []).map { ($0.effectiveName, $0) }) { first, _ in first }
  }
}

/// A reference to a version of a model.
///
/// Migration stages identify the version by its checksum. Apple's tools compute checksums that differ from
/// ``NSManagedObjectModel/versionChecksum``, so any string is accepted as the name of the given version.
open class NSManagedObjectModelReference: NSObject {
  /// The checksum by which stages identify the version.
  public let versionChecksum: String
  /// The underlying reference. A file is read when it is needed.
  package let reference: ObjectStore.ManagedObjectModelReference

  private init(_ reference: ObjectStore.ManagedObjectModelReference, _ versionChecksum: String) {
    (self.reference, self.versionChecksum) = (reference, versionChecksum)
  }

  /// Creates a reference to a model.
  public convenience init(model: NSManagedObjectModel, versionChecksum: String) {
    self.init(ObjectStore.ManagedObjectModelReference(model.model), versionChecksum)
  }

  /// Creates a reference to a model file: an `.xcdatamodel`, or the current version of an `.xcdatamodeld`. Names that end in `.mom` and
  /// `.momd` refer to these files.
  public convenience init(fileURL: URL, versionChecksum: String) {
    self.init(ObjectStore.ManagedObjectModelReference(contentsOf: ModelResources.source(of: fileURL)), versionChecksum)
  }

  /// Creates a reference to the version with certain entity hashes among the models of a bundle. If there is none, the migration that needs
  /// it reports the error.
  ///
  /// - Parameters:
  ///   - versionHash: The version hashes by entity name.
  ///   - bundle: The bundle; nil for the main bundle.
  ///   - versionChecksum: The checksum by which stages identify the version.
  public convenience init(entityVersionHashes versionHash: [AnyHashable: Any], in bundle: Bundle?, versionChecksum: String) {
    let hashes = versionHash.reduce(into: [String: Data]()) { $0["\($1.key)"] = $1.value as? Data }
    let found = ModelBundles.versions(in: bundle ?? .main).lazy.map(\.model).first { $0.versionHashesByEntityName == hashes }
    self.init(
      found.map { ObjectStore.ManagedObjectModelReference($0) } ?? .init(versionChecksum: versionChecksum), versionChecksum)
  }

  /// Creates a reference to a named version among the models of a bundle. If there is none, the migration that needs it reports the error.
  ///
  /// - Parameters:
  ///   - modelName: The name of the version, such as `Library 2`.
  ///   - bundle: The bundle; nil for the main bundle.
  ///   - versionChecksum: The checksum by which stages identify the version.
  public convenience init(name modelName: String, in bundle: Bundle?, versionChecksum: String) {
    let found = ModelBundles.versions(in: bundle ?? .main).first { $0.name == modelName }?.model
    self.init(
      found.map { ObjectStore.ManagedObjectModelReference($0) } ?? .init(versionChecksum: versionChecksum), versionChecksum)
  }

  /// The version's model; an empty model if it cannot be read.
  public var resolvedModel: NSManagedObjectModel {
    (try? reference.compiledModel).map { NSManagedObjectModel($0.model) } ?? NSManagedObjectModel()
  }
}
