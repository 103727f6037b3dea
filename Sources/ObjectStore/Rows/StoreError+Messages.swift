// The messages of errors. Code in this package throws a `Reason`; only this file and its siblings write messages: `+StoreSentences`
// (stores, files, damage), `+HistorySentences`, `+MigrationSentences`, and `+Mistakes` (invalid calls, inconsistencies). A test enforces
// this. Stores outside the package cannot use reasons and write their own messages.
import ObjectModel

extension StoreError {
  /// Returns the advice for uniqueness conflicts that a merge policy does not resolve.
  package static func constraintAdvice(policy: String) -> String {
    "The merge policy “\(policy)” does not resolve this: use other values, or set a mergePolicy that does."
  }

  /// The properties of an error that are derived from its reason.
  struct Parts {
    let code: Code
    let sentence: String
    var entity: String?
    var property: String?
    var objectID: ManagedObjectID?
    var option: String?

    init(
      _ code: Code, _ sentence: String, entity: String? = nil, property: String? = nil, objectID: ManagedObjectID? = nil,
      option: String? = nil
    ) {
      (self.code, self.sentence, self.entity, self.property) = (code, sentence, entity, property)
      (self.objectID, self.option) = (objectID, option)
    }
  }
}

extension StoreError.Reason {
  private typealias Parts = StoreError.Parts

  /// Returns the code, the message, and the subject. Some messages depend on the operation.
  func parts(_ operation: StoreOperation?) -> StoreError.Parts {
    requestParts(operation) ?? storeParts ?? fileParts ?? damageParts ?? historyParts ?? objectParts ?? uniqueParts ?? migrationParts
      ?? Parts(.cancelled, Self.cancellation(of: operation))
  }

  private static func cancellation(of operation: StoreOperation?) -> String {
    switch operation {
    case .migrate: "The migration was canceled."
    case .copyStore: "The copy was canceled."
    case .import: "The import was canceled; nothing was imported."
    default: "The \(operation?.rawValue ?? "request") was canceled."
    }
  }

  private func requestParts(_ operation: StoreOperation?) -> StoreError.Parts? {
    switch self {
    case .unknownEntity(let name, let known):
      let advice = SimilarName.advice(for: name, among: Array(known)).map { "; \($0)" } ?? ""
      return Parts(.invalidRequest, "The model has no entity “\(name)”\(advice)\(advice.hasSuffix("?") ? "" : ".")", entity: name)
    case .unknownConfiguration(let name): return Parts(.invalidRequest, "The model has no configuration “\(name ?? "")”.")
    case .abstractEntity(let name):
      let advice =
        switch operation {
        case .batchInsert: "; insert rows of one of its subentities."
        case .insert: "; insert an object of one of its subentities."
        default: ": it has no objects."
        }
      return Parts(.invalidRequest, "The entity “\(name)” is abstract\(advice)", entity: name)
    case .entityNotInStore(let name): return Parts(.entityNotInStore, "The store does not contain the entity “\(name)”.", entity: name)
    case .entityInNoOpenStore(let name, let isNamed, let configurations):
      let names = configurations.map { "“\($0)”" }.joined(separator: " or ")
      let advice =
        isNamed
        ? "Do not set affectedStores, or name a store that contains it."
        : names.isEmpty ? "Open one without a configuration." : "Open one with the configuration \(names)."
      return Parts(
        .entityNotInStore, "No open store\(isNamed ? " in affectedStores" : "") contains the entity “\(name)”. \(advice)", entity: name)
    case .resultDoesNotFit(let column, let type):
      return Parts(.invalidRequest, "A value of “\(column)” does not fit in the result type \(type): choose a larger type.")
    case .notPrefetchable(let path, let key, let entity):
      return Parts(
        .invalidRequest, "“\(path)” cannot be prefetched: “\(key)” is not a relationship of the entity “\(entity)” or of a subentity.",
        entity: entity, property: key)
    case .notFetchableWithObjects(let name, let entity):
      return Parts(
        .invalidRequest,
        "“\(name)” cannot be fetched with objects: name attributes and to-one relationships of “\(entity)” in propertiesToFetch, and prefetch others.",
        entity: entity, property: name)
    case .groupsInSeveralStores(let entity):
      return Parts(
        .invalidRequest,
        "The groups of “\(entity)” are in several stores, and part of the request cannot be evaluated in each store separately. Name one store in "
          + "affectedStores, or use a property to fetch for that part.", entity: entity)
    case .otherClass(let entity, let name):
      return Parts(
        .invalidRequest,
        "Objects of the entity “\(entity)” are not of the class \(name) in this context. Register \(name) for the entity in the ManagedObjectClasses that "
          + "the container is created with, or use the entity's own class.", entity: entity)
    case .unknownClass(let name, let why):
      let advice =
        switch why {
        case .notRegistered:
          "Register it in the ManagedObjectClasses that the container is created with, or insert objects by entity name."
        case .ofOtherModel:
          "It was generated for another model than the context's: create the container with makeContainer of the class's own model."
        case .tableNotGiven:
          "Create the container with makeContainer of the generated model, or pass PersistentContainer the argument `classes: \(name).classTable`."
        }
      return Parts(.invalidRequest, "This context has no entity for the class \(name). \(advice)")
    case .blockForOtherClass(let name, let expected, let found):
      return Parts(.invalidRequest, "The block predicate \(name) is for objects of the class \(expected), not of \(found).")
    case .emptyBatch(let size): return Parts(.invalidRequest, "A batch must have at least one object, not \(size).")
    case .misplacedOperator(let name): return Parts(.internalInconsistency, "A predicate uses \(name) in an invalid position.")
    case .unusableFilter(let entity, let property, let problem):
      return Parts(
        .invalidRequest, "The filter of the derived attribute “\(entity).\(property)” cannot be used: \(problem)", entity: entity,
        property: property)
    case .derivedInPlainStore(let entity, let property, let type):
      return Parts(
        .unsupported,
        "“\(entity).\(property)” is derived, and stores of the type “\(type)” do not compute derived attributes. Use another store, or a "
          + "configuration without the entity.", entity: entity, property: property)
    case .tooManyColumns(let entities, let count, let limit):
      let (shown, rest) = (entities.prefix(5).map { "“\($0)”" }.joined(separator: ", "), entities.count - 5)
      let names = rest > 0 ? "\(shown) and \(rest) more" : shown
      return Parts(
        .invalidRequest,
        "\(names) \(entities.count == 1 ? "needs" : "share a table, which needs") \(count) columns; a table of this version of SQLCipher has at most"
          + " \(limit). Move properties into an entity of their own, to which a to-one relationship leads"
          + (entities.count == 1 ? "." : ", or remove the entities' common superentity."), entity: entities.first)
    case .tooManyValues(let entity, let count, let limit):
      return Parts(
        .invalidRequest,
        "A row of “\(entity)” has \(count) values; this version of SQLCipher writes at most \(limit) at once. Move properties into an entity of their"
          + " own, to which a to-one relationship leads.", entity: entity)
    case .usedUpKeys(let entity): return Parts(.invalidRequest, "The entity “\(entity)” has used up all its keys.", entity: entity)
    case .noPermanentKey(let entity): return Parts(.invalidRequest, "A new object of “\(entity)” has no permanent key.", entity: entity)
    case .wrongNumberOfIDs(let given, let asked):
      return Parts(
        .internalInconsistency, "The store returned \(given) IDs for \(asked) \(operation == .batchInsert ? "rows" : "objects").")
    case .misuse(let misuse, let entity): return Parts(.invalidRequest, misuse.rawValue, entity: entity)
    case .internalInconsistency(let found): return Parts(.internalInconsistency, found.rawValue)
    default: return nil
    }
  }

  private var objectParts: StoreError.Parts? {
    switch self {
    case .noObject(let id): return Parts(.objectNotFound, "There is no object \(id.uriString).", objectID: id)
    case .noRow(let id):
      return Parts(.objectNotFound, "The fault cannot be fulfilled: the row of the object \(id) was deleted.", objectID: id)
    case .noneFound(let entity):
      return Parts(
        .objectNotFound, "Expected exactly one “\(entity)”, found none. fetchFirst(_:) returns nil in this case.", entity: entity)
    case .severalFound(let entity):
      return Parts(
        .notUnique, "Expected exactly one “\(entity)”, found several. fetchFirst(_:) returns the first one.", entity: entity)
    case .objectOfOtherClass(let id, let expected, let found):
      return Parts(.invalidRequest, "The object \(id.uriString) is of the class \(found), not of \(expected).", objectID: id)
    case .lostChange(let id, let why):
      let reason =
        switch why {
        case .inNoContext: "which no longer belongs to a context: its deletion was saved, or the context was reset"
        case .unreadable: "whose values cannot be read"
        case .deleted: "whose row was deleted"
        }
      return Parts(
        .objectNotFound, "A change cannot be saved: it was made to the object \(id.uriString), \(reason). Fetch the object again.",
        objectID: id)
    case .lostMembers(let id):
      return Parts(
        .objectNotFound, "Members were added to the object \(id.uriString), whose row was deleted.", objectID: id)
    case .lostDestination(let id):
      return Parts(
        .objectNotFound,
        "A saved object refers to the object \(id.uriString), whose row was deleted elsewhere. Set the relationship to another object, or to nil.",
        objectID: id)
    case .danglingReference:
      return Parts(
        .objectNotFound, "A saved object refers to an object that is not in the store, or to a deleted one.")
    case .someChangedMeanwhile:
      return Parts(.mergeConflict, "Objects were changed or deleted elsewhere since they were read.")
    case .leftInConflict(let conflicts, let policy, let why):
      let total = conflicts.reduce(0) { $0 + $1.count }
      let objects = conflicts.map { conflict in
        conflict.count == 1
          ? "the “\(conflict.entity)” \(conflict.example.uriString)"
          : "\(conflict.count) of “\(conflict.entity)”, such as \(conflict.example.uriString)"
      }
      let advice =
        why
        ?? "The merge policy “\(policy)” does not resolve this: set another mergePolicy, or refresh the objects in mergeConflicts and save again."
      return Parts(
        .mergeConflict,
        "\(total == 1 ? "An object was" : "\(total) objects were") changed or deleted elsewhere since \(total == 1 ? "it was" : "they were") "
          + "read: \(objects.joined(separator: "; ")). Nothing was saved. \(advice)",
        entity: conflicts.first?.entity, objectID: total == 1 ? conflicts.first?.example : nil)
    case .assignedAfterRelationships(let entity):
      return Parts(
        .crossStoreRelationship, "The object already refers to objects in another store; assign it before its relationships are set.",
        entity: entity)
    case .changedMeanwhile(let entity, let count):
      return Parts(
        .mergeConflict, "\(count) of the objects were changed or deleted elsewhere since they were read. Nothing was saved.",
        entity: entity)
    case .notYetInContext(let entity, let property):
      return about(entity, property, .invalidRequest, "was set before its object was inserted into a context; insert the object first.")
    case .destinationOfOtherContext(let entity, let property):
      return about(
        entity, property, .invalidRequest,
        "was set to an object of another context; get the object from this context by its ID first.")
    case .destinationOfOtherEntity(let entity, let property, let destination):
      return about(entity, property, .invalidRequest, "cannot refer to an object of the entity “\(destination)”.")
    case .destinationOfOtherStore(let entity, let property, isNew: false):
      return about(entity, property, .crossStoreRelationship, "cannot refer to an object of another store.")
    case .destinationOfOtherStore(let entity, let property, isNew: true):
      return about(
        entity, property, .crossStoreRelationship,
        "refers to a new object that is assigned to another store; assign both to the same store.")
    case .deletedDestination(let entity, let property):
      return about(entity, property, .invalidRequest, "was set to a deleted object; set it to nil.")
    case .setOnBothSides(let id, let names):
      return Parts(
        .mergeConflict,
        "The snapshot of the “\(id.entityName)” \(id.uriString) sets \(names.map { "“\($0)”" }.joined(separator: ", ")), which has "
          + "changed since the snapshot was taken. Nothing was applied; take another snapshot, or set the context's mergePolicy.",
        property: names.count == 1 ? names.first : nil, objectID: id)
    case .snapshotOfOtherModel(let entity):
      return Parts(
        .modelIncompatible,
        "The snapshot belongs to another version of “\(entity)” than the context's model. Take it again from an object of this model.",
        entity: entity)
    case .snapshotOfOtherClass(let entity, let name):
      return Parts(.invalidRequest, "A snapshot of “\(entity)” does not belong to the class \(name).", entity: entity)
    case .noSuchPosition(let entity, let property, let position, let last):
      let places = last < 0 ? "none" : "0 to \(last)"
      return about(
        entity, property, .invalidRequest,
        "has no position \(position) (valid positions: \(places)); nothing was changed.")
    default: return nil
    }
  }

  private func about(_ entity: String, _ property: String, _ code: StoreError.Code, _ text: String) -> StoreError.Parts {
    Parts(code, "“\(entity).\(property)” \(text)", entity: entity, property: property)
  }

  private var uniqueParts: StoreError.Parts? {
    switch self {
    case .sameValues(let entity, let names):
      let values = names.isEmpty ? "under a uniqueness constraint" : "of \(names.joined(separator: ", "))"
      return Parts(.constraintConflict, "Objects of “\(entity)” have the same values \(values). Nothing was saved.", entity: entity)
    case .rowTakesValues(let row, let entity, let ofSeveral):
      let holders = ofSeveral ? "several stored objects: the object to update is ambiguous." : "an object of another entity."
      return Parts(
        .constraintConflict, "Row \(row) of the batch has unique values of \(holders) Nothing was written.", entity: entity)
    case .rowHasTakenValues(let row, let entity, let names):
      return Parts(
        .constraintConflict,
        "Row \(row) of the batch has values of \(names.joined(separator: ", ")) that another object or row of “\(entity)” has. Nothing was written.",
        entity: entity)
    case .sharedConstraint(let entity, let found):
      return Parts(
        .invalidRequest,
        "An object of the entity “\(found)” already has the values of a uniqueness constraint that it shares with “\(entity)”.",
        entity: entity)
    case .noConstraint(let entity, let names, let declared):
      return Parts(
        .invalidRequest,
        "The entity “\(entity)” has no uniqueness constraint over (\(names.joined(separator: ", "))), so several objects may have these values. "
          + (declared.isEmpty ? "Declare one." : "Declare one, or use \(declared.joined(separator: " or "))."), entity: entity)
    case .notAsManyValues(let keys, let values):
      return Parts(.invalidRequest, "\(keys) keys were passed, but \(values) values for an object.")
    case .noValueOfKey(let property):
      return Parts(.invalidRequest, "Objects without a value of “\(property)” are not unique; set a value.", property: property)
    default: return nil
    }
  }
}
