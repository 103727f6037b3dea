public import ObjectModel
public import ObjectStore

/// The stages between the versions of a model.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.stagedMigrationManager = StagedMigrationManager([
///   LightweightMigrationStage([version1]),
///   CustomMigrationStage(migratingFrom: version1, to: version2) { migration in
///     try migration.forEach("Book") { old, new in try new.setValue(old["name"], forKey: "title") }
///   },
/// ])
/// ```
///
/// Assign it to ``PersistentStoreDescription/stagedMigrationManager``. A store of any version then runs its remaining stages in one
/// transaction: afterwards it has the newest version, or, after a failure, its previous version. A store of an unknown version first
/// migrates by inference, from the model that it contains, to the nearest version that can be reached with the least loss.
public struct StagedMigrationManager: Sendable {
  /// The stages, from the oldest version to the newest.
  public let stages: [any MigrationStage]

  /// Creates a manager from stages, ordered from the oldest version to the newest.
  ///
  /// If a stage begins with another version than the end of the previous stage, the gap is migrated by inference. The same applies from the
  /// last version to the coordinator's model.
  public init(_ stages: [any MigrationStage]) { self.stages = stages }

  /// Creates a manager from versions with lightweight steps, some of which custom stages replace. Called by generated code.
  ///
  /// - Parameters:
  ///   - versions: The versions, the oldest first. Their models are loaded only when a store needs a migration.
  ///   - label: The name of the lightweight stages in progress reports and errors.
  ///   - customStages: The stages that are not lightweight.
  public init(_ versions: [ManagedObjectModelReference], label: String, customStages: [CustomMigrationStage] = []) {
    stages = [LightweightMigrationStage(versions, label: label)] + customStages
  }

  /// Creates a manager from all versions of a bundle, in their order, with lightweight steps, some of which custom stages replace.
  ///
  /// - Parameters:
  ///   - versions: The versions.
  ///   - customStages: The stages that are not lightweight. A stage can skip versions: stores of a skipped version migrate to the next one
  ///     by inference.
  public init(_ versions: VersionedModel, customStages: [CustomMigrationStage] = []) {
    self.init(versions.versions.map { ManagedObjectModelReference($0.model) }, label: versions.name, customStages: customStages)
  }
}

/// A stage of a staged migration: ``LightweightMigrationStage`` or ``CustomMigrationStage``.
public protocol MigrationStage: Sendable {
  /// The name of the stage in progress reports and errors.
  var label: String { get }
}

/// A stage with versions that are migrated from one to the next by inference.
///
/// ```swift
/// let stages = StagedMigrationManager([LightweightMigrationStage([version1, version2])])
/// ```
///
/// If a change cannot be inferred, the migration throws ``StoreError`` with ``StoreError/Code/mappingNotInferred``, and the store stays
/// unchanged.
public struct LightweightMigrationStage: MigrationStage {
  /// The name of the stage.
  public var label: String
  /// The versions, from the oldest to the newest.
  public let versions: [ManagedObjectModelReference]

  /// Creates a stage from versions.
  ///
  /// - Parameters:
  ///   - versions: The versions, from the oldest to the newest.
  ///   - label: The name of the stage.
  public init(_ versions: [ManagedObjectModelReference], label: String = "lightweight stage") {
    self.versions = versions
    self.label = label
  }

  /// Creates a stage from models.
  public init(models: [ManagedObjectModel], label: String = "lightweight stage") {
    self.init(models.map { ManagedObjectModelReference($0) }, label: label)
  }

  /// Creates a stage from the checksums of versions.
  ///
  /// Stores of these versions are recognized, and migrate directly to the next version whose model is available from a stage or the
  /// coordinator.
  public init(_ versionChecksums: [String], label: String = "lightweight stage") {
    self.init(versionChecksums.map { ManagedObjectModelReference(versionChecksum: $0) }, label: label)
  }
}

/// A stage between two versions that runs application code.
///
/// Inferable changes are applied as in a lightweight stage. All others are left to the application: a new required attribute is empty, and
/// so is an attribute whose type has changed. The stage is part of the migration's transaction, so an error thrown by a handler rolls the
/// store back.
///
/// ```swift
/// let stage = CustomMigrationStage(migratingFrom: version1, to: version2) { migration in
///   try migration.forEach("Person") { old, new in
///     let parts = (old["name"] as? String ?? "").split(separator: " ", maxSplits: 1)
///     try new.setValue(parts.first.map(String.init), forKey: "firstName")
///     try new.setValue(parts.dropFirst().first.map(String.init), forKey: "lastName")
///   }
/// }
/// ```
///
/// A stage runs in this order: ``willMigrateHandler``, the inferred changes, ``handler``, ``didMigrateHandler``, the check for missing
/// required values. Unsaved changes are saved after each handler.
public struct CustomMigrationStage: MigrationStage {
  /// The name of the stage.
  public var label: String
  /// The version from which the stage migrates.
  public let currentModel: ManagedObjectModelReference
  /// The version to which the stage migrates.
  public let nextModel: ManagedObjectModelReference
  /// Prepares the rows under the source model before the migration changes them; for example, to remove duplicates that would violate a new
  /// constraint.
  public var willMigrateHandler: (@Sendable (ManagedObjectContext) throws -> Void)?
  /// Migrates objects with access to both the source and the destination rows.
  public var handler: (@Sendable (CustomMigration) throws -> Void)?
  /// Completes the rows under the destination model.
  public var didMigrateHandler: (@Sendable (ManagedObjectContext) throws -> Void)?
  /// The classes of the destination objects, generated for the destination version. Without them all objects are plain. Source objects are
  /// always plain, so an application need not keep classes for older versions.
  public var destinationClasses = ManagedObjectClasses()
  /// The class of plain objects, including source objects; nil for ``ManagedObject``.
  package var fallbackClass: ManagedObject.Type?
  /// The mapping model that creates the destination objects. If it is set, nothing is inferred, and ``handler`` runs after the mappings.
  public var mappingModel: MappingModel?

  /// Creates a stage whose handlers are set later, or that only applies inferred changes.
  ///
  /// - Parameters:
  ///   - currentModel: The version from which the stage migrates.
  ///   - nextModel: The version to which the stage migrates.
  ///   - label: The name of the stage.
  public init(
    migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference, label: String = "custom stage"
  ) {
    self.currentModel = currentModel
    self.nextModel = nextModel
    self.label = label
  }

  /// Creates a stage whose handler accesses the source and the destination rows.
  ///
  /// - Parameters:
  ///   - currentModel: The version from which the stage migrates.
  ///   - nextModel: The version to which the stage migrates.
  ///   - label: The name of the stage in progress reports and errors.
  ///   - handler: Migrates what cannot be inferred.
  public init(
    migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference, label: String = "custom stage",
    handler: @escaping @Sendable (CustomMigration) throws -> Void
  ) {
    self.init(migratingFrom: currentModel, to: nextModel, label: label)
    self.handler = handler
  }

  /// Creates a stage that creates the destination objects through a mapping model.
  ///
  /// - Parameters:
  ///   - currentModel: The version from which the stage migrates.
  ///   - nextModel: The version to which the stage migrates.
  ///   - label: The name of the stage in progress reports and errors.
  ///   - mappingModel: The mappings of all entities.
  public init(
    migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference, label: String = "custom stage",
    mappingModel: MappingModel
  ) {
    self.init(migratingFrom: currentModel, to: nextModel, label: label)
    self.mappingModel = mappingModel
  }
}

// MARK: - Migration settings of stores

extension PersistentStoreDescription {
  /// The stages between the versions of the model; nil to infer the whole migration in one step.
  public var stagedMigrationManager: StagedMigrationManager? {
    get { self[.stagedMigrationManager] }
    set {
      self[.stagedMigrationManager] = newValue
      setMigrationSteps()
    }
  }

  /// Mapping models for changes that cannot be inferred.
  ///
  /// The first one that specifies both models (``MappingModel/sourceModel``, ``MappingModel/destinationModel``) is always used. Otherwise,
  /// if inference is impossible, would drop values, or is disabled (``shouldInferMappingModelAutomatically``), the first one that fits the
  /// models and maps each source entity is used.
  public var mappingModels: [MappingModel] {
    get { self[.mappingModels] ?? [] }
    set {
      self[.mappingModels] = newValue
      setMigrationSteps()
    }
  }

  private mutating func setMigrationSteps() {
    let steps = MigrationSteps(manager: stagedMigrationManager, mappingModels: mappingModels)
    guard steps.manager != nil || !steps.mappingModels.isEmpty else { return migrationSteps = nil }
    migrationSteps = { origin, target in try steps.steps(from: origin, to: target) }
  }
}

extension StoreSettingKey<StagedMigrationManager> {
  fileprivate static var stagedMigrationManager: Self { Self("stagedMigrationManager") }
}

extension StoreSettingKey<[MappingModel]> {
  fileprivate static var mappingModels: Self { Self("mappingModels") }
}
