// PersistentStoreDescription+Migration: stages and mapping models of a store's description.
public import ObjectStore

extension PersistentStoreDescription {
  /// The stages between the versions of the model; nil infers the whole way at once.
  public var stagedMigrationManager: StagedMigrationManager? {
    get { self[.stagedMigrationManager] }
    set {
      self[.stagedMigrationManager] = newValue
      setMigrationSteps()
    }
  }

  /// Mapping models for what cannot be inferred.
  ///
  /// The first that names the two models (``MappingModel/sourceModel``, ``MappingModel/destinationModel``) is used in any case. Else it is the first that
  /// fits them and leaves out no older entity, where inference is impossible, would drop values, or is forbidden
  /// (``shouldInferMappingModelAutomatically``).
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
