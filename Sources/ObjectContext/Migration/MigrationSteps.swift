import ObjectModel
import ObjectStore

/// Converts stages and mapping models into the steps that a store runs.
struct MigrationSteps: Sendable {
  let manager: StagedMigrationManager?
  let mappingModels: [MappingModel]

  /// Returns the steps from a store's version to a coordinator's model; none if the migration is inferred directly.
  func steps(from origin: StoreMigrationOrigin, to target: CompiledModel) throws -> [StoreMigrationStep] {
    guard let source = try origin.model() else {
      throw StoreError(.keepsNoModel, operation: .migrate, path: origin.path)
    }
    guard let manager else { return try mappingSteps(from: source, to: target, origin) }
    return try MigrationRoute(manager, to: target, path: origin.path).transitions(from: source).map { transition, source, destination in
      switch transition {
      case .lightweight(let label): try lightweightStep(label, from: source, to: destination)
      case .custom(let stage): Self.step(of: stage, to: destination)
      }
    }
  }

  private func mappingSteps(
    from source: CompiledModel, to target: CompiledModel, _ origin: StoreMigrationOrigin
  ) throws -> [StoreMigrationStep] {
    if let made = try mappingModels.first(where: { try $0.matches(source: source, destination: target) }) {
      return [Self.step(of: made, label: "mapping model", to: target)]
    }
    let difference = ModelDifference(from: source, to: target)
    if origin.infersChanges && difference.canBeInferred && !difference.changes.contains(where: \.dropsValues) { return [] }
    if let fitting = try mappingModels.first(where: { try $0.fits(source: source, destination: target) }) {
      return [Self.step(of: fitting, label: "mapping model", to: target)]
    }
    if origin.infersChanges && difference.canBeInferred { return [] }
    throw StoreError(
      .noFittingMappingModel(count: mappingModels.count, infersChanges: origin.infersChanges, difference.obstacles), operation: .migrate,
      path: origin.path)
  }

  /// Returns a lightweight step, or a mapping step if a mapping model specifies both versions or avoids a loss of inference.
  private func lightweightStep(_ label: String, from source: CompiledModel, to destination: CompiledModel) throws -> StoreMigrationStep {
    if let made = try mappingModels.first(where: { try $0.matches(source: source, destination: destination) }) {
      return Self.step(of: made, label: label, to: destination)
    }
    if let fitting = try mappingModels.first(where: { try $0.fits(source: source, destination: destination) }) {
      let difference = ModelDifference(from: source, to: destination)
      if !difference.canBeInferred || difference.changes.contains(where: \.dropsValues) {
        return Self.step(of: fitting, label: label, to: destination)
      }
    }
    return StoreMigrationStep(name: label, model: destination)
  }

  // MARK: Execution

  private static func step(of mappingModel: MappingModel, label: String, to model: CompiledModel) -> StoreMigrationStep {
    var step = StoreMigrationStep(name: label, model: model) { session in
      try reporting(label) {
        let contexts = try MigrationContexts(session)
        let progress = try contexts.follow(label: label, [.mapping])
        progress.begin(.mapping)
        try MigrationManager(mappingModel, contexts: contexts, progress: progress).run()
        try contexts.checkRequiredValues(stage: label)
      }
    }
    step.infersRows = false
    return step
  }

  private static func step(of stage: CustomMigrationStage, to model: CompiledModel) -> StoreMigrationStep {
    let label = stage.label
    var step = StoreMigrationStep(name: label, model: model)
    if let willMigrate = stage.willMigrateHandler {
      step.preparation = { session in
        try reporting(label) {
          let contexts = try MigrationContexts(session)
          try contexts.follow(label: label, [.handler]).begin(.handler)
          try willMigrate(contexts.destination)
          try contexts.saveDestination()
        }
      }
    }
    step.infersRows = stage.mappingModel == nil
    step.handler = { session in
      try reporting(label) {
        let contexts = try MigrationContexts(session, classes: stage.destinationClasses, fallbackClass: stage.fallbackClass)
        var parts: [StageProgress.Part] = stage.mappingModel == nil ? [] : [.mapping]
        if stage.handler != nil { parts.append(.handler) }
        if stage.didMigrateHandler != nil { parts.append(.finish) }
        let progress = try contexts.follow(label: label, parts)
        if let mappingModel = stage.mappingModel {
          progress.begin(.mapping)
          try MigrationManager(mappingModel, contexts: contexts, progress: progress).run()
        }
        if let handler = stage.handler {
          progress.begin(.handler)
          try handler(CustomMigration(label: label, contexts: contexts, progress: progress))
          try contexts.saveDestination()
        }
        if let finish = stage.didMigrateHandler {
          progress.begin(.finish)
          try finish(contexts.destination)
          try contexts.saveDestination()
        }
        try contexts.checkRequiredValues(stage: label) { entity, slot in
          stage.mappingModel != nil || !wasRequired(slot.name, of: entity, contexts)
        }
      }
    }
    return step
  }

  /// Returns whether the source model also required the property. Its rows then need no check.
  private static func wasRequired(_ name: String, of entity: CompiledEntity, _ contexts: MigrationContexts) -> Bool {
    guard let number = contexts.sources[entity.number] else { return false }
    let older = contexts.session.sourceModel.entities[number]
    guard let before = contexts.difference.sourceName(ofProperty: name, in: entity.number) else { return false }
    guard let slot = older.slots.first(where: { $0.name == before }), !slot.isTransient, !slot.isOptional else { return false }
    // Values of a changed type were not copied.
    return slot.attribute?.type == entity.slots.first { $0.name == name }?.attribute?.type
  }

  /// Wraps errors of the application in an error that names the stage.
  private static func reporting(_ label: String, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error where error is StoreError || error is CancellationError {
      throw error
    } catch {
      throw StoreError(.stageFailed(label), operation: .migrate, underlying: error)
    }
  }
}

extension StoreError.Reason {
  static var keepsNoModel: Self {
    Self(.unknownModelReference, "This store type does not contain the model that wrote it: neither stages nor mapping models can be used.")
  }

  static func noFittingMappingModel(count: Int, infersChanges: Bool, _ changes: [ModelChange]) -> Self {
    Self(
      .mappingModelMissing,
      "None of the \(count) mapping models matches the store's model and the coordinator's, and "
        + (infersChanges ? "not everything can be inferred:" : "inference is disabled:"), obstacles: changes)
  }

  static func stageFailed(_ label: String) -> Self { Self(.migrationFailed, "The stage “\(label)” failed; the store is unchanged.") }
}

/// The migration path through the versions of a staged migration.
struct MigrationRoute {
  /// The step from one version to the next.
  enum Transition {
    case lightweight(String)
    case custom(CustomMigrationStage)

    var label: String {
      switch self {
      case .lightweight(let label): label
      case .custom(let stage): stage.label
      }
    }
  }

  private var next: [String: (transition: Transition, checksum: String)] = [:]
  /// The checksums of all versions, in the order of the stages.
  private var order: [String] = []
  private var models: [String: CompiledModel] = [:]
  private let target: CompiledModel
  private let path: String?

  /// Builds the path from the stages.
  ///
  /// - Throws: ``StoreError`` for a reference that cannot be resolved, and for contradictory stages.
  init(_ manager: StagedMigrationManager, to target: CompiledModel, path: String?) throws {
    self.target = target
    self.path = path
    models[target.checksum] = target
    var end: String?
    for stage in manager.stages {
      switch stage {
      case let stage as LightweightMigrationStage:
        let versions = try stage.versions.map { try enter($0) }
        if let end, let first = versions.first { connect(end, first, .lightweight(stage.label)) }
        for (version, following) in zip(versions, versions.dropFirst()) { connect(version, following, .lightweight(stage.label)) }
        end = versions.last ?? end
      case let stage as CustomMigrationStage:
        let (from, to) = (try enter(stage.currentModel), try enter(stage.nextModel))
        guard from != to else {
          throw StoreError(.stageWithinVersion(stage.label), operation: .migrate, path: path)
        }
        // A custom stage between versions that were listed before replaces the lightweight step between them.
        if let end, next[from] == nil, next[to] == nil, end != from, !leads(end, to: from) { connect(end, from, .lightweight(stage.label)) }
        if case .custom(let other)? = next[from]?.transition {
          throw StoreError(.stagesOfOneVersion(other.label, stage.label), operation: .migrate, path: path)
        }
        next[from] = (.custom(stage), to)
        if end == nil || end == from || next[to] == nil { end = to }
      default:
        throw StoreError(.unknownStage(stage.label), operation: .migrate, path: path)
      }
    }
    if let end, end != target.checksum, !order.contains(target.checksum) {
      connect(end, target.checksum, .lightweight("to the newest model"))
    }
    if !order.contains(target.checksum) { order.append(target.checksum) }
  }

  private mutating func enter(_ reference: ManagedObjectModelReference) throws -> String {
    let checksum = try reference.versionChecksum
    if !reference.hasChecksumOnly, models[checksum] == nil { models[checksum] = try reference.compiledModel }
    if !order.contains(checksum) { order.append(checksum) }
    return checksum
  }

  private mutating func connect(_ from: String, _ to: String, _ transition: Transition) {
    guard from != to, next[from] == nil else { return }
    next[from] = (transition, to)
  }

  private func leads(_ from: String, to: String) -> Bool {
    var (version, seen) = (from, Set<String>())
    while version != to {
      guard seen.insert(version).inserted, let following = next[version]?.checksum else { return false }
      version = following
    }
    return true
  }

  // MARK: Path

  /// Returns the steps for a store of a version, in order, each with its source and destination model.
  ///
  /// - Parameter source: The model that wrote the store.
  func transitions(from source: CompiledModel) throws -> [(transition: Transition, source: CompiledModel, destination: CompiledModel)] {
    var result: [(transition: Transition, source: CompiledModel, destination: CompiledModel)] = []
    var (checksum, model) = (source.checksum, source)
    if let known = version(of: source) {
      checksum = known
      try checkIsNotNewer(known)
    } else {
      let nearest = try nearestVersion(to: source)
      result.append((.lightweight("unknown version"), source, nearest))
      (checksum, model) = (nearest.checksum, nearest)
    }
    var seen: Set<String> = []
    while checksum != target.checksum {
      guard seen.insert(checksum).inserted, let (transition, following) = next[checksum] else {
        throw StoreError(.noStages(from: checksum, to: target.checksum), operation: .migrate, path: path)
      }
      checksum = following
      guard let destination = models[following] else {
        // Lightweight steps can skip a version whose model is unavailable.
        if case .lightweight = transition, case .lightweight? = next[following]?.transition { continue }
        throw StoreError(.onlyChecksumAtStage(following, stage: transition.label), operation: .migrate, path: path)
      }
      result.append((transition, model, destination))
      model = destination
    }
    return result
  }

  /// Returns the checksum of a model's version; nil if no stage contains it.
  private func version(of model: CompiledModel) -> String? {
    if order.contains(model.checksum) { return model.checksum }
    // The order of properties is irrelevant to a store.
    return order.first { models[$0]?.versionHashes == model.versionHashes }
  }

  private func checkIsNotNewer(_ version: String) throws {
    guard let found = order.firstIndex(of: version), let newest = order.firstIndex(of: target.checksum), found > newest else { return }
    guard !leads(version, to: target.checksum) else { return }
    throw StoreError(.backwardMigration, operation: .migrate, path: path)
  }

  /// Returns the version to which an unknown model can be migrated with the least loss. Among equals the oldest, so that the stages after
  /// it run.
  private func nearestVersion(to source: CompiledModel) throws -> CompiledModel {
    var nearest: (model: CompiledModel, losses: Int, changes: Int)?
    var obstacles: [ModelChange]?
    for checksum in order {
      guard let model = models[checksum] else { continue }
      guard leads(checksum, to: target.checksum) else { continue }
      let difference = ModelDifference(from: source, to: model)
      guard difference.canBeInferred else {
        if obstacles.map({ difference.obstacles.count < $0.count }) ?? true { obstacles = difference.obstacles }
        continue
      }
      let losses = difference.changes.count(where: \.dropsValues)
      if let best = nearest, (best.losses, best.changes) <= (losses, difference.changes.count) { continue }
      nearest = (model, losses, difference.changes.count)
    }
    if let nearest { return nearest.model }
    throw StoreError(.versionInNoStage(source.checksum, obstacles ?? []), operation: .migrate, path: path)
  }

}

extension StoreError.Reason {
  static var backwardMigration: Self {
    Self(
      .backwardMigration,
      "The store has a newer version of the model than the coordinator: stages migrate only from older to newer versions. Open it with the newer model."
    )
  }

  static func stageWithinVersion(_ label: String) -> Self {
    Self(.invalidRequest, "The stage “\(label)” begins and ends with the same version of the model.")
  }

  static func stagesOfOneVersion(_ first: String, _ second: String) -> Self {
    Self(.invalidRequest, "The stages “\(first)” and “\(second)” begin with the same version of the model.")
  }

  static func unknownStage(_ label: String) -> Self {
    Self(.invalidRequest, "“\(label)” is neither a LightweightMigrationStage nor a CustomMigrationStage; there are no other stages.")
  }

  static func noStages(from: String, to: String) -> Self {
    Self(
      .unknownModelReference,
      "No stages lead from the version \(from) to the coordinator's model (\(to)): add a stage, or specify the model in the last one.")
  }

  static func onlyChecksumAtStage(_ checksum: String, stage: String) -> Self {
    Self(
      .unknownModelReference,
      "Only the checksum \(checksum) of a version is known, but “\(stage)” leads to it: specify the version by its model or its file.")
  }

  static func versionInNoStage(_ checksum: String, _ changes: [ModelChange]) -> Self {
    Self(
      .unknownModelReference,
      "The store's version of the model (\(checksum)) is not in any stage, and it cannot be migrated to one by inference:",
      obstacles: changes)
  }
}
