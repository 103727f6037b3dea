// Messages of errors that concern stores, their files, and damage.
import ObjectModel

extension StoreError.Reason {
  private typealias Parts = StoreError.Parts

  var storeParts: StoreError.Parts? {
    switch self {
    case .readOnlyStore: return Parts(.readOnly, "The store was opened read-only.")
    case .storeOfObjectNotOpen(let id):
      return Parts(
        .noOpenStore,
        "The store of the object \(id.uriString) is not open. Open it (for example with loadPersistentStores()) before using its objects, and do not use them "
          + "after it is closed.", objectID: id)
    case .namedStoreNotOpen(let name):
      return Parts(
        .noOpenStore, "The store “\(name)”, which affectedStores contains, is not open. Open it, or remove it from affectedStores.")
    case .assignedStoreNotOpen(let entity):
      return Parts(
        .noOpenStore, "An object of “\(entity)” was assigned to a store that is not open. Open it, or assign the object to another store.",
        entity: entity)
    case .unknownStoreType(let type, let known):
      return Parts(
        .unknownStoreType,
        "No store class is registered for the type “\(type)”; registered are \(known.sorted().joined(separator: ", ")).")
    case .noFiles(let type): return Parts(.unsupported, "Stores of the type “\(type)” have no files.")
    case .noBackup(let type):
      return Parts(.unsupported, "Stores of the type “\(type)” cannot be copied before a migration: do not set migrationBackupURL.")
    case .takesNoRows(let type):
      return Parts(.unsupported, "Only encrypted stores can import rows of other stores; this store has the type \(type).")
    case .unsupportedFormat(let format, let newest):
      return Parts(
        .unsupportedFormat,
        "The store has the format \(format); this version of the library supports formats up to \(newest). Open it with a newer version.")
    case .unknownOption(let name, let type, let known):
      return Parts(
        .invalidOption, "Stores of the type “\(type)” have no option “\(name)”; they have \(known.sorted().joined(separator: ", ")).",
        option: name)
    case .coreDataOption(let name, let counterpart):
      return Parts(.invalidOption, "“\(name)” is an option of Core Data: \(counterpart).", option: name)
    case .optionOfAnotherType(let name, let expected, let found):
      return Parts(.invalidOption, "The option “\(name)” takes \(expected), not \(found).", option: name)
    case .storeClosed: return Parts(.noOpenStore, "The store is not open: it was closed or has not been opened yet.")
    case .memoryClosed: return Parts(.noOpenStore, "The in-memory store is closed: its rows were deleted.")
    case .noStoreOpen:
      return Parts(
        .noOpenStore,
        "No store is open. Set the container's persistentStoreDescriptions, wait for loadPersistentStores() before the first request, and make no requests "
          + "after close().")
    case .alreadyOpen: return Parts(.alreadyExists, "The store is already open in this coordinator.")
    case .stillOpen: return Parts(.busy, "The store is open in this coordinator; remove it first.")
    case .notInCoordinator: return Parts(.storeNotFound, "The store is not open in this coordinator.")
    case .noQueryGenerations(let type):
      return Parts(
        .unsupported,
        "\(type.map { "Stores of the type “\($0)” have" } ?? "This kind of store has") no query generations: use .current.")
    case .queryGenerationExpired:
      return Parts(
        .queryGenerationExpired,
        "The context's query generation has expired: the store was closed, or its log was too long. Objects keep their values; set .current to "
          + "continue reading.")
    case .queryGenerationLost:
      return Parts(
        .queryGenerationLost,
        "The context's query generation can no longer be read: one of its pages failed authentication or could not be read. Set .current to continue reading, and "
          + "verify the store.")
    case .tooManyQueryGenerations(let limit):
      return Parts(
        .tooManyQueryGenerations,
        "\(limit) query generations of the store are already open. Share a token among contexts, or release unused tokens.")
    case .queryGenerationOfOtherStore:
      return Parts(.queryGenerationOfOtherStore, "The token belongs to stores that are not open in this context's coordinator.")
    case .unsupportedRequest: return Parts(.unsupported, "This store type does not support the request; save objects instead.")
    case .hearsNothing:
      return Parts(.unsupported, "This store type cannot detect remote changes: disable postsRemoteChangeNotifications.")
    case .missingTransformers(let missing, let entity, let property):
      return Parts(
        .invalidRequest,
        "\(missing.joined(separator: "; ")); call AttributeTransformers.register(_:forName:) before the store is opened.", entity: entity,
        property: property)
    default: return nil
    }
  }

  var fileParts: StoreError.Parts? {
    switch self {
    case .notUnlocked: Parts(.keyRequired, "The store is not unlocked.")
    case .newStoreWithoutKey: Parts(.keyRequired, "A new store needs a key: set the description's key.")
    case .keyOfOtherStore: Parts(.wrongKey, "The key belongs to another store.")
    case .keyDoesNotFit: Parts(.unreadableStore, "The key does not fit the file.")
    case .encryptedOrNoStore:
      Parts(.keyRequired, "The file is not a plain SQLite database: it is encrypted and no key was given, or it is not a store.")
    case .noStoreHere: Parts(.storeNotFound, "There is no store at this URL.")
    case .holdsNoStore(.never): Parts(.notAStore, "This database is not a CipherData store.")
    case .holdsNoStore(.anyMore): Parts(.notAStore, "This database is no longer a CipherData store.")
    case .holdsNoStore(.empty): Parts(.notAStore, "The database is empty.")
    case .holdsNoStore(.emptyAndReadOnly): Parts(.notAStore, "The database is empty, and it was opened read-only.")
    case .newPlaceTaken: Parts(.alreadyExists, "There is already a file at the destination.")
    case .openedBeforeComplete: Parts(.busy, "The new store was opened before it was complete.")
    case .fileOfLargeValue(.noFileURL): Parts(.invalidRequest, "The URL of a large value must be a file URL.")
    case .fileOfLargeValue(.missing): Parts(.storeNotFound, "There is no such file.")
    case .fileOfLargeValue(.folder): Parts(.invalidRequest, "It is a folder.")
    case .fileOfLargeValue(.irregular): Parts(.io, "The file of a large value is not a regular file.")
    case .fileOfLargeValue(.forbidden): Parts(.permissionDenied, "The process has no permission to read the file.")
    case .fileOfLargeValue(.unreadable):
      Parts(.io, "The file of a large value cannot be read. Do not move or delete it until the object is saved.")
    case .noMemoryForText: Parts(.outOfMemory, "The process has no memory left for a string.")
    default: nil
    }
  }

  var damageParts: StoreError.Parts? {
    switch self {
    case .missingMetadata: return Parts(.storeCorrupt, "The store's metadata is missing.")
    case .unreadableMetadata: return Parts(.storeCorrupt, "The store's metadata cannot be read.")
    case .unreadableModel: return Parts(.storeCorrupt, "The model inside the store cannot be read.")
    case .noListOfLargeValues:
      return Parts(.storeCorrupt, "A row refers to a large value, but the store has no list of them; verify the store.")
    case .strangeEntityNumber:
      return Parts(.storeCorrupt, "A row has an invalid entity number; verify the store.")
    case .strangeKey: return Parts(.storeCorrupt, "A row has an invalid key; verify the store.")
    case .unreadableValue(let entity, let property, let id):
      let place = id.map { " of the object \($0.uriString)" } ?? ""
      return Parts(
        .storeCorrupt,
        "The stored value of “\(entity).\(property)”\(place) does not have the attribute's type: set it again, or restore the store from a backup.",
        entity: entity, property: property, objectID: id)
    case .unreadableSlot:
      return Parts(.storeCorrupt, "A stored value does not have its attribute's type: set it again, or restore the store from a backup.")
    case .strangeEntityOfRow(let table): return Parts(.storeCorrupt, "A row of “\(table)” has an entity that is not in the model.")
    case .strangeEntityOfObject(let id):
      return Parts(
        .storeCorrupt, "The row of the object \(id.uriString) has another entity than references to it state; verify the store.",
        objectID: id)
    case .strangeLayout(let table):
      return Parts(.storeCorrupt, "The layout of the table “\(table)” in the metadata does not match the store's model.")
    case .noJoinTable(let name):
      return Parts(.internalInconsistency, "The relationship “\(name)” has no join table with its name.", property: name)
    default: return nil
    }
  }
}
