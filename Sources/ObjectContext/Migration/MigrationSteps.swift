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
