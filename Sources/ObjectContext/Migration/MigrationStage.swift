// MigrationStage: the stages of a staged migration: lightweight ones, and custom ones with the application's work.
public import ObjectModel
public import ObjectStore

/// A stage of a staged migration: ``LightweightMigrationStage`` or ``CustomMigrationStage``.
public protocol MigrationStage: Sendable {
  /// What the stage is called in progress and errors.
  var label: String { get }
}

/// Versions each of which follows from the one before without further word.
///
/// ```swift
/// let stages = StagedMigrationManager([LightweightMigrationStage([version1, version2])])
/// ```
///
/// Where something cannot be inferred the migration throws ``StoreError`` with ``StoreError/Code/mappingNotInferred``, and the store is as it was.
public struct LightweightMigrationStage: MigrationStage {
  /// What the stage is called.
  public var label: String
  /// The versions, from the oldest to the newest.
  public let versions: [ManagedObjectModelReference]

  /// A stage between versions.
  ///
  /// - Parameters:
  ///   - versions: The versions, from the oldest to the newest.
  ///   - label: What the stage is called.
  public init(_ versions: [ManagedObjectModelReference], label: String = "lightweight stage") {
    self.versions = versions
    self.label = label
  }

  /// A stage between models.
  public init(models: [ManagedObjectModel], label: String = "lightweight stage") {
    self.init(models.map { ManagedObjectModelReference($0) }, label: label)
  }

  /// A stage between versions that are known by their checksums.
  ///
  /// Stores of these versions are recognized, and go straight to the next version whose model some stage, or the coordinator, has.
  public init(_ versionChecksums: [String], label: String = "lightweight stage") {
    self.init(versionChecksums.map { ManagedObjectModelReference(versionChecksum: $0) }, label: label)
  }
}

/// A step between two versions in which the application takes part.
///
/// What follows from the two models is done as in a lightweight stage. What does not is left to the application: a new attribute that needs a value
/// is empty, and so is one whose type has changed. The work is part of the migration's transaction: what it throws leaves the store as it was.
///
/// ```swift
/// let stage = CustomMigrationStage(migratingFrom: version1, to: version2) { migration in
///   try migration.forEach("Person") { old, new in
///     let parts = (old["name"] as? String ?? "").split(separator: " ", maxSplits: 1)
///     try new.setValue(parts.first.map(String.init), forKey: "firstName")
///     try new.setValue(parts.dropFirst().first.map(String.init), forKey: "lastName")
///   }
/// }
/// ```
///
/// The order: ``willMigrateHandler``, what is inferred, ``handler``, ``didMigrateHandler``, the check for values that are still missing. Contexts that
/// are left with changes are saved after each of them.
public struct CustomMigrationStage: MigrationStage {
  /// What the stage is called.
  public var label: String
  /// The version that the stage begins with.
  public let currentModel: ManagedObjectModelReference
  /// The version that it leads to.
  public let nextModel: ManagedObjectModelReference
  /// Prepares the older rows, under the older model, before anything is changed: removes duplicates before a constraint comes, for example.
  public var willMigrateHandler: (@Sendable (ManagedObjectContext) throws -> Void)?
  /// Sees the older and the newer rows.
  public var handler: (@Sendable (CustomMigration) throws -> Void)?
  /// Finishes the newer rows, under the newer model.
  public var didMigrateHandler: (@Sendable (ManagedObjectContext) throws -> Void)?
  /// The classes of the newer objects, generated for the version that the stage leads to; without them all objects are plain ones. Older objects always
  /// are: no class has to be kept for an older version.
  public var destinationClasses = ManagedObjectClasses()
  /// The class of the objects that have none of their own, older ones too; nil for ``ManagedObject``.
  package var plainClass: ManagedObject.Type?
  /// Makes the newer objects by its mappings: nothing is inferred then, and ``handler`` finds what the mappings made.
  public var mappingModel: MappingModel?

  /// A stage with handlers that are set later, or whose work is only what can be inferred.
  ///
  /// - Parameters:
  ///   - currentModel: The version that the stage begins with.
  ///   - nextModel: The version that it leads to.
  ///   - label: What the stage is called.
  public init(
    migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference, label: String = "custom stage"
  ) {
    self.currentModel = currentModel
    self.nextModel = nextModel
    self.label = label
  }

  /// A stage whose handler sees the older and the newer rows.
  ///
  /// - Parameters:
  ///   - currentModel: The model that the stage begins with.
  ///   - nextModel: The model that it ends with.
  ///   - label: The stage's name, in progress reports and errors.
  ///   - handler: What is done between the two.
  public init(
    migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference, label: String = "custom stage",
    handler: @escaping @Sendable (CustomMigration) throws -> Void
  ) {
    self.init(migratingFrom: currentModel, to: nextModel, label: label)
    self.handler = handler
  }

  /// A stage that makes the newer objects by a mapping model.
  ///
  /// - Parameters:
  ///   - currentModel: The model that the stage begins with.
  ///   - nextModel: The model that it ends with.
  ///   - label: The stage's name, in progress reports and errors.
  ///   - mappingModel: What becomes of each entity.
  public init(
    migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference, label: String = "custom stage",
    mappingModel: MappingModel
  ) {
    self.init(migratingFrom: currentModel, to: nextModel, label: label)
    self.mappingModel = mappingModel
  }
}
