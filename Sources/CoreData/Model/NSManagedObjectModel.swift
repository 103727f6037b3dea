// NSManagedObjectModel: a model as an object.
public import Foundation
package import ObjectModel
package import ObjectStore
import Synchronization

/// A model: the entities that a store has, and their properties. Once a coordinator uses it, it does not change.
public final class NSManagedObjectModel: NSObject, @unchecked Sendable {  // the mutex guards all that changes
  private let state: Mutex<State>

  private struct State {
    var model: ManagedObjectModel
    weak var coordinator: PersistentStoreCoordinator?
  }

  /// A model that has no entities yet.
  public override init() { state = Mutex(State(model: ManagedObjectModel())) }

  package init(_ model: ManagedObjectModel) { state = Mutex(State(model: model)) }

  /// Reads a model: a bundle of versions, of which the current one is taken, or a single one.
  ///
  /// - Parameter url: An `.xcdatamodeld` or `.xcdatamodel` bundle. Names that end in `.momd` and `.mom`, which only Apple's tools make, stand for these.
  /// - Returns: nil when there is no model, or one that is wrong.
  public convenience init?(contentsOf url: URL) {
    guard let model = try? Self.read(url) else { return nil }
    self.init(model)
  }

  /// The models of bundles as one; of the main bundle's where none are named.
  public static func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? {
    let models = (bundles ?? [.main]).flatMap { ModelBundles.all(in: $0) }.compactMap { try? read($0) }
    guard !models.isEmpty else { return nil }
    return (try? ManagedObjectModel(merging: models)).map(NSManagedObjectModel.init)
  }

  /// Several models as one; nil where they do not go together.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    guard let model = try? ManagedObjectModel(merging: (models ?? []).map(\.model)) else { return nil }
    self.init(model)
  }

  /// Reads a model as this library does.
  ///
  /// - Throws: ``ModelFileError``.
  static func read(_ url: URL) throws -> ManagedObjectModel {
    var url = url
    if url.pathExtension == "momd" { url = url.deletingPathExtension().appendingPathExtension("xcdatamodeld") }
    if url.pathExtension == "mom" { url = url.deletingPathExtension().appendingPathExtension("xcdatamodel") }
    if url.pathExtension == "xcdatamodeld", let current = try VersionedModel(contentsOf: url).current { return current }
    return try ManagedObjectModel(contentsOf: url)
  }

  // MARK: Entities

  package var model: ManagedObjectModel { state.withLock { $0.model } }

  /// The entities. What is set here are copies: descriptions that are changed later have to be set again.
  public var entities: [NSEntityDescription] {
    get { model.entities.map { NSEntityDescription($0, of: self) } }
    set {
      let entities = NSEntityDescription.flattened(newValue)
      state.withLock { if $0.coordinator == nil { $0.model.entities = entities } }
    }
  }

  /// The entities by their names.
  public var entitiesByName: [String: NSEntityDescription] {
    Dictionary(entities.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  /// The names of the model's versions.
  public var versionIdentifiers: Set<AnyHashable> { Set(model.versionIdentifiers.map { AnyHashable($0) }) }

  /// The hashes of the entities, by their names: what tells whether a store fits.
  public var entityVersionHashesByName: [String: Data] { model.versionHashesByEntityName }

  // MARK: Its coordinator

  package var coordinator: PersistentStoreCoordinator? { state.withLock { $0.coordinator } }

  package func noteUse(by coordinator: PersistentStoreCoordinator) {
    state.withLock { $0.coordinator = coordinator }
    UsedModels.add(self)
  }
}

/// The models that coordinators use, for entities that are asked for by a class alone.
package enum UsedModels {
  private struct Reference { weak var model: NSManagedObjectModel? }
  private static let models = Mutex<[Reference]>([])

  package static func add(_ model: NSManagedObjectModel) {
    models.withLock { models in
      models.removeAll { $0.model == nil || $0.model === model }
      models.append(Reference(model: model))
    }
  }

  /// The models, the last one first.
  package static var all: [NSManagedObjectModel] { models.withLock { $0.compactMap(\.model).reversed() } }
}

/// The files of models in bundles.
package enum ModelBundles {
  /// All models among a bundle's resources, those of packages' bundles beside it included.
  package static func all(in bundle: Bundle) -> [URL] {
    folders(of: bundle).flatMap { folder -> [URL] in
      let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
      return files.filter { ["xcdatamodeld", "xcdatamodel"].contains($0.pathExtension) }.sorted { $0.path < $1.path }
    }
  }

  /// The model of a name among the resources of the program; nil where there is none.
  package static func model(named name: String) -> URL? {
    all(in: .main).first { $0.deletingPathExtension().lastPathComponent == name }
  }

  /// Where a bundle's resources lie, and those of the packages that the program is built of, in folders `Package_Target.resources` beside it.
  private static func folders(of bundle: Bundle) -> [URL] {
    let resources = bundle.resourceURL ?? bundle.bundleURL
    let beside = (try? FileManager.default.contentsOfDirectory(at: bundle.bundleURL, includingPropertiesForKeys: nil)) ?? []
    return [resources] + beside.filter { $0.pathExtension == "resources" }.sorted { $0.path < $1.path }
  }
}
