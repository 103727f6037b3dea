// StoreMigrationRequest: what a coordinator asks of a store that another model wrote.
import Foundation
public import ObjectModel

/// What a coordinator asks of a store whose rows were written with another model.
///
/// The store itself knows that other model; the model that it is to have afterwards is its configuration's.
public struct StoreMigrationRequest: Sendable {
  /// Whether changes may be inferred from the two models. Without it only ``steps`` bring a store in step.
  public var infersChanges = true
  /// Whether costly clean-up may wait for ``IncrementalStore/finishDeferredMigrationTask()``.
  public var defersCleanUp = false
  /// The models on the way, in order. Empty: straight to the configuration's model, inferred. The last step's model has to fit the configuration's.
  public var steps: [StoreMigrationStep] = []
  /// Who the history has as the migration's author.
  public var author: String?
  /// Called with how far the migration has come, on the thread that migrates.
  public var progress: (@Sendable (MigrationProgress) -> Void)?
  /// Calls the migration off: the store is then as it was.
  public var cancellation: RequestCancellation?

  /// A request to infer everything.
  public init() {}

  /// What a store description asks for.
  public init(_ description: PersistentStoreDescription) {
    infersChanges = description.shouldInferMappingModelAutomatically
    defersCleanUp = description.defersLightweightMigration
    author = description.migrationAuthor
    progress = description.migrationProgress
    cancellation = description.migrationCancellation
  }
}

/// What a store that is to be migrated says of itself.
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

  /// A store that nobody has opened, for a plan.
  package init(
    _ metadata: StoreMetadata, _ description: PersistentStoreDescription, path: String?,
    readModel: @escaping @Sendable () throws -> CompiledModel?
  ) {
    self.metadata = metadata
    self.readModel = readModel
    self.path = path
    infersChanges = description.shouldInferMappingModelAutomatically
  }

  /// The model that wrote the store; nil where this kind of store does not keep it.
  ///
  /// - Throws: ``StoreError`` when the model cannot be read.
  public func model() throws -> CompiledModel? { try readModel() }
}

/// A step of a migration: the model that the store has afterwards, and what the application does on the way.
///
/// The step first does what can be inferred between the two models. Where it has a ``handler``, the older rows stay readable beside the newer ones
/// until the handler returns, and what cannot be inferred is left to the handler: such an attribute is empty in the newer rows until it is set.
/// All steps of a migration are one transaction.
public struct StoreMigrationStep: Sendable {
  /// What the step is called in progress, plans and errors.
  public var name: String
  /// The model that the store has after the step.
  public var model: CompiledModel
  /// What the application does once the newer tables are there, in the migration's transaction; its errors undo the whole migration.
  public var handler: (@Sendable (any StoreMigrationSession) throws -> Void)?
  /// What the application does with the older rows before the step, in the migration's transaction. Both sides of its session are the older rows, under
  /// the older model; ``StoreMigrationSession/destination`` may be written.
  public var preparation: (@Sendable (any StoreMigrationSession) throws -> Void)?
  /// Whether the newer rows are inferred from the older ones; without it all newer tables are empty when the handler is called.
  public var infersRows = true

  /// Makes a step; without a handler it has to be inferable.
  ///
  /// - Parameters:
  ///   - name: The step's name, in progress reports and errors.
  ///   - model: The model that the step ends with.
  ///   - handler: What is done beside what can be inferred; nil for nothing.
  public init(name: String, model: CompiledModel, handler: (@Sendable (any StoreMigrationSession) throws -> Void)? = nil) {
    self.name = name
    self.model = model
    self.handler = handler
  }
}

/// A step of a migration under way, as its handler sees it: the older rows and the newer ones, side by side. It ends with the handler.
public protocol StoreMigrationSession: AnyObject {
  /// The model of the older rows.
  var sourceModel: CompiledModel { get }
  /// The model of the newer rows.
  var destinationModel: CompiledModel { get }
  /// The older rows, which can only be read. The store answers requests of a scope over ``sourceModel``.
  var source: any IncrementalStore { get }
  /// The newer rows. Saves are part of the migration's transaction.
  var destination: any IncrementalStore { get }
  /// What the store knows of itself: its identifier and the application's entries.
  var metadata: StoreMetadata { get }
  /// Whether somebody is told how far the migration has come: what is counted for that alone can be left out otherwise.
  var isFollowed: Bool { get }
  /// Tells how far the handler has come.
  ///
  /// - Parameters:
  ///   - phase: What is being done.
  ///   - completedUnitCount: How much of it is done.
  ///   - totalUnitCount: How much of it there is.
  ///   - fractionCompleted: How much is done of all that the handler does, from 0 to 1; nil where it does not know. Then each count of units has half of what is left.
  func report(_ phase: String, completedUnitCount: Int, totalUnitCount: Int, fractionCompleted: Double?)
  /// Throws ``StoreError`` with the code `cancelled` once the migration was called off.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled``.
  func checkCancellation() throws
}

extension StoreMigrationSession {
  /// The default is true.
  public var isFollowed: Bool { true }

  /// Tells how far the handler has come with one of the things that it does, which is not known to be the last.
  ///
  /// - Parameters:
  ///   - phase: What is being done.
  ///   - completedUnitCount: How much of it is done.
  ///   - totalUnitCount: How much of it there is.
  public func report(_ phase: String, completedUnitCount: Int, totalUnitCount: Int) {
    report(phase, completedUnitCount: completedUnitCount, totalUnitCount: totalUnitCount, fractionCompleted: nil)
  }
}
