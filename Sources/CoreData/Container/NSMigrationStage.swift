public import Foundation
import ObjectContext
import ObjectStore

/// A stage of a staged migration.
open class NSMigrationStage: NSObject {
  /// The stage's name in progress and errors.
  public var label: String?

  fileprivate override init() {}

  /// Returns the stage as a value.
  ///
  /// - Parameters:
  ///   - versions: The model versions by checksum.
  ///   - manager: The manager of the stage.
  func value(_ versions: [String: ObjectStore.ManagedObjectModelReference], of manager: NSStagedMigrationManager) -> any MigrationStage {
    LightweightMigrationStage([ObjectStore.ManagedObjectModelReference]())
  }
}

/// A stage of model versions that are connected by lightweight migrations.
open class NSLightweightMigrationStage: NSMigrationStage {
  /// The checksums of the versions, from the oldest to the newest.
  ///
  /// Checksums that neither an ``NSManagedObjectModelReference`` of another stage nor ``NSManagedObjectModel/versionChecksum`` matches are
  /// skipped: stores contain their own models.
  public let versionChecksums: [String]

  /// Creates a stage of versions, from the oldest to the newest.
  public init(_ versionChecksums: [String]) {
    self.versionChecksums = versionChecksums
    super.init()
  }

  override func value(
    _ versions: [String: ObjectStore.ManagedObjectModelReference], of manager: NSStagedMigrationManager
  ) -> any MigrationStage {
    LightweightMigrationStage(
      versionChecksums.map { versions[$0] ?? ObjectStore.ManagedObjectModelReference(versionChecksum: $0) },
      label: label ?? "lightweight stage")
  }
}

/// A stage between two versions with handlers of the application.
///
/// The handlers use contexts of ``NSStagedMigrationManager/container``, which take part in the migration's transaction. An error thrown by
/// a handler leaves the store unchanged. Handlers must use `performAndWait`: other threads cannot take part in the transaction.
open class NSCustomMigrationStage: NSMigrationStage {
  /// The version before the stage.
  public let currentModel: NSManagedObjectModelReference
  /// The version after the stage.
  public let nextModel: NSManagedObjectModelReference
  /// A handler that prepares the objects of the current model before anything is changed.
  public var willMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?
  /// A handler that completes the objects of the next model.
  public var didMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?

  /// Creates a stage between two versions.
  public init(migratingFrom currentModel: NSManagedObjectModelReference, to nextModel: NSManagedObjectModelReference) {
    (self.currentModel, self.nextModel) = (currentModel, nextModel)
    super.init()
  }

  override func value(
    _ versions: [String: ObjectStore.ManagedObjectModelReference], of manager: NSStagedMigrationManager
  ) -> any MigrationStage {
    var stage = CustomMigrationStage(
      migratingFrom: currentModel.reference, to: nextModel.reference, label: label ?? "custom stage")
    stage.willMigrateHandler = handler(willMigrateHandler, manager)
    stage.didMigrateHandler = handler(didMigrateHandler, manager)
    return stage
  }

  private func handler(
    _ body: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?, _ manager: NSStagedMigrationManager
  ) -> (@Sendable (ManagedObjectContext) throws -> Void)? {
    guard let body else { return nil }
    // The migration's thread calls the closure while the thread that opens the store waits.
    let boxed = SendableBox(value: (body: body, manager: manager, stage: self))
    return { context in
      try boxed.value.manager.withContainer(over: context) { try boxed.value.body(boxed.value.manager, boxed.value.stage) }
    }
  }
}
