import Foundation
public import ObjectModel

/// A coordinator's request to migrate a store that was written with another model.
///
/// The store itself provides the source model. The destination model is that of its configuration.
public struct StoreMigrationRequest: Sendable {
  /// Whether changes may be inferred from the two models. If false, only ``steps`` are performed.
  public var infersChanges = true
  /// Whether expensive cleanup may be deferred until ``IncrementalStore/finishDeferredMigrationTask()``.
  public var defersCleanUp = false
  /// The migration steps, in order. If empty, the migration to the configuration's model is inferred in one step. The model of the last
  /// step must match the configuration's model.
  public var steps: [StoreMigrationStep] = []
  /// The author that the history records for the migration.
  public var author: String?
  /// Reads the old rows under their old identifiers, in the transaction of the migration and before its first step. Both sides of the session
  /// contain the old rows. An error ends the migration.
  package var willMigrate: (@Sendable (any StoreMigrationSession) throws -> Void)?
  /// A closure that receives the progress, called on the thread that migrates.
  public var progress: (@Sendable (MigrationProgress) -> Void)?
  /// Cancels the migration. The store is unchanged then.
  public var cancellation: RequestCancellation?

  /// Creates a request to infer the migration.
  public init() {}

  /// Creates a request with the settings of a store description.
  public init(_ description: PersistentStoreDescription) {
    infersChanges = description.shouldInferMappingModelAutomatically
    defersCleanUp = description.defersLightweightMigration
    author = description.migrationAuthor
    willMigrate = description.willMigrate
    progress = description.migrationProgress
    cancellation = description.migrationCancellation
  }
}

/// The source of a migration: the metadata and the model of the store before it.
public struct StoreMigrationOrigin: Sendable {
  /// The store's metadata.
  public let metadata: StoreMetadata
  /// Whether changes may be inferred (``PersistentStoreDescription/shouldInferMappingModelAutomatically``).
  public let infersChanges: Bool
  /// The path of the store's file.
  public let path: String?
  private let readModel: @Sendable () throws -> CompiledModel?

  init(_ metadata: StoreMetadata, in store: any IncrementalStore, description: PersistentStoreDescription) {
    self.init(metadata, description, path: description.url?.path) { try store.storedModel() }
  }

  /// Creates the origin of a store that is not open, for planning a migration.
  package init(
    _ metadata: StoreMetadata, _ description: PersistentStoreDescription, path: String?,
    readModel: @escaping @Sendable () throws -> CompiledModel?
  ) {
    self.metadata = metadata
    self.readModel = readModel
    self.path = path
    infersChanges = description.shouldInferMappingModelAutomatically
  }

  /// Returns the model that wrote the store, or nil if this type of store does not save it.
  ///
  /// - Throws: ``StoreError`` if the model cannot be read.
  public func model() throws -> CompiledModel? { try readModel() }
}

/// A migration step: the model that the store has afterwards, and the application's handlers.
///
/// First, the step performs the changes that can be inferred between the two models. If it has a ``handler``, the old rows remain readable
/// along with the new ones until the handler returns. Changes that cannot be inferred are left to the handler: an attribute that is
/// concerned is empty in the new rows until the handler sets it. All steps of a migration run in one transaction.
public struct StoreMigrationStep: Sendable {
  /// The name of the step in progress reports, plans, and errors.
  public var name: String
  /// The model that the store has after the step.
  public var model: CompiledModel
  /// A closure of the application, called after the new tables were created, in the transaction of the migration. If it throws, the whole
  /// migration is rolled back.
  public var handler: (@Sendable (any StoreMigrationSession) throws -> Void)?
  /// A closure of the application that modifies the old rows before the step, in the transaction of the migration. Both sides of its
  /// session contain the old rows under the old model; ``StoreMigrationSession/destination`` is writable.
  public var preparation: (@Sendable (any StoreMigrationSession) throws -> Void)?
  /// Whether the new rows are inferred from the old ones. If false, all new tables are empty when the handler is called.
  public var infersRows = true

  /// Creates a step. Without a handler, all changes must be inferable.
  ///
  /// - Parameters:
  ///   - name: The name of the step in progress reports, plans, and errors.
  ///   - model: The model that the store has after the step.
  ///   - handler: A closure that makes the changes that cannot be inferred, or nil.
  public init(name: String, model: CompiledModel, handler: (@Sendable (any StoreMigrationSession) throws -> Void)? = nil) {
    self.name = name
    self.model = model
    self.handler = handler
  }
}

/// A migration step in progress, with access to the old and the new rows. Valid only during the call of a step's handler.
public protocol StoreMigrationSession: AnyObject {
  /// The model of the old rows.
  var sourceModel: CompiledModel { get }
  /// The model of the new rows.
  var destinationModel: CompiledModel { get }
  /// The old rows, read-only. Requests need a scope for ``sourceModel``.
  var source: any IncrementalStore { get }
  /// The new rows. Saves are part of the migration's transaction.
  var destination: any IncrementalStore { get }
  /// The metadata of the store, with its identifier and the application's entries.
  var metadata: StoreMetadata { get }
  /// Whether the progress is observed. If false, handlers can skip counting that is only needed for reports.
  var isFollowed: Bool { get }
  /// Reports the progress of the handler.
  ///
  /// - Parameters:
  ///   - phase: The current phase.
  ///   - completedUnitCount: The completed units of the phase.
  ///   - totalUnitCount: The total units of the phase.
  ///   - fractionCompleted: The completed fraction of the handler's whole work, from 0 to 1, or nil if it is unknown. In that case each
  ///     phase is assigned half of the remaining fraction.
  func report(_ phase: String, completedUnitCount: Int, totalUnitCount: Int, fractionCompleted: Double?)
  /// Throws if the migration was canceled.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled``.
  func checkCancellation() throws
}

extension StoreMigrationSession {
  /// Returns true.
  public var isFollowed: Bool { true }

  /// Reports the progress of one phase, if the number of further phases is unknown.
  ///
  /// - Parameters:
  ///   - phase: The current phase.
  ///   - completedUnitCount: The completed units of the phase.
  ///   - totalUnitCount: The total units of the phase.
  public func report(_ phase: String, completedUnitCount: Int, totalUnitCount: Int) {
    report(phase, completedUnitCount: completedUnitCount, totalUnitCount: totalUnitCount, fractionCompleted: nil)
  }
}

/// The progress of a migration: the current phase and the completed fraction.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.migrationProgress = { progress in
///   print(progress.phase, progress.fractionCompleted)
/// }
/// ```
///
/// The migration calls the closure synchronously on its own thread, after each batch of rows. Return quickly, and dispatch updates of a
/// user interface to the main thread.
public struct MigrationProgress: Sendable, Hashable, CustomStringConvertible {
  /// The current phase, such as `copying Book`.
  public let phase: String
  /// The completed units of work, of those counted so far. A unit is usually a row. A custom stage counts its own units.
  public let completedUnitCount: Int
  /// The units of work counted so far, or those of the custom stage that reports. Never less than ``completedUnitCount``.
  public let totalUnitCount: Int
  /// The completed fraction of the whole migration, from 0 to 1, over all stages and phases. Phases are weighted by the number of rows that
  /// they are expected to touch. The value never decreases. It reaches 1 only in the last report of a successful migration.
  public let fractionCompleted: Double

  /// Creates a report, clamping the fraction and the total count.
  package init(phase: String, completedUnitCount: Int, totalUnitCount: Int, fractionCompleted: Double) {
    self.fractionCompleted = min(max(fractionCompleted, 0), 1)
    self.phase = phase
    self.completedUnitCount = completedUnitCount
    self.totalUnitCount = max(totalUnitCount, completedUnitCount)
  }

  /// The phase and the units.
  public var description: String { "\(phase) (\(completedUnitCount) of \(totalUnitCount))" }
}
