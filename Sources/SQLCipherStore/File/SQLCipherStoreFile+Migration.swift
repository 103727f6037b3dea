public import ObjectModel
public import ObjectStore
import SQLCipherConnection

extension SQLCipherStoreFile {
  /// Whether the store fits a model as it is, and what differs between the store's model and that one. No row is read.
  package func comparison(with model: CompiledModel) async throws -> (fits: Bool, changes: [ModelChange]) {
    let numbers = try entityNumbers(of: model, nil)
    return try await read { connection in
      let hashes = try MetadataTable.readHashes(connection, path: connection.path)
      let stored = try StoredSchema.read(connection, path: connection.path)
      return (model.fits(hashes, entityNumbers: numbers), ModelDifference(from: stored.model, to: model).changes)
    }
  }

  /// The plan for a model in numbers.
  package func migrationPlan(
    to model: CompiledModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    let numbers = try entityNumbers(of: model, configuration)
    return try await read { connection in
      try MigrationDryRun(
        connection: connection, path: connection.path, model: model, entityNumbers: numbers, defersCleanUp: defersCleanUp
      ).plan()
    }
  }

  /// What opening the store with a model would do to it: the steps with their statements and rows, what cannot be inferred, and what the stored rows do
  /// not allow. The file stays untouched. Rows are counted, so the time grows with the store.
  ///
  /// - Parameters:
  ///   - model: The model that the store would be brought to.
  ///   - configuration: The configuration of the model that the store is to hold; nil for all entities.
  ///   - defersCleanUp: Whether costly clean-up would be put off.
  /// - Throws: ``StoreError``, with the code `storeNewerThanModel` where the store has been through the model already; ``ModelValidationError`` for mistakes of
  ///   the model.
  public func migrationPlan(
    to model: ManagedObjectModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    try await migrationPlan(to: try CompiledModel(model), configuration: configuration, defersCleanUp: defersCleanUp)
  }

  /// The plan for a model in numbers.
  package func migrationPlan(to model: CompiledModel, with description: PersistentStoreDescription) async throws -> MigrationPlan {
    let numbers = try entityNumbers(of: model, description.configuration)
    return try await read { connection in
      try MigrationDryRun(
        connection: connection, path: connection.path, model: model, entityNumbers: numbers,
        defersCleanUp: description.defersLightweightMigration, description: description
      ).plan()
    }
  }

  /// What opening the store with a description and a model would do to it: stage by stage where the description has stages, or mapping models that are
  /// needed. The file stays untouched, and no handler is called: ``MigrationPlan/Stage/unknowns`` says what only handlers decide.
  ///
  /// Rows are counted for the first stage; for later ones their numbers follow from it as far as inference goes.
  ///
  /// - Parameters:
  ///   - model: The model that the store would be brought to.
  ///   - description: The description, of which the stages, the mapping models, the configuration, `defersLightweightMigration` and
  ///     `shouldInferMappingModelAutomatically` matter.
  /// - Throws: ``StoreError`` as opening does: `storeNewerThanModel`, `backwardMigration`, `unknownModelReference`, `mappingModelMissing` and so on;
  ///   ``ModelValidationError`` for mistakes of the model.
  public func migrationPlan(to model: ManagedObjectModel, with description: PersistentStoreDescription) async throws -> MigrationPlan {
    try await migrationPlan(to: try CompiledModel(model), with: description)
  }

  private func entityNumbers(of model: CompiledModel, _ configuration: String?) throws -> [Int] {
    guard let numbers = model.entityNumbers(inConfiguration: configuration) else {
      throw StoreError(.unknownConfiguration(configuration), operation: .planMigration, path: path)
    }
    return numbers
  }
}
