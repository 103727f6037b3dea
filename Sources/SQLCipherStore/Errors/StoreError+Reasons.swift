import ObjectModel
import ObjectStore

extension StoreError.Reason {
  static func misplacedOperator(_ name: String) -> Self { Self(.internalInconsistency, "A predicate uses \(name) in an invalid position.") }

  static func tooManyColumns(entities: [String], count: Int, limit: Int) -> Self {
    let (shown, rest) = (entities.prefix(5).map { "“\($0)”" }.joined(separator: ", "), entities.count - 5)
    let names = rest > 0 ? "\(shown) and \(rest) more" : shown
    return Self(
      .invalidRequest,
      "\(names) \(entities.count == 1 ? "needs" : "share a table, which needs") \(count) columns; a table of this version of SQLCipher has at most \(limit). Move properties into an entity of their own, to which a to-one relationship leads"
        + (entities.count == 1 ? "." : ", or remove the entities' common superentity."), entity: entities.first)
  }

  static func tooManyValues(entity: String, count: Int, limit: Int) -> Self {
    Self(
      .invalidRequest,
      "A row of “\(entity)” has \(count) values; this version of SQLCipher writes at most \(limit) at once. Move properties into an entity of their own, to which a to-one relationship leads.",
      entity: entity)
  }

  static func keysExhausted(entity: String) -> Self {
    Self(.invalidRequest, "The entity “\(entity)” has used up all its keys.", entity: entity)
  }

  static func noPermanentKey(entity: String) -> Self {
    Self(.invalidRequest, "A new object of “\(entity)” has no permanent key.", entity: entity)
  }

  static var notUnlocked: Self { Self(.keyRequired, "The store is not unlocked.") }
  static var newStoreWithoutKey: Self { Self(.keyRequired, "A new store needs a key: set the description's key.") }
  static var keyOfOtherStore: Self { Self(.wrongKey, "The key belongs to another store.") }

  static func notAStore(_ why: NoStore) -> Self { Self(.notAStore, why.rawValue) }

  static var storeClosed: Self { Self(.noOpenStore, "The store is not open: it was closed or has not been opened yet.") }

  static func rowImportUnsupported(type: String) -> Self {
    Self(.unsupported, "Only encrypted stores can import rows of other stores; this store has the type \(type).")
  }

  static var queryGenerationLost: Self {
    Self(
      .queryGenerationLost,
      "The context's query generation can no longer be read: one of its pages failed authentication or could not be read. Set .current to continue reading, and verify the store."
    )
  }

  static var noMemoryForText: Self { Self(.outOfMemory, "The process has no memory left for a string.") }

  static func unsupportedFormat(_ format: Int, newest: Int) -> Self {
    Self(
      .unsupportedFormat,
      "The store has the format \(format); this version of the library supports formats up to \(newest). Open it with a newer version.")
  }

  static var missingMetadata: Self { Self(.storeCorrupt, "The store's metadata is missing.") }
  static var unreadableMetadata: Self { Self(.storeCorrupt, "The store's metadata cannot be read.") }
  static var unreadableModel: Self { Self(.storeCorrupt, "The model inside the store cannot be read.") }

  static var noListOfLargeValues: Self {
    Self(.storeCorrupt, "A row refers to a large value, but the store has no list of them; verify the store.")
  }

  static var invalidEntityNumber: Self { Self(.storeCorrupt, "A row has an invalid entity number; verify the store.") }
  static var invalidKey: Self { Self(.storeCorrupt, "A row has an invalid key; verify the store.") }

  static func unknownEntityOfRow(table: String) -> Self {
    Self(.storeCorrupt, "A row of “\(table)” has an entity that is not in the model.")
  }

  static func layoutMismatch(table: String) -> Self {
    Self(.storeCorrupt, "The layout of the table “\(table)” in the metadata does not match the store's model.")
  }

  static func noJoinTable(relationship name: String) -> Self {
    Self(.internalInconsistency, "The relationship “\(name)” has no join table with its name.", property: name)
  }

  static var danglingReference: Self {
    Self(
      .objectNotFound, "A saved object refers to an object that is not in the store, or to a deleted one.", includesUnderlyingError: false)
  }

  static func migratedElsewhere(versions: [String]) -> Self {
    Self(
      .modelIncompatible,
      "The store was migrated elsewhere to another version of the model\(inBrackets(versions)) since it was opened here. Nothing was read or written: close the store and reopen it with that version."
    )
  }

  static func newerModel(versions: [String]) -> Self {
    Self(
      .storeNewerThanModel,
      "The store was migrated to a newer version of the model\(inBrackets(versions)); this program has an older version. The store is unchanged: open it with a newer version of the program. If the newest model is intentionally equal to an older one, set another version identifier."
    )
  }

  static func mappingNotInferred(_ changes: [ModelChange]) -> Self {
    Self(.mappingNotInferred, "The store cannot be migrated automatically:", obstacles: changes)
  }

  static func violatedConstraint(entity: String, properties: [String], count: Int?) -> Self {
    let many =
      count.map { $0 == 1 ? "1 object of “\(entity)” has" : "\($0) objects of “\(entity)” have" } ?? "objects of “\(entity)” have"
    return Self(
      .migrationConstraintViolation,
      "The store cannot have the uniqueness constraint over \(properties.joined(separator: ", ")): \(many) the same values as another one. Change or delete them first, or in a custom migration stage.",
      entity: entity, property: properties.count == 1 ? properties.first : nil, includesUnderlyingError: false)
  }

  static var violatedUnknownConstraint: Self {
    Self(
      .migrationConstraintViolation, "Stored objects have the same values under a uniqueness constraint.", includesUnderlyingError: false)
  }

  static func migrationFailed(cause: String) -> Self {
    Self(.migrationFailed, "The migration failed; the store is unchanged: \(cause)", includesUnderlyingError: false)
  }

  static func madeAbstract(entity: String, count: Int) -> Self {
    Self(
      .migrationFailed,
      "“\(entity)” was made abstract, but the store has \(objects(count)) of exactly this entity. Keep it concrete, or convert the objects to a subentity in a custom migration stage.",
      entity: entity)
  }

  static func excludedFromConfiguration(entity: String, count: Int) -> Self {
    Self(
      .migrationFailed,
      "The store contains \(objects(count)) of “\(entity)”, which is not in its configuration. Copy them into the store that contains the entity now, and delete them here; or open the store with a configuration that contains the entity.",
      entity: entity)
  }

  static func severalOfToOne(entity: String, property: String, count: Int) -> Self {
    Self(
      .migrationFailed,
      "\(objects(count)) of “\(entity)” would have more than one object in “\(property)”, which is now to-one. Keep the relationship to-many, or choose the object to keep in a custom migration stage.",
      entity: entity, property: property)
  }

  static func contradictingInverse(entity: String, property: String, count: Int) -> Self {
    Self(
      .migrationFailed,
      "\(objects(count)) of “\(entity)” would have more than one object in “\(property)”: its stored links and those of its new inverse contradict each other. Rename the new relationship, and set it in a custom migration stage.",
      entity: entity, property: property)
  }

  static var stepHasEnded: Self { Self(.invalidRequest, "The migration step has ended, and its objects can no longer be used.") }

  static var transactionRolledBack: Self {
    Self(.invalidRequest, "An error rolled the transaction back, and nothing was written. Rethrow that error to end the transaction.")
  }

  static var noPermanentID: Self {
    Self(.invalidRequest, "A relationship refers to an object without a permanent ID. Save that object too.")
  }

  static var fewerKeys: Self { Self(.internalInconsistency, "There are fewer keys than objects.") }
  static var conflictingRowMissing: Self {
    Self(.internalInconsistency, "SQLite reports a uniqueness conflict, but no row has the values.", includesUnderlyingError: false)
  }
  static var listForValue: Self { Self(.internalInconsistency, "Found a list, expected one value.") }
  static var valueForList: Self { Self(.internalInconsistency, "Found one value, expected a list.") }
  static var tooManyPlaceholders: Self { Self(.internalInconsistency, "A statement has too many placeholders.") }
  static var dictionariesNotResolved: Self { Self(.internalInconsistency, "A dictionary fetch was not resolved as a dictionary fetch.") }
  static var modelNotCompressed: Self { Self(.internalInconsistency, "The model cannot be compressed.") }

  private static func inBrackets(_ versions: [String]) -> String {
    versions.isEmpty ? "" : " (\(versions.sorted().joined(separator: ", ")))"
  }

  /// The reason why a database contains no store. The raw value is the message.
  enum NoStore: String {
    case never = "This database is not a CipherData store."
    case anyMore = "This database is no longer a CipherData store."
    case empty = "The database is empty."
    case emptyAndReadOnly = "The database is empty, and it was opened read-only."
  }
}
