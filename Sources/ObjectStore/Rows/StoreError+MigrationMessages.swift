// Messages of errors that concern models and migrations.
import ObjectModel

extension StoreError.Reason {
  private typealias Parts = StoreError.Parts

  var migrationParts: StoreError.Parts? {
    switch self {
    case .writtenWithAnotherModel(let entities, let why):
      let advice =
        switch why {
        case .readOnly: "It was opened read-only, so it cannot be migrated: open it for writing, or with its own model."
        case .notAllowed: "Open it with its own model, or set the description's shouldMigrateStoreAutomatically to migrate it."
        case .nothingInferred: Self.nothingInferredSentence
        }
      return Parts(
        .migrationNeeded,
        "The store was written with another model; these entities differ: \(entities.joined(separator: ", ")). \(advice)")
    case .nothingInferred: return Parts(.migrationNeeded, Self.nothingInferredSentence)
    case .cannotBeMigrated:
      return Parts(
        .modelIncompatible,
        "The store was written with another model, and this store type cannot be migrated. Open it with its own model.")
    case .keepsNoModel:
      return Parts(
        .unknownModelReference,
        "This store type does not contain the model that wrote it: neither stages nor mapping models can be used.")
    case .backwardMigration:
      return Parts(
        .backwardMigration,
        "The store has a newer version of the model than the coordinator: stages migrate only from older to newer versions. Open it with the"
          + " newer model.")
    case .unreadableVersionFile: return Parts(.unknownModelReference, "The file of a model version cannot be read.")
    case .stillDiffers(let entities):
      return Parts(
        .migrationFailed,
        "After the migration, the store still differs from the model in \(entities.joined(separator: ", ")). The last step must lead to the"
          + " coordinator's model.")
    case .migratedMeanwhile(let versions):
      return Parts(
        .modelIncompatible,
        "The store was migrated elsewhere to another version of the model\(Self.inBrackets(versions)) since it was opened here."
          + " Nothing was read or written: close the store and reopen it with that version.")
    case .newerModel(let versions):
      return Parts(
        .storeNewerThanModel,
        "The store was migrated to a newer version of the model\(Self.inBrackets(versions)); this program has an older version. The store is"
          + " unchanged: open it with a newer version of the program. If the newest model is intentionally equal to an older one, set another"
          + " version identifier.")
    case .unknownVersion(let version, let model, let known):
      return Parts(
        .unknownModelReference, "\(model.map { "“\($0)”" } ?? "The bundle") has no version “\(version)”; it has \(known).")
    case .otherChecksum(let found, let expected):
      return Parts(
        .modelChecksumMismatch,
        "The model has the checksum \(found), but its reference has \(expected). The version was changed after it was"
          + " released: restore the released version, and make the change in a new version.")
    case .onlyChecksum(let checksum):
      return Parts(
        .unknownModelReference,
        "Only the checksum \(checksum) of a version is known, but its model is needed: specify the version by its model or its file.")
    case .mappingNotInferred(let changes):
      return about(changes, .mappingNotInferred, "The store cannot be migrated automatically: \(Self.text(changes))")
    case .noMappingModel(let changes):
      return about(changes, .mappingNotInferred, "No mapping model can be inferred from the two models: \(Self.text(changes))")
    case .noFittingMappingModel(let count, let infersChanges, let changes):
      return about(
        changes, .mappingModelMissing,
        "None of the \(count) mapping models matches the store's model and the coordinator's, and "
          + (infersChanges ? "not everything can be inferred: " : "inference is disabled: ") + Self.text(changes))
    case .mappingDoesNotFit(let issues, let entity, let property):
      return Parts(
        .mappingModelInvalid, "The mapping model does not match the models: \(issues.joined(separator: "; ")).", entity: entity,
        property: property)
    case .violatedUnknownConstraint:
      return Parts(.migrationConstraintViolation, "Stored objects have the same values under a uniqueness constraint.")
    case .violatedConstraint(let entity, let properties, let count):
      let many =
        count.map { $0 == 1 ? "1 object of “\(entity)” has" : "\($0) objects of “\(entity)” have" } ?? "objects of “\(entity)” have"
      return Parts(
        .migrationConstraintViolation,
        "The store cannot have the uniqueness constraint over \(properties.joined(separator: ", ")): \(many) the same values as another one."
          + " Change or delete them first, or in a custom migration stage.",
        entity: entity, property: properties.count == 1 ? properties.first : nil)
    case .migrationFailed(let cause): return Parts(.migrationFailed, "The migration failed; the store is unchanged: \(cause)")
    case .migrationCancelled: return Parts(.cancelled, "The migration was canceled; the store is unchanged.")
    case .stageFailed(let label):
      return Parts(.migrationFailed, "The stage “\(label)” failed; the store is unchanged.")
    case .missingValues(let stage, let missing):
      let places = missing.map { "“\($0.entity).\($0.property)” of \($0.count) object\($0.count == 1 ? "" : "s")" }
      return Parts(
        .requiredValueMissing,
        "After the stage “\(stage)”, required values are missing: \(places.joined(separator: ", ")). Set them in the stage's handler, make the"
          + " properties optional, or give the attributes default values.",
        entity: missing.first?.entity, property: missing.first?.property)
    case .madeAbstract(let entity, let count):
      return Parts(
        .migrationFailed,
        "“\(entity)” was made abstract, but the store has \(Self.objects(count)) of exactly this entity. Keep it concrete, or convert"
          + " the objects to a subentity in a custom migration stage.", entity: entity)
    case .leftOutOfConfiguration(let entity, let count):
      return Parts(
        .migrationFailed,
        "The store contains \(Self.objects(count)) of “\(entity)”, which is not in its configuration. Copy them into the store that contains"
          + " the entity now, and delete them here; or open the store with a configuration that contains the entity.", entity: entity)
    case .severalOfToOne(let entity, let property, let count):
      return Parts(
        .migrationFailed,
        "\(Self.objects(count)) of “\(entity)” would have more than one object in “\(property)”, which is now to-one. Keep the relationship"
          + " to-many, or choose the object to keep in a custom migration stage.", entity: entity, property: property)
    case .contradictingInverse(let entity, let property, let count):
      return Parts(
        .migrationFailed,
        "\(Self.objects(count)) of “\(entity)” would have more than one object in “\(property)”: its stored links and those of its new inverse"
          + " contradict each other. Rename the new relationship, and set it in a custom migration stage.", entity: entity,
        property: property)
    case .unconvertible(let entity, let property, let type, let count):
      return Parts(
        .migrationFailed,
        "\(Self.objects(count)) of “\(entity)” \(count == 1 ? "has" : "have") a value in “\(property)” that the type \(type) cannot hold."
          + " Keep the old type, or rename the new attribute and set it in a custom migration stage.", entity: entity,
        property: property)
    case .stageWithinVersion(let label):
      return Parts(.invalidRequest, "The stage “\(label)” begins and ends with the same version of the model.")
    case .stagesOfOneVersion(let first, let second):
      return Parts(.invalidRequest, "The stages “\(first)” and “\(second)” begin with the same version of the model.")
    case .unknownStage(let label):
      return Parts(
        .invalidRequest, "“\(label)” is neither a LightweightMigrationStage nor a CustomMigrationStage; there are no other stages.")
    case .noStages(let from, let to):
      return Parts(
        .unknownModelReference,
        "No stages lead from the version \(from) to the coordinator's model (\(to)): add a stage, or specify the model in the last one.")
    case .onlyChecksumAtStage(let checksum, let stage):
      return Parts(
        .unknownModelReference,
        "Only the checksum \(checksum) of a version is known, but “\(stage)” leads to it: specify the version by its model or its file.")
    case .versionInNoStage(let checksum, let changes):
      return Parts(
        .unknownModelReference,
        "The store's version of the model (\(checksum)) is not in any stage, and it cannot be migrated to one by inference: \(Self.text(changes))"
      )
    case .noNewerEntity(let name):
      return Parts(
        .invalidRequest, "No entity of the newer model was “\(name)”: iterate over its objects with forEachSource and insert new objects.",
        entity: name)
    case .noPolicyFunction(let name, let policy):
      return Parts(.mappingModelInvalid, "The policy \(policy) has no function “\(name)”: override value(ofFunction:arguments:manager:).")
    case .noManagerFunction(let name, let known):
      return Parts(.mappingModelInvalid, "The manager has no function “\(name)” with these arguments; available: \(known).")
    case .noEntityMapping(let name, let known):
      return Parts(.mappingModelInvalid, "There is no entity mapping “\(name)”; there are \(known).")
    case .noRelationship(let entity, let property):
      return Parts(.mappingModelInvalid, "“\(entity)” has no relationship “\(property)”.", entity: entity, property: property)
    default: return nil
    }
  }

  private static let nothingInferredSentence =
    "The description disables inference (shouldInferMappingModelAutomatically) and specifies no migration steps."

  /// Returns the parts of an error about changes that prevent a migration. The first change determines the entity and property.
  private func about(_ changes: [ModelChange], _ code: StoreError.Code, _ text: String) -> StoreError.Parts {
    Parts(code, text, entity: changes.first?.entityName, property: changes.first?.name)
  }

  private static func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }

  private static func text(_ changes: [ModelChange]) -> String { changes.map(\.description).joined(separator: " ") }

  private static func inBrackets(_ versions: [String]) -> String {
    versions.isEmpty ? "" : " (\(versions.sorted().joined(separator: ", ")))"
  }
}
