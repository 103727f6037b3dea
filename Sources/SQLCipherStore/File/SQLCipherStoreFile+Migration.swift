public import ObjectModel
public import ObjectStore
import SQLCipherConnection

extension SQLCipherStoreFile {
  /// Returns whether a model can open the store without migration, and the differences between the store's model and that model. No rows
  /// are read.
  package func comparison(with model: CompiledModel) async throws -> (fits: Bool, changes: [ModelChange]) {
    let numbers = try entityNumbers(of: model, nil)
    return try await read { connection in
      let hashes = try MetadataTable.readHashes(connection, path: connection.path)
      let stored = try StoredSchema.read(connection, path: connection.path)
      return (model.fits(hashes, entityNumbers: numbers), ModelDifference(from: stored.model, to: model).changes)
    }
  }

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

  /// Returns what opening the store with a model would do: the steps with their statements and rows, the changes that cannot be inferred,
  /// and the stored rows that prevent the migration.
  ///
  /// The file does not change. Rows are counted, so the time grows with the store.
  ///
  /// - Parameters:
  ///   - model: The model to migrate to.
  ///   - configuration: The model's configuration that the store uses, or `nil` for all entities.
  ///   - defersCleanUp: Whether to defer costly cleanup.
  /// - Throws: ``StoreError`` with the code `storeNewerThanModel` if the store has already been migrated from the model;
  ///   ``ModelValidationError`` for errors in the model.
  public func migrationPlan(
    to model: ManagedObjectModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    try await migrationPlan(to: try CompiledModel(model), configuration: configuration, defersCleanUp: defersCleanUp)
  }

  package func migrationPlan(to model: CompiledModel, with description: PersistentStoreDescription) async throws -> MigrationPlan {
    let numbers = try entityNumbers(of: model, description.configuration)
    return try await read { connection in
      try MigrationDryRun(
        connection: connection, path: connection.path, model: model, entityNumbers: numbers,
        defersCleanUp: description.defersLightweightMigration, description: description
      ).plan()
    }
  }

  /// Returns what opening the store with a description and a model would do, with one part per stage if the description has stages or
  /// needed mapping models.
  ///
  /// The file does not change, and no handlers are called: ``MigrationPlan/Stage/unknowns`` lists what depends on handlers. Rows are
  /// counted for the first stage. The numbers for later stages are inferred from it as far as possible.
  ///
  /// - Parameters:
  ///   - model: The model to migrate to.
  ///   - description: The store description. Its stages, mapping models, configuration, `defersLightweightMigration` and
  ///     `shouldInferMappingModelAutomatically` are used.
  /// - Throws: The ``StoreError`` of opening the store, such as `storeNewerThanModel`, `backwardMigration`, `unknownModelReference` or
  ///   `mappingModelMissing`; ``ModelValidationError`` for errors in the model.
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
