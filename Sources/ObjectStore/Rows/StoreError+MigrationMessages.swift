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
        "The store was written with another model, and this kind of store cannot be migrated. Open it with its own model.")
    case .keepsNoModel:
      return Parts(
        .unknownModelReference,
        "This kind of store does not keep the model that wrote it: it can take neither stages nor mapping models.")
    case .backwardMigration:
      return Parts(
        .backwardMigration,
        "The store has a newer version of the model than the coordinator: stages lead from older versions to newer ones only. Open it with the"
          + " newer model.")
    case .unreadableVersionFile: return Parts(.unknownModelReference, "The file of a model's version cannot be read.")
    case .stillDiffers(let entities):
      return Parts(
        .migrationFailed,
        "After its migration the store still differs from the model in \(entities.joined(separator: ", ")). The last step has to lead to the"
          + " coordinator's model.")
    case .migratedMeanwhile(let versions):
      return Parts(
        .modelIncompatible,
        "Somebody else has migrated the store to another version of the model\(Self.inBrackets(versions)) since it was opened here."
          + " Nothing was read or written: close the store and open it anew with that version.")
    case .newerModel(let versions):
      return Parts(
        .storeNewerThanModel,
        "The store was migrated to a newer version of the model\(Self.inBrackets(versions)); this program has an older one. The store is"
          + " untouched: open it with a newer version of the program. If the newest model is meant to equal an older one, give it another"
          + " version identifier.")
    case .unknownVersion(let version, let model, let known):
      return Parts(
        .unknownModelReference, "\(model.map { "“\($0)”" } ?? "The bundle") has no version “\(version)”; it has \(known).")
    case .otherChecksum(let found, let expected):
      return Parts(
        .modelChecksumMismatch,
        "The model has the checksum \(found), its reference names \(expected). The version was changed after it was"
          + " released: bring the released one back, and make the change in a new version.")
    case .onlyChecksum(let checksum):
      return Parts(
        .unknownModelReference,
        "Only the checksum \(checksum) of a version is known, and its model is needed: name the version by its model or its file.")
    case .mappingNotInferred(let changes):
      return about(changes, .mappingNotInferred, "The store cannot follow the model by itself: \(Self.text(changes))")
    case .noMappingModel(let changes):
      return about(changes, .mappingNotInferred, "No mapping model follows from the two models: \(Self.text(changes))")
    case .noFittingMappingModel(let count, let infersChanges, let changes):
      return about(
        changes, .mappingModelMissing,
        "None of the \(count) mapping models fits the store's model and the coordinator's, and "
          + (infersChanges ? "not everything can be inferred: " : "nothing may be inferred: ") + Self.text(changes))
    case .mappingDoesNotFit(let issues, let entity, let property):
      return Parts(
        .mappingModelInvalid, "The mapping model does not fit the models: \(issues.joined(separator: "; ")).", entity: entity,
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
    case .migrationFailed(let cause): return Parts(.migrationFailed, "The migration failed, and the store is as it was: \(cause)")
    case .migrationCancelled: return Parts(.cancelled, "The migration was cancelled; the store is as it was.")
    case .stageFailed(let label):
      return Parts(.migrationFailed, "The stage “\(label)” failed; the store is as it was before the migration.")
    case .missingValues(let stage, let missing):
      let places = missing.map { "“\($0.entity).\($0.property)” of \($0.count) object\($0.count == 1 ? "" : "s")" }
      return Parts(
        .requiredValueMissing,
        "After the stage “\(stage)” required values are missing: \(places.joined(separator: ", ")). Set them in the stage's handler, make the"
          + " properties optional, or give the attributes default values.",
        entity: missing.first?.entity, property: missing.first?.property)
    case .madeAbstract(let entity, let count):
      return Parts(
        .migrationFailed,
        "“\(entity)” was made abstract, but the store has \(Self.objects(count)) of it, and not of an entity below it. Keep the entity, or turn"
          + " the objects into ones of a subentity in a custom migration stage.", entity: entity)
    case .leftOutOfConfiguration(let entity, let count):
      return Parts(
        .migrationFailed,
        "The store holds \(Self.objects(count)) of “\(entity)”, which its configuration does not have. Copy them into the store that holds"
          + " the entity now, and delete them here; or open the store with a configuration that has the entity.", entity: entity)
    case .severalOfToOne(let entity, let property, let count):
      return Parts(
        .migrationFailed,
        "\(Self.objects(count)) of “\(entity)” would have more than one object in “\(property)”, which is to-one now. Keep the relationship"
          + " to-many, or choose which object stays in a custom migration stage.", entity: entity, property: property)
    case .contradictingInverse(let entity, let property, let count):
      return Parts(
        .migrationFailed,
        "\(Self.objects(count)) of “\(entity)” would have more than one object in “\(property)”: its stored links and those of its new inverse"
          + " contradict each other. Give the new relationship another name, and set it in a custom migration stage.", entity: entity,
        property: property)
    case .unconvertible(let entity, let property, let type, let count):
      return Parts(
        .migrationFailed,
        "\(Self.objects(count)) of “\(entity)” \(count == 1 ? "has" : "have") a value in “\(property)” that the type \(type) cannot hold."
          + " Keep the older type, or give the new attribute another name and fill it in a custom migration stage.", entity: entity,
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
        "No stages lead from the version \(from) to the coordinator's model (\(to)): add one, or name the model in the last.")
    case .onlyChecksumAtStage(let checksum, let stage):
      return Parts(
        .unknownModelReference,
        "Only the checksum \(checksum) of a version is known, and “\(stage)” leads to it: name the version by its model or its file.")
    case .versionInNoStage(let checksum, let changes):
      return Parts(
        .unknownModelReference,
        "The store's version of the model (\(checksum)) is in no stage, and it cannot be brought to one by inference: \(Self.text(changes))"
      )
    case .noNewerEntity(let name):
      return Parts(
        .invalidRequest, "No entity of the newer model was “\(name)”: go through its objects with forEachSource and insert the newer ones.",
        entity: name)
    case .noPolicyFunction(let name, let policy):
      return Parts(.mappingModelInvalid, "The policy \(policy) has no function “\(name)”: override value(ofFunction:arguments:manager:).")
    case .noManagerFunction(let name, let known):
      return Parts(.mappingModelInvalid, "The manager has no function “\(name)” of such arguments; there is \(known).")
    case .noEntityMapping(let name, let known):
      return Parts(.mappingModelInvalid, "There is no entity mapping “\(name)”; there are \(known).")
    case .noRelationship(let entity, let property):
      return Parts(.mappingModelInvalid, "“\(entity)” has no relationship “\(property)”.", entity: entity, property: property)
    default: return nil
    }
  }

  private static let nothingInferredSentence =
    "The description forbids to infer what to do (shouldInferMappingModelAutomatically), and names no steps of a migration."

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
