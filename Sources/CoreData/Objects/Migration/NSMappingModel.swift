public import Foundation
package import ObjectContext
import ObjectModel

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
