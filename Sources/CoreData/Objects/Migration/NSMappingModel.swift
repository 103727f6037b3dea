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
      NSMappingModel(try MappingModel.inferred(forSourceModel: sourceModel.model, destinationModel: destinationModel.model))
    }
  }

  /// The mappings by their names.
  public var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary((entityMappings ?? []).map { ($0.knownName, $0) }) { first, _ in first }
  }
}
