public import Foundation
import ObjectModel
package import ObjectStore

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
