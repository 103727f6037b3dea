// NSMigrationStage: the stages of a staged migration, as objects.
public import Foundation
import ObjectContext
import ObjectStore

/// A stage of a staged migration.
open class NSMigrationStage: NSObject {
  /// What the stage is called in progress and errors.
  public var label: String?

  fileprivate override init() {}

  /// The stage as the library has it.
  ///
  /// - Parameters:
  ///   - versions: The versions that checksums are the names of.
  ///   - manager: The manager whose stage it is.
  func value(_ versions: [String: ObjectStore.ManagedObjectModelReference], of manager: NSStagedMigrationManager) -> any MigrationStage {
    LightweightMigrationStage([ObjectStore.ManagedObjectModelReference]())
  }
}

/// Versions each of which follows from the one before without further word.
open class NSLightweightMigrationStage: NSMigrationStage {
  /// The checksums of the versions, from the oldest to the newest. Those that no ``NSManagedObjectModelReference`` of another stage names, and that are no
  /// ``NSManagedObjectModel/versionChecksum``, are passed over: stores keep their own models.
  public let versionChecksums: [String]

  /// A stage of versions, from the oldest to the newest.
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

/// A step between two versions in which the application takes part.
///
/// Its handlers work with contexts of ``NSStagedMigrationManager/container``, which are part of the migration's transaction: what a handler throws leaves the
/// store as it was. They use them by `performAndWait`: other threads have no part in a transaction.
open class NSCustomMigrationStage: NSMigrationStage {
  /// The version that the stage begins with.
  public let currentModel: NSManagedObjectModelReference
  /// The version that it leads to.
  public let nextModel: NSManagedObjectModelReference
  /// Prepares the older objects, under the older model, before anything is changed.
  public var willMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?
  /// Finishes the newer objects, under the newer model.
  public var didMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?

  /// A stage between two versions.
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
    // The migration's thread calls it, and the one that opens the store waits.
    let lent = Lent(value: (body: body, manager: manager, stage: self))
    return { context in
      try lent.value.manager.lendContainer(over: context) { try lent.value.body(lent.value.manager, lent.value.stage) }
    }
  }
}
