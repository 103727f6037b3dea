// NSManagedObjectModelReference: a version of a model, for stages of a migration.
public import Foundation
import ObjectModel
package import ObjectStore

/// A version of a model.
///
/// Its checksum is what stages name the version by. Apple's tools compute others than ``NSManagedObjectModel/versionChecksum``, so that any text is taken for a
/// name of the version that is given with it.
open class NSManagedObjectModelReference: NSObject {
  /// What stages name the version by.
  public let versionChecksum: String
  /// The version as the library has it. A file is read when it is needed.
  package let reference: ObjectStore.ManagedObjectModelReference

  private init(_ reference: ObjectStore.ManagedObjectModelReference, _ versionChecksum: String) {
    (self.reference, self.versionChecksum) = (reference, versionChecksum)
  }

  /// A version by its model.
  public convenience init(model: NSManagedObjectModel, versionChecksum: String) {
    self.init(ObjectStore.ManagedObjectModelReference(model.model), versionChecksum)
  }

  /// A version by its file, an `.xcdatamodel` or the current one of an `.xcdatamodeld`. Names that end in `.mom` and `.momd` stand for these.
  public convenience init(fileURL: URL, versionChecksum: String) {
    self.init(ObjectStore.ManagedObjectModelReference(contentsOf: ModelResources.source(of: fileURL)), versionChecksum)
  }

  /// The version among the models of a bundle whose entities have certain hashes; where there is none, the migration that needs it says so.
  ///
  /// - Parameters:
  ///   - versionHash: The hashes by the names of the entities.
  ///   - bundle: The bundle; nil for the main one.
  ///   - versionChecksum: What stages name the version by.
  public convenience init(entityVersionHashes versionHash: [AnyHashable: Any], in bundle: Bundle?, versionChecksum: String) {
    let hashes = versionHash.reduce(into: [String: Data]()) { $0["\($1.key)"] = $1.value as? Data }
    let found = ModelBundles.versions(in: bundle ?? .main).lazy.map(\.model).first { $0.versionHashesByEntityName == hashes }
    self.init(
      found.map { ObjectStore.ManagedObjectModelReference($0) } ?? .init(versionChecksum: versionChecksum), versionChecksum)
  }

  /// The version of a name among the models of a bundle; where there is none, the migration that needs it says so.
  ///
  /// - Parameters:
  ///   - modelName: The name of the version, such as `Library 2`.
  ///   - bundle: The bundle; nil for the main one.
  ///   - versionChecksum: What stages name the version by.
  public convenience init(name modelName: String, in bundle: Bundle?, versionChecksum: String) {
    let found = ModelBundles.versions(in: bundle ?? .main).first { $0.name == modelName }?.model
    self.init(
      found.map { ObjectStore.ManagedObjectModelReference($0) } ?? .init(versionChecksum: versionChecksum), versionChecksum)
  }

  /// The version's model; an empty one where it cannot be read.
  public var resolvedModel: NSManagedObjectModel {
    (try? reference.compiledModel).map { NSManagedObjectModel($0.model) } ?? NSManagedObjectModel()
  }
}
