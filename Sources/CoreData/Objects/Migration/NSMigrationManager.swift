// NSMigrationManager: migrations of stores from one file to another, as objects.
public import Foundation
package import ObjectContext
import ObjectModel
import ObjectStore

/// How the rows of one model become those of another.
open class NSMappingModel: NSObject {
  package let mapping: MappingModel

  package init(_ mapping: MappingModel) { self.mapping = mapping }

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
}

/// Takes a store from one model to another, into a file of its own.
open class NSMigrationManager: NSObject {
  /// The model of the store.
  public let sourceModel: NSManagedObjectModel
  /// The model that the store is to have.
  public let destinationModel: NSManagedObjectModel
  /// Notes of the application.
  public var userInfo: [AnyHashable: Any]?
  /// Accepted, and of no effect: stores migrate by themselves.
  public var usesStoreSpecificMigrationManager = true

  /// A manager for two models.
  public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
    (self.sourceModel, self.destinationModel) = (sourceModel, destinationModel)
  }

  /// Copies a store and takes the copy to the other model. The store itself stays as it is, and must not be open.
  ///
  /// - Parameters:
  ///   - sourceURL: Where the store lies.
  ///   - sourceStoreType: Its kind.
  ///   - sourceOptions: What else there is to say of it, such as its key.
  ///   - mappings: How its rows become those of the other model; nil for what inference makes of it.
  ///   - destinationURL: Where the copy will lie.
  ///   - destinationStoreType: Its kind.
  ///   - destinationOptions: What else there is to say of it.
  /// - Throws: `NSError`.
  open func migrateStore(
    from sourceURL: URL, sourceType sourceStoreType: String, options sourceOptions: [AnyHashable: Any]? = nil,
    with mappings: NSMappingModel?,
    toDestinationURL destinationURL: URL, destinationType destinationStoreType: String, destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    try CoreDataError.translating {
      let source = try NSPersistentStoreDescription(sourceStoreType, sourceURL, sourceOptions).value()
      var destination = try NSPersistentStoreDescription(destinationStoreType, destinationURL, destinationOptions).value()
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: destinationModel.model)
      let target = destination
      destination.shouldMigrateStoreAutomatically = true
      if let mappings { destination.mappingModels = [mappings.mapping] }
      let migrated = destination
      try Waiting.run {
        try await coordinator.replacePersistentStore(with: target, withPersistentStoreFrom: source)
        try coordinator.remove(try await coordinator.addPersistentStore(with: migrated))
      }
    }
  }
}
