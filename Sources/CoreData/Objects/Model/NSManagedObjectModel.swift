// NSManagedObjectModel: a model as an object.
public import Foundation
package import ObjectModel
package import ObjectStore
import Synchronization

/// A model: the entities that a store has, and their properties. Once a coordinator uses it, it does not change.
public final class NSManagedObjectModel: NSObject, NSCopying, @unchecked Sendable {  // the mutex guards all that changes
  private let state: Mutex<State>

  private struct State {
    /// The model as it was read or was frozen.
    var value: ManagedObjectModel
    /// The entities as objects, once somebody has asked for them: they are what counts until the model is frozen.
    var shown: [NSEntityDescription]?
    var shownByName: [String: NSEntityDescription]?
    var isFrozen = false
    weak var coordinator: PersistentStoreCoordinator?
    /// The checksum of the model as coordinators have compiled it.
    var checksum: String?

    /// The entities as objects.
    mutating func show(of model: NSManagedObjectModel) -> [NSEntityDescription] {
      if let shown { return shown }
      let entities = NSEntityDescription.make(value, of: model)
      shown = entities
      return entities
    }

    /// The model as it is now.
    var model: ManagedObjectModel {
      guard !isFrozen, let shown else { return value }
      var model = value
      let entities = NSEntityDescription.flattened(shown)
      for entity in entities { entity.noteComposites(in: &model.composites) }
      model.entities = entities.map(\.value)
      return model
    }
  }

  /// A model that has no entities yet.
  public override init() { state = Mutex(State(value: ManagedObjectModel())) }

  package init(_ model: ManagedObjectModel) { state = Mutex(State(value: model)) }

  /// A model that no coordinator uses, with the same entities.
  public func copy(with zone: NSZone? = nil) -> Any { NSManagedObjectModel(model) }

  /// Models are equal that have the same entities, configurations and requests.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSManagedObjectModel else { return false }
    return other === self || other.model == model
  }

  /// A hash of the entities' names, which is the same for equal models.
  public override var hash: Int { Set(model.entities.map(\.name)).hashValue }

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
    let models = searched(bundles).flatMap { ModelBundles.all(in: $0) }.compactMap { try? read($0) }
    guard !models.isEmpty else { return nil }
    return (try? ManagedObjectModel(merging: models)).map(NSManagedObjectModel.init)
  }

  /// The bundles to search: `Bundle.allBundles` has none on Linux, and stands for the program's as nil does.
  private static func searched(_ bundles: [Bundle]?) -> [Bundle] { bundles.flatMap { $0.isEmpty ? nil : $0 } ?? [.main] }

  /// Several models as one; nil where they do not go together.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    guard let model = try? ManagedObjectModel(merging: (models ?? []).map(\.model)) else { return nil }
    self.init(model)
  }

  /// Returns the model that a store was written with, from the versions in bundles: one version, or the entities of several.
  ///
  /// - Parameters:
  ///   - bundles: The bundles; nil for the main one.
  ///   - metadata: The store's metadata.
  /// - Returns: nil if an entity of the store is in no version with its hash.
  public class func mergedModel(from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]) -> NSManagedObjectModel? {
    merged(searched(bundles).flatMap { ModelBundles.versions(in: $0) }.map(\.model), metadata)
  }

  /// Creates the model that a store was written with from the entities of models.
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

  /// Reads a model as this library does.
  ///
  /// - Throws: ``ModelFileError``.
  static func read(_ url: URL) throws -> ManagedObjectModel {
    let url = ModelResources.source(of: url)
    if url.pathExtension == "xcdatamodeld", let current = try VersionedModel(contentsOf: url).current { return current }
    return try ManagedObjectModel(contentsOf: url)
  }

  // MARK: Entities

  package var model: ManagedObjectModel { state.withLock { $0.model } }

  /// The entities. Once a coordinator uses the model, changes of them are not heeded.
  public var entities: [NSEntityDescription] {
    get { state.withLock { Lent(value: $0.show(of: self)) }.value }
    set {
      let lent = Lent(value: newValue)
      state.withLock { state in
        if state.isFrozen { return }
        let entities = NSEntityDescription.flattened(lent.value)
        for entity in entities { entity.join(self) }
        (state.shown, state.shownByName) = (entities, nil)
      }
    }
  }

  /// The entities by their names.
  public var entitiesByName: [String: NSEntityDescription] {
    state.withLock { state in
      // As long as they may be changed, names may be too.
      if state.isFrozen, let byName = state.shownByName { return Lent(value: byName) }
      return Lent(value: Dictionary(state.show(of: self).map { ($0.name ?? "", $0) }) { first, _ in first })
    }.value
  }

  /// The names of the model's versions.
  public var versionIdentifiers: Set<AnyHashable> { Set(model.versionIdentifiers.map { AnyHashable($0) }) }

  /// What tells versions of the model apart, as a text. Apple's tools compute another one.
  public var versionChecksum: String { (try? CompiledModel(model))?.checksum ?? "" }

  /// The hashes of the entities, by their names: what tells whether a store fits.
  public var entityVersionHashesByName: [String: Data] { model.versionHashesByEntityName }

  // MARK: Configurations

  /// The names of the configurations.
  public var configurations: [String] { model.configurations.map(\.name) }

  /// The entities of a configuration; all where it is nil, and nil for one that there is not.
  public func entities(forConfigurationName configuration: String?) -> [NSEntityDescription]? {
    guard let configuration else { return entities }
    guard let names = model.configurations.first(where: { $0.name == configuration })?.entityNames else { return nil }
    return names.compactMap { entitiesByName[$0] }
  }

  /// Says which entities a configuration has.
  public func setEntities(_ entities: [NSEntityDescription], forConfigurationName configuration: String) {
    let names = entities.compactMap(\.name)
    state.withLock { state in
      if state.isFrozen { return }
      state.value.configurations.removeAll { $0.name == configuration }
      state.value.configurations.append(ModelConfiguration(name: configuration, entityNames: names))
    }
  }

  /// Whether a store with metadata was made with the entities of a configuration.
  public func isConfiguration(withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]) -> Bool {
    model.isConfiguration(
      withName: configuration, compatibleWithStoreMetadata: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:])
  }

  // MARK: Templates

  /// The model's requests by their names. What is changed of them does not change the model's.
  public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] {
    Dictionary(model.fetchRequestTemplates.map { ($0.name, Self.request($0)) }) { first, _ in first }
  }

  /// A request of the model by its name; nil where there is none.
  public func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? {
    model.fetchRequestTemplate(named: name).map(Self.request)
  }

  /// A request of the model with values for the variables of its condition; nil where there is none.
  public func fetchRequestFromTemplate(withName name: String, substitutionVariables variables: [String: Any]) -> NSFetchRequest<
    any NSFetchRequestResult
  >? {
    let request = fetchRequestTemplate(forName: name)
    request?.predicate = request?.predicate?.withSubstitutionVariables(variables)
    return request
  }

  /// Adds a request to the model, or takes one away. Its entity, condition, limits and flags count.
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

  // MARK: Its coordinator

  package var coordinator: PersistentStoreCoordinator? { state.withLock { $0.coordinator } }

  fileprivate var checksum: String? { state.withLock { $0.checksum } }

  package func noteUse(by coordinator: PersistentStoreCoordinator) {
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

  /// The entity of an object, in the model that its store was opened with; in another one that has an entity of the name where that model is gone.
  package static func entity(of objectID: ManagedObjectID) -> NSEntityDescription? {
    let (name, models) = (objectID.entityName, all)
    let checksum = ObjectIDSpace.space(objectID.space)?.model.checksum
    let own = models.first { $0.checksum == checksum }?.entitiesByName[name]
    return own ?? models.lazy.compactMap { $0.entitiesByName[name] }.first
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

  /// All versions of the models among a bundle's resources, by their names.
  package static func versions(in bundle: Bundle) -> [(name: String, model: ManagedObjectModel)] {
    all(in: bundle).flatMap { url -> [(name: String, model: ManagedObjectModel)] in
      if url.pathExtension == "xcdatamodeld" {
        return ((try? VersionedModel(contentsOf: url))?.versions ?? []).map { ($0.name, $0.model) }
      }
      return (try? ManagedObjectModel(contentsOf: url)).map { [(url.deletingPathExtension().lastPathComponent, $0)] } ?? []
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
