// StagedMigrationManager: the stages between the versions of a model, and the way from the version on disk to the newest.
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
/// Set it as ``PersistentStoreDescription/stagedMigrationManager``. A store of any version then takes the stages that are left, all of them
/// in one transaction: afterwards it has the newest version, or, when anything fails, the one it had. A store of a version that no stage knows goes by
/// inference to the nearest version that it can reach without losing more than it has to, since stores keep their own models.
public struct StagedMigrationManager: Sendable {
  /// The stages, from the oldest version to the newest.
  public let stages: [any MigrationStage]

  /// The way through stages, which are given from the oldest version to the newest.
  ///
  /// Where a stage begins with another version than the one before ends with, the way between is inferred, and so is the way from the last version
  /// to the coordinator's model.
  public init(_ stages: [any MigrationStage]) { self.stages = stages }

  /// The way through versions, with custom stages where they are given: what generated code makes of the versions of its model.
  ///
  /// - Parameters:
  ///   - versions: The versions, the oldest first. None is read before a store has to be migrated.
  ///   - label: What the lightweight stages are called in progress and errors.
  ///   - customStages: The stages that are not lightweight.
  public init(_ versions: [ManagedObjectModelReference], label: String, customStages: [CustomMigrationStage] = []) {
    stages = [LightweightMigrationStage(versions, label: label)] + customStages
  }

  /// The way through all versions of a bundle, in its order, with custom stages where they are given.
  ///
  /// - Parameters:
  ///   - versions: The versions.
  ///   - customStages: The stages that are not lightweight. One may pass over versions: stores that have them go to the next version lightweight.
  public init(_ versions: VersionedModel, customStages: [CustomMigrationStage] = []) {
    self.init(versions.versions.map { ManagedObjectModelReference($0.model) }, label: versions.name, customStages: customStages)
  }
}
