// MigrationHandlers: runs the application's part of a step, with the older and the newer rows side by side.
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Where steps of a migration meet the application.
enum MigrationHandlers {
  /// What a handler works with, inside the migration's transaction.
  struct Context {
    let connection: Connection
    let path: String
    /// The older rows.
    let older: StoreSchema
    /// The newer rows, under the names that their tables have meanwhile.
    let newer: StoreSchema
    let record: StoreRecord
    let runner: MigrationRunner
    let trace: StatementTrace
  }

  /// Runs a step's handler.
  static func run(_ step: StoreMigrationStep, _ context: Context) throws {
    throw StoreError(.unsupported, "Handlers of steps cannot be run yet.", operation: "migrate", path: context.path)
  }

  /// Runs a step's preparation.
  static func prepare(_ step: StoreMigrationStep, _ context: Context) throws {
    throw StoreError(.unsupported, "Preparations of steps cannot be run yet.", operation: "migrate", path: context.path)
  }
}
