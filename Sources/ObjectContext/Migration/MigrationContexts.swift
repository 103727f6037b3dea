import ObjectModel
import ObjectQuery
import ObjectStore

/// The source and the destination context of a migration step, inside the migration's transaction.
final class MigrationContexts {
  /// The size limit of the row caches in bytes. Small, because a migration reads most rows once.
  private static let rowCacheLimit = 4 << 20

  let session: any StoreMigrationSession
  let source: ManagedObjectContext
  let destination: ManagedObjectContext
  let sourceStore: PersistentStore
  let destinationStore: PersistentStore
  /// The number of the destination entity of each source entity whose objects keep their keys; nil if there is none.
  let destinations: [Int?]
  /// The number of the source entity of each destination entity.
  let sources: [Int?]
  let difference: ModelDifference
  /// The source entities that are changed or removed in the destination model, with their subentities.
  private let changedEntities: Set<Int>

  /// Creates the contexts.
  ///
  /// - Parameters:
  ///   - classes: The classes of destination objects. Entities without a class, and all source objects, use plain objects.
  ///   - fallbackClass: The class of plain objects.
  init(
    _ session: any StoreMigrationSession, classes: ManagedObjectClasses = ManagedObjectClasses(), fallbackClass: ManagedObject.Type? = nil
  ) throws {
    let issues = classes.issues(with: session.destinationModel)
    guard issues.isEmpty else {
      throw StoreError(.classesOfOtherModel, operation: .migrate, underlying: ModelValidationError(issues: issues))
    }
    self.session = session
    let sourceCoordinator = PersistentStoreCoordinator(
      adopting: session.source, metadata: session.metadata, model: session.sourceModel, isReadOnly: true,
      rowCacheLimit: Self.rowCacheLimit)
    // Required values are checked at the end of the step, because a handler may save incomplete objects in between.
    let destinationCoordinator = PersistentStoreCoordinator(
      adopting: session.destination, metadata: session.metadata, model: try Self.withoutRequirements(session.destinationModel),
      isReadOnly: false, rowCacheLimit: Self.rowCacheLimit)
    sourceStore = sourceCoordinator.persistentStores[0]
    destinationStore = destinationCoordinator.persistentStores[0]
    source = ManagedObjectContext(
      coordinator: sourceCoordinator, classes: Self.classes(ManagedObjectClasses(), fallbackClass, session.sourceModel))
    destination = ManagedObjectContext(
      coordinator: destinationCoordinator, classes: Self.classes(classes, fallbackClass, session.destinationModel))
    let (older, newer) = (session.sourceModel, session.destinationModel)
    let difference = ModelDifference(from: older, to: newer)
    self.difference = difference
    var sources = difference.sources
    changedEntities = Set(
      difference.changes.compactMap(\.entityName).flatMap { name -> [Int] in
        let number = newer.entity(named: name).flatMap { difference.sources[$0.number] } ?? older.entity(named: name)?.number
        return number.map { Array(older.entities[$0].subtree) } ?? []
      })
    var destinations = [Int?](repeating: nil, count: older.entities.count)
    for root in newer.entities where root.parent == nil {
      // If several trees were merged, only the objects of the first one keep their keys.
      let owner = root.subtree.lazy.compactMap { sources[$0] }.first.map { older.entities[$0].root }
      for number in root.subtree {
        guard let source = sources[number], older.entities[source].root == owner else {
          sources[number] = nil
          continue
        }
        destinations[source] = number
      }
    }
    self.sources = sources
    self.destinations = destinations
  }

  /// Returns the classes with `plain` added for all entities without a class.
  private static func classes(
    _ classes: ManagedObjectClasses, _ plain: ManagedObject.Type?, _ model: CompiledModel
  ) -> ManagedObjectClasses {
    guard let plain else { return classes }
    var all = classes
    for entity in model.entities where all.type(of: entity.name) == nil { all.register(plain, forEntityName: entity.name) }
    return all
  }

  /// Returns the model with all properties optional. Its numbering is unchanged, because it depends on names and types only.
  private static func withoutRequirements(_ model: CompiledModel) throws -> CompiledModel {
    var relaxed = model.model
    for entity in relaxed.entities.indices {
      relaxed.entities[entity].properties = relaxed.entities[entity].properties.map { property in
        switch property {
        case .attribute(var attribute):
          attribute.isOptional = true
          return .attribute(attribute)
        case .relationship(var relationship):
          relationship.isOptional = true
          if relationship.isToMany { (relationship.minCount, relationship.maxCount) = (0, 0) }
          return .relationship(relationship)
        case .fetchedProperty: return property
        }
      }
    }
    return try CompiledModel(relaxed)
  }

  func saveDestination() throws {
    // A value that could not be read must not be silently lost.
    try source.deferredErrors.settle()
    try destination.save()
    try session.checkCancellation()
  }

  // MARK: Progress

  /// Returns the progress of a stage, and reports rows that the contexts read and save to it from now on.
  ///
  /// - Parameter parts: The parts of the stage that run application code, in order.
  func follow(label: String, _ parts: [StageProgress.Part]) throws -> StageProgress {
    guard session.isFollowed else { return StageProgress(session, label: label, parts: parts, expected: [:]) }
    var counts: [Int: Int] = [:]
    for entity in session.sourceModel.entities where !entity.isAbstract {
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      do { counts[entity.number] = try source.count(for: request) } catch let error as StoreError where error.code == .entityNotInStore {
        // The store's configuration excludes the entity.
        continue
      }
    }
    let changed = counts.filter { changedEntities.contains($0.key) && $0.value > 0 }
    let progress = StageProgress(session, label: label, parts: parts, expected: changed.isEmpty ? counts : changed)
    for context in [source, destination] { context.rowSource.rowsTouched = { progress.touch($0) } }
    return progress
  }

  // MARK: Required values

  /// Throws an error if objects lack a required value.
  ///
  /// - Parameter isChecked: Whether to check a required property. Each check costs a scan of the entity's rows.
  func checkRequiredValues(stage: String, where isChecked: (CompiledEntity, CompiledSlot) -> Bool = { _, _ in true }) throws {
    var missing: [StoreError.Reason.MissingValue] = []
    for entity in session.destinationModel.entities {
      for slot in entity.slots where slot.declaringEntity == entity.number && Self.isRequired(slot) && isChecked(entity, slot) {
        try session.checkCancellation()
        var request = FetchRequest<ManagedObject>(entityName: entity.name)
        request.predicate = .compare(slot.name, .equal, nil)
        let count: Int
        do { count = try destination.count(for: request) } catch let error as StoreError where error.code == .entityNotInStore {
          // The store's configuration excludes the entity.
          continue
        }
        if count > 0 { missing.append(.init(entity: entity.name, property: slot.name, count: count)) }
      }
    }
    if missing.isEmpty { return }
    throw StoreError(.missingValues(stage: stage, missing), operation: .migrate)
  }

  private static func isRequired(_ slot: CompiledSlot) -> Bool {
    guard !slot.isTransient, slot.kind != .none else { return false }
    if let relationship = slot.relationship { return !relationship.isOptional }
    guard let attribute = slot.attribute else { return false }
    // Parts of a composite are required only if the composite has a value.
    return !attribute.isOptional && attribute.derivationExpression == nil && !slot.name.contains(".")
  }
}

extension StoreError.Reason {
  /// A required property for which objects have no value, and the number of these objects.
  fileprivate struct MissingValue {
    let entity: String
    let property: String
    let count: Int
  }

  fileprivate static func missingValues(stage: String, _ missing: [MissingValue]) -> Self {
    let places = missing.map { "“\($0.entity).\($0.property)” of \($0.count) object\($0.count == 1 ? "" : "s")" }
    return Self(
      .requiredValueMissing,
      "After the stage “\(stage)”, required values are missing: \(places.joined(separator: ", ")). Set them in the stage's handler, make the properties optional, or give the attributes default values.",
      entity: missing.first?.entity, property: missing.first?.property)
  }

  static var classesOfOtherModel: Self {
    Self(.invalidRequest, "The classes were generated for another model than the stage's destination.")
  }
}
