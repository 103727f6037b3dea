public import Foundation
package import ObjectModel
package import ObjectStore
import Synchronization

/// A model: entities and their properties. It is immutable once a coordinator uses it.
public final class NSManagedObjectModel: NSObject, NSCopying, @unchecked Sendable {  // the mutex guards the mutable state
  private let state: Mutex<State>

  private struct State {
    /// The model as it was read or frozen.
    var value: ManagedObjectModel
    /// The entities as objects, once accessed. Until the model is frozen, they take precedence.
    var shown: [NSEntityDescription]?
    var shownByName: [String: NSEntityDescription]?
    var isFrozen = false
    weak var coordinator: PersistentStoreCoordinator?
    /// The checksum of the model as compiled by coordinators.
    var checksum: String?

    /// Returns the entities as objects.
    mutating func show(of model: NSManagedObjectModel) -> [NSEntityDescription] {
      if let shown { return shown }
      let entities = NSEntityDescription.make(value, of: model)
      shown = entities
      return entities
    }

    /// The current model.
    var model: ManagedObjectModel {
      guard !isFrozen, let shown else { return value }
      var model = value
      let entities = NSEntityDescription.flattened(shown)
      for entity in entities { entity.collectComposites(in: &model.composites) }
      model.entities = entities.map(\.value)
      return model
    }
  }

  /// Creates a model without entities.
  public override init() { state = Mutex(State(value: ManagedObjectModel())) }

  package init(_ model: ManagedObjectModel) { state = Mutex(State(value: model)) }

  /// Returns a mutable copy with the same entities.
  public func copy(with zone: NSZone? = nil) -> Any { NSManagedObjectModel(model) }

  /// Returns whether both models have the same entities, configurations and requests.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSManagedObjectModel else { return false }
    return other === self || other.model == model
  }

  /// A hash of the entities' names, equal for equal models.
  public override var hash: Int { Set(model.entities.map(\.name)).hashValue }

  /// Reads a model: a single version, or the current version of a bundle.
  ///
  /// - Parameter url: An `.xcdatamodeld` or `.xcdatamodel` bundle. Names that end in `.momd` and `.mom`, which only Apple's tools create,
  ///   refer to these bundles.
  /// - Returns: nil if there is no model, or it is invalid.
  public convenience init?(contentsOf url: URL) {
    guard let model = try? Self.read(url) else { return nil }
    self.init(model)
  }

  /// Returns a model merged from the models of bundles; nil for the main bundle.
  public static func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? {
    let models = searched(bundles).flatMap { ModelBundles.all(in: $0) }.compactMap { try? read($0) }
    guard !models.isEmpty else { return nil }
    return (try? ManagedObjectModel(merging: models)).map(NSManagedObjectModel.init)
  }

  /// Returns the bundles to search. `Bundle.allBundles` is empty on Linux and is treated as nil: the program's bundle.
  private static func searched(_ bundles: [Bundle]?) -> [Bundle] { bundles.flatMap { $0.isEmpty ? nil : $0 } ?? [.main] }

  /// Creates a model by merging models; returns nil if they conflict.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    guard let model = try? ManagedObjectModel(merging: (models ?? []).map(\.model)) else { return nil }
    self.init(model)
  }

  /// Returns the model that a store was created with, from the versions in bundles: one version, or entities of several.
  ///
  /// - Parameters:
  ///   - bundles: The bundles; nil for the main bundle.
  ///   - metadata: The store's metadata.
  /// - Returns: nil if an entity of the store is in none of the versions with its hash.
  public class func mergedModel(from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]) -> NSManagedObjectModel? {
    merged(searched(bundles).flatMap { ModelBundles.versions(in: $0) }.map(\.model), metadata)
  }

  /// Creates the model that a store was created with from the entities of models.
  ///
  /// - Parameters:
  ///   - models: The models.
  ///   - metadata: The store's metadata.
  /// - Returns: nil if an entity of the store is in none of the models with its hash.
  public convenience init?(byMerging models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]) {
    guard let model = Self.merged(models.map(\.model), metadata) else { return nil }
    self.init(model.model)
  }

  private static func merged(_ models: [ManagedObjectModel], _ metadata: [String: Any]) -> NSManagedObjectModel? {
    guard let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data] else { return nil }
    return ManagedObjectModel(merging: models, forStoreMetadata: hashes).map(NSManagedObjectModel.init)
  }

  /// Reads a model.
  ///
  /// - Throws: ``ModelFileError``.
  static func read(_ url: URL) throws -> ManagedObjectModel {
    let url = ModelResources.source(of: url)
    if url.pathExtension == "xcdatamodeld", let current = try VersionedModel(contentsOf: url).current { return current }
    return try ManagedObjectModel(contentsOf: url)
  }

  // MARK: Entities

  package var model: ManagedObjectModel { state.withLock { $0.model } }

  /// The entities. Changes have no effect once a coordinator uses the model.
  public var entities: [NSEntityDescription] {
    get { state.withLock { SendableBox(value: $0.show(of: self)) }.value }
    set {
      let boxed = SendableBox(value: newValue)
      state.withLock { state in
        if state.isFrozen { return }
        let entities = NSEntityDescription.flattened(boxed.value)
        for entity in entities { entity.join(self) }
        (state.shown, state.shownByName) = (entities, nil)
      }
    }
  }

  /// The entities by name.
  public var entitiesByName: [String: NSEntityDescription] {
    state.withLock { state in
      // Names can change until the model is frozen.
      if state.isFrozen, let byName = state.shownByName { return SendableBox(value: byName) }
      return SendableBox(value: Dictionary(state.show(of: self).map { ($0.name ?? "", $0) }) { first, _ in first })
    }.value
  }

  /// The identifiers of the model's version.
  public var versionIdentifiers: Set<AnyHashable> { Set(model.versionIdentifiers.map { AnyHashable($0) }) }

  /// The checksum that identifies the model's version. Apple's tools compute a different one.
  public var versionChecksum: String { (try? CompiledModel(model))?.checksum ?? "" }

  /// The version hashes of the entities by name, used to determine whether a store is compatible.
  public var entityVersionHashesByName: [String: Data] { model.versionHashesByEntityName }

  // MARK: Configurations

  /// The names of the configurations.
  public var configurations: [String] { model.configurations.map(\.name) }

  /// Returns the entities of a configuration: all if it is nil; nil if there is no such configuration.
  public func entities(forConfigurationName configuration: String?) -> [NSEntityDescription]? {
    guard let configuration else { return entities }
    guard let names = model.configurations.first(where: { $0.name == configuration })?.entityNames else { return nil }
    return names.compactMap { entitiesByName[$0] }
  }

  /// Sets the entities of a configuration.
  public func setEntities(_ entities: [NSEntityDescription], forConfigurationName configuration: String) {
    let names = entities.compactMap(\.name)
    state.withLock { state in
      if state.isFrozen { return }
      state.value.configurations.removeAll { $0.name == configuration }
      state.value.configurations.append(ModelConfiguration(name: configuration, entityNames: names))
    }
  }

  /// Returns whether a store with the given metadata was created with the entities of a configuration.
  public func isConfiguration(withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]) -> Bool {
    model.isConfiguration(
      withName: configuration, compatibleWithStoreMetadata: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:])
  }

  // MARK: Fetch request templates

  /// The fetch request templates by name. Changes of the requests do not affect the model.
  public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] {
    Dictionary(model.fetchRequestTemplates.map { ($0.name, Self.request($0)) }) { first, _ in first }
  }

  /// Returns the fetch request template with a name; nil if there is none.
  public func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? {
    model.fetchRequestTemplate(named: name).map(Self.request)
  }

  /// Returns the fetch request template with a name, with values for its predicate's variables; nil if there is none.
  public func fetchRequestFromTemplate(withName name: String, substitutionVariables variables: [String: Any]) -> NSFetchRequest<
    any NSFetchRequestResult
  >? {
    let request = fetchRequestTemplate(forName: name)
    request?.predicate = request?.predicate?.withSubstitutionVariables(variables)
    return request
  }

  /// Sets or removes a fetch request template. Its entity, predicate, limits and flags are used.
  public func setFetchRequestTemplate(_ request: NSFetchRequest<any NSFetchRequestResult>?, forName name: String) {
    let template = request.map { request in
      var template = FetchRequestTemplate(
        name: name, entityName: request.entityName ?? "", predicateFormat: request.predicate?.predicateFormat)
      (template.fetchLimit, template.fetchBatchSize) = (request.fetchLimit, request.fetchBatchSize)
      (template.includesSubentities, template.includesPropertyValues) = (request.includesSubentities, request.includesPropertyValues)
      template.includesPendingChanges = request.includesPendingChanges
      (template.returnsObjectsAsFaults, template.returnsDistinctResults) = (request.returnsObjectsAsFaults, request.returnsDistinctResults)
      return template
    }
    state.withLock { state in
      if state.isFrozen { return }
      state.value.fetchRequestTemplates.removeAll { $0.name == name }
      if let template { state.value.fetchRequestTemplates.append(template) }
    }
  }

  private static func request(_ template: FetchRequestTemplate) -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: template.entityName)
    request.predicate = template.predicateFormat.map { NSPredicate(format: $0) }
    (request.fetchLimit, request.fetchBatchSize) = (template.fetchLimit, template.fetchBatchSize)
    (request.includesSubentities, request.includesPropertyValues) = (template.includesSubentities, template.includesPropertyValues)
    request.includesPendingChanges = template.includesPendingChanges
    (request.returnsObjectsAsFaults, request.returnsDistinctResults) = (template.returnsObjectsAsFaults, template.returnsDistinctResults)
    switch template.resultType {
    case .objects: break
    case .objectIDs: request.resultType = .managedObjectIDResultType
    case .dictionaries: request.resultType = .dictionaryResultType
    case .count: request.resultType = .countResultType
    }
    return request
  }

  // MARK: Coordinators

  package var coordinator: PersistentStoreCoordinator? { state.withLock { $0.coordinator } }

  fileprivate var checksum: String? { state.withLock { $0.checksum } }

  package func registerUse(by coordinator: PersistentStoreCoordinator) {
    state.withLock { state in
      state.value = state.model
      state.shownByName = Dictionary(state.show(of: self).map { ($0.name ?? "", $0) }) { first, _ in first }
      state.isFrozen = true
      state.coordinator = coordinator
      state.checksum = coordinator.compiledModel.checksum
    }
    UsedModels.add(self)
  }
}

/// The models used by coordinators, which are searched for entities of a class.
package enum UsedModels {
  private struct Reference { weak var model: NSManagedObjectModel? }
  private static let models = Mutex<[Reference]>([])

  package static func add(_ model: NSManagedObjectModel) {
    models.withLock { models in
      models.removeAll { $0.model == nil || $0.model === model }
      models.append(Reference(model: model))
    }
  }

  /// Returns the entity of an object in the model that its store was opened with; if that model was deallocated, in another model with an
  /// entity of the same name.
  package static func entity(of objectID: ManagedObjectID) -> NSEntityDescription? {
    let (name, models) = (objectID.entityName, all)
    let checksum = ObjectIDSpace.space(objectID.space)?.model.checksum
    let own = models.first { $0.checksum == checksum }?.entitiesByName[name]
    return own ?? models.lazy.compactMap { $0.entitiesByName[name] }.first
  }

  /// The models, most recent first.
  package static var all: [NSManagedObjectModel] { models.withLock { $0.compactMap(\.model).reversed() } }
}

/// Finds model files in bundles.
package enum ModelBundles {
  /// Returns all models among a bundle's resources, including those of adjacent package bundles.
  package static func all(in bundle: Bundle) -> [URL] {
    folders(of: bundle).flatMap { folder -> [URL] in
      let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
      return files.filter { ["xcdatamodeld", "xcdatamodel"].contains($0.pathExtension) }.sorted { $0.path < $1.path }
    }
  }

  /// Returns all versions of the models among a bundle's resources, with their names.
  package static func versions(in bundle: Bundle) -> [(name: String, model: ManagedObjectModel)] {
    all(in: bundle).flatMap { url -> [(name: String, model: ManagedObjectModel)] in
      if url.pathExtension == "xcdatamodeld" {
        return ((try? VersionedModel(contentsOf: url))?.versions ?? []).map { ($0.name, $0.model) }
      }
      return (try? ManagedObjectModel(contentsOf: url)).map { [(url.deletingPathExtension().lastPathComponent, $0)] } ?? []
    }
  }

  /// Returns the model with a name among the program's resources; nil if there is none.
  package static func model(named name: String) -> URL? {
    all(in: .main).first { $0.deletingPathExtension().lastPathComponent == name }
  }

  /// Returns the folders of a bundle's resources and of adjacent package bundles, named `Package_Target.resources`.
  private static func folders(of bundle: Bundle) -> [URL] {
    let resources = bundle.resourceURL ?? bundle.bundleURL
    let siblings = (try? FileManager.default.contentsOfDirectory(at: bundle.bundleURL, includingPropertiesForKeys: nil)) ?? []
    return [resources] + siblings.filter { $0.pathExtension == "resources" }.sorted { $0.path < $1.path }
  }
}
