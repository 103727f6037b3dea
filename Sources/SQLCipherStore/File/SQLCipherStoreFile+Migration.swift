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
  public func migrationPlan(
    to model: CompiledModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    guard let numbers = model.entityNumbers(inConfiguration: configuration) else {
      throw StoreError(
        .invalidRequest, "The model has no configuration “\(configuration ?? "")”.", operation: "plan a migration", path: path)
    }
    return try await read { connection in
      try FoldedIndexes.register(on: connection)
      return try MigrationDryRun(
        connection: connection, path: connection.path, model: model, entityNumbers: numbers, defersCleanUp: defersCleanUp
      ).plan()
    }
  }

  /// The same for a model that is not frozen.
  ///
  /// - Throws: ``StoreError``, or ``ModelValidationError`` for mistakes of the model.
  public func migrationPlan(
    to model: ManagedObjectModel, configuration: String? = nil, defersCleanUp: Bool = false
  ) async throws -> MigrationPlan {
    try await migrationPlan(to: try CompiledModel(model), configuration: configuration, defersCleanUp: defersCleanUp)
  }
}
