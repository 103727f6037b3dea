// MigrationContexts: a context over the older rows and one over the newer ones, inside a migration's transaction.
import ObjectModel
import ObjectQuery
import ObjectStore

/// The two sides of a step under way.
final class MigrationContexts {
  /// Rows that were read stay at hand up to here; a migration reads most rows once.
  private static let rowCacheLimit = 4 << 20

  let session: any StoreMigrationSession
  let source: ManagedObjectContext
  let destination: ManagedObjectContext
  let sourceStore: PersistentStore
  let destinationStore: PersistentStore
  /// The number of the newer entity that each older one's objects are in, with their keys; nil where there is none.
  let destinations: [Int?]
  /// The number of the older entity of each newer one.
  let sources: [Int?]
  /// What changed between the two models.
  let difference: ModelDifference
  /// The older entities that differ in the newer model, or are gone, with those below them.
  private let changedEntities: Set<Int>

  /// - Parameters:
  ///   - classes: The classes of the newer objects; entities without one have plain objects, as all older ones are.
  ///   - plainClass: The class of plain objects.
  init(
    _ session: any StoreMigrationSession, classes: ManagedObjectClasses = ManagedObjectClasses(), plainClass: ManagedObject.Type? = nil
  ) throws {
    let issues = classes.issues(with: session.destinationModel)
    guard issues.isEmpty else {
      throw StoreError(.misuse(.classesOfOtherModel), operation: .migrate, underlying: ModelValidationError(issues: issues))
    }
    self.session = session
    let sourceCoordinator = PersistentStoreCoordinator(
      adopting: session.source, metadata: session.metadata, model: session.sourceModel, isReadOnly: true,
      rowCacheLimit: Self.rowCacheLimit)
    // What the model requires is asked at the end of the step: between two saves of a handler an object may be half finished.
    let destinationCoordinator = PersistentStoreCoordinator(
      adopting: session.destination, metadata: session.metadata, model: try Self.withoutRequirements(session.destinationModel),
      isReadOnly: false, rowCacheLimit: Self.rowCacheLimit)
    sourceStore = sourceCoordinator.persistentStores[0]
    destinationStore = destinationCoordinator.persistentStores[0]
    source = ManagedObjectContext(
      coordinator: sourceCoordinator, classes: Self.classes(ManagedObjectClasses(), plainClass, session.sourceModel))
    destination = ManagedObjectContext(
      coordinator: destinationCoordinator, classes: Self.classes(classes, plainClass, session.destinationModel))
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
      // Where several trees became one, only the objects of the first have kept their keys.
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

  /// Classes with one for the entities that have none.
  private static func classes(
    _ classes: ManagedObjectClasses, _ plain: ManagedObject.Type?, _ model: CompiledModel
  ) -> ManagedObjectClasses {
    guard let plain else { return classes }
    var all = classes
    for entity in model.entities where all.type(of: entity.name) == nil { all.register(plain, forEntityName: entity.name) }
    return all
  }

  /// The model with every property optional. Its numbers are the same: they depend on names and types.
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

  /// Saves what a handler has left unsaved.
  func saveDestination() throws {
    // A value that could not be read must not be missing without a word.
    try source.notedErrors.settle()
    try destination.save()
    try session.checkCancellation()
  }

  // MARK: Progress

  /// What a stage has done, which the contexts tell of rows that they read and save from now on.
  ///
  /// - Parameter parts: What the stage has the application do, in order.
  func follow(label: String, _ parts: [StageProgress.Part]) throws -> StageProgress {
    guard session.isFollowed else { return StageProgress(session, label: label, parts: parts, expected: [:]) }
    var counts: [Int: Int] = [:]
    for entity in session.sourceModel.entities where !entity.isAbstract {
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      do { counts[entity.number] = try source.count(for: request) } catch let error as StoreError where error.code == .entityNotInStore {
        // The store's configuration leaves the entity out.
        continue
      }
    }
    let changed = counts.filter { changedEntities.contains($0.key) && $0.value > 0 }
    let progress = StageProgress(session, label: label, parts: parts, expected: changed.isEmpty ? counts : changed)
    for context in [source, destination] { context.rowSource.rowsTouched = { progress.touch($0) } }
    return progress
  }

  // MARK: What is still missing

  /// Finds objects without a value that the model requires.
  ///
  /// - Parameter isChecked: Whether a required property is looked at; it costs a pass over the rows of its entity.
  func checkRequiredValues(stage: String, where isChecked: (CompiledEntity, CompiledSlot) -> Bool = { _, _ in true }) throws {
    var missing: [StoreError.MissingValue] = []
    for entity in session.destinationModel.entities {
      for slot in entity.slots where slot.declaringEntity == entity.number && Self.isRequired(slot) && isChecked(entity, slot) {
        try session.checkCancellation()
        var request = FetchRequest<ManagedObject>(entityName: entity.name)
        request.predicate = .compare(slot.name, .equal, nil)
        let count: Int
        do { count = try destination.count(for: request) } catch let error as StoreError where error.code == .entityNotInStore {
          // The store's configuration leaves the entity out.
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
    // A part of a composite is required of those objects only that have some part.
    return !attribute.isOptional && attribute.derivationExpression == nil && !slot.name.contains(".")
  }
}
