// SQLCipherStoreFile+Migration: what a migration would do, without doing it.
public import ObjectModel
public import ObjectStore
import SQLCipherConnection

extension SQLCipherStoreFile {
  /// What opening the store with a model would do to it: the steps with their statements and rows, what cannot be inferred, and what the stored rows do
  /// not allow. The file stays untouched. Counts rows, so its time grows with the store.
  ///
  /// - Parameters:
  ///   - configuration: The model's configuration that the store is to hold; nil for all entities.
  ///   - defersCleanUp: Whether costly clean-up would be put off.
  /// - Throws: ``StoreError``; with the code `storeNewerThanModel` where the store has been through the model already.
  package func migrationPlan(
    to model: CompiledModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    let numbers = try entityNumbers(of: model, configuration)
    return try await read { connection in
      try FoldedIndexes.register(on: connection)
      return try MigrationDryRun(
        connection: connection, path: connection.path, model: model, entityNumbers: numbers, defersCleanUp: defersCleanUp
      ).plan()
    }
  }

  /// The same for a model that is not frozen.
  ///
  /// - Parameters:
  ///   - model: The model that the store would be brought to.
  ///   - configuration: The configuration of the model that the store holds; nil for all entities.
  ///   - defersCleanUp: Whether costly clean-up would be put off.
  /// - Throws: ``StoreError``, or ``ModelValidationError`` for mistakes of the model.
  public func migrationPlan(
    to model: ManagedObjectModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    try await migrationPlan(to: try CompiledModel(model), configuration: configuration, defersCleanUp: defersCleanUp)
  }

  /// What opening the store with a description and a model would do to it: stage by stage where the description has stages, or mapping models that are
  /// needed. The file stays untouched, and no handler is called: what only they decide is said in ``MigrationPlan/Stage/unknowns``.
  ///
  /// Numbers of rows are counted for the first stage; for later ones they follow from it as far as inference goes.
  ///
  /// - Parameter description: Its stages, mapping models, configuration, `defersLightweightMigration` and `shouldInferMappingModelAutomatically` count.
  /// - Throws: ``StoreError`` as opening would: `storeNewerThanModel`, `backwardMigration`, `unknownModelReference`, `mappingModelMissing` and so on.
  package func migrationPlan(to model: CompiledModel, with description: PersistentStoreDescription) async throws -> MigrationPlan {
    let numbers = try entityNumbers(of: model, description.configuration)
    return try await read { connection in
      try FoldedIndexes.register(on: connection)
      return try MigrationDryRun(
        connection: connection, path: connection.path, model: model, entityNumbers: numbers,
        defersCleanUp: description.defersLightweightMigration, description: description
      ).plan()
    }
  }

  /// The same for a model that is not frozen.
  ///
  /// - Throws: ``StoreError``, or ``ModelValidationError`` for mistakes of the model.
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
