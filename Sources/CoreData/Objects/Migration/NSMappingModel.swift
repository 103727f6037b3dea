// NSMappingModel: how the rows of one model become those of another, as an object.
public import Foundation
package import ObjectContext
import ObjectModel

/// How the objects of one model become those of another.
///
/// Nothing is inferred beside it: an entity that no mapping leads to is empty afterwards.
open class NSMappingModel: NSObject {
  /// The mappings, in the order in which they are run.
  public var entityMappings: [NSEntityMapping]! = []

  /// A mapping model without mappings.
  public override init() {}

  package init(_ mapping: MappingModel) { entityMappings = mapping.entityMappings.map(NSEntityMapping.init) }

  /// The models that the mapping was inferred for, and what it was then.
  private var inference: (source: ManagedObjectModel, destination: ManagedObjectModel, contents: [String])?

  /// Whether the mapping model is still what inference has made of two models: the store can migrate its tables without making objects then.
  ///
  /// - Parameters:
  ///   - source: The model of the store.
  ///   - destination: The model that the store is to have.
  func isAsInferred(from source: NSManagedObjectModel, to destination: NSManagedObjectModel) -> Bool {
    guard let inference else { return false }
    return inference.source == source.model && inference.destination == destination.model
      && inference.contents == (entityMappings ?? []).flatMap(\.contents)
  }

  /// The mapping model in a file: only Apple's tools make such files, and there are none.
  ///
  /// - Parameter url: The file.
  /// - Returns: nil.
  public convenience init?(contentsOf url: URL?) { nil }

  /// The mapping model among the resources of bundles: only Apple's tools make such files, and there are none.
  ///
  /// - Parameters:
  ///   - bundles: The bundles.
  ///   - sourceModel: The model of the store.
  ///   - destinationModel: The model that the store is to have.
  /// - Returns: nil.
  public convenience init?(
    from bundles: [Bundle]?, forSourceModel sourceModel: NSManagedObjectModel?, destinationModel: NSManagedObjectModel?
  ) {
    nil
  }

  /// What inference makes of two models.
  ///
  /// - Throws: `NSError` where it cannot tell.
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

  /// The mappings by their names.
  public var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary((entityMappings ?? []).map { ($0.knownName, $0) }) { first, _ in first }
  }
}
