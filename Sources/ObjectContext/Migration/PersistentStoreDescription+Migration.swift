public import ObjectStore

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
