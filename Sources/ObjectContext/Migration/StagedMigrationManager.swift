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
