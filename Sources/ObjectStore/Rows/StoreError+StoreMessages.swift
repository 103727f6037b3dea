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
        "The store of the object \(id.uriString) is not open. Open it (loadPersistentStores() does) before its objects are used, and use none "
          + "after it was closed.", objectID: id)
    case .namedStoreNotOpen(let name):
      return Parts(.noOpenStore, "The store “\(name)”, which affectedStores names, is not open. Open it, or leave it out.")
    case .assignedStoreNotOpen(let entity):
      return Parts(
        .noOpenStore, "The store that an object of “\(entity)” was assigned to is not open. Open it, or assign the object to another.",
        entity: entity)
    case .unknownStoreType(let type, let known):
      return Parts(
        .unknownStoreType,
        "No class of stores is registered for the type “\(type)”; registered are \(known.sorted().joined(separator: ", ")).")
    case .noFiles(let type): return Parts(.unsupported, "Stores of the type “\(type)” have no files to work on.")
    case .noBackup(let type):
      return Parts(.unsupported, "Stores of the type “\(type)” cannot be copied before a migration: set no migrationBackupURL.")
    case .takesNoRows(let type):
      return Parts(.unsupported, "Only an encrypted store takes rows of other stores; this one is of the type \(type).")
    case .unsupportedFormat(let format, let newest):
      return Parts(
        .unsupportedFormat,
        "The store has format \(format), and this version of the library reads up to \(newest). Open it with a newer version.")
    case .unknownOption(let name, let type, let known):
      return Parts(
        .invalidOption, "Stores of the type “\(type)” have no option “\(name)”; they have \(known.sorted().joined(separator: ", ")).",
        option: name)
    case .coreDataOption(let name, let counterpart):
      return Parts(.invalidOption, "“\(name)” is an option of Core Data: \(counterpart).", option: name)
    case .optionOfAnotherType(let name, let expected, let found):
      return Parts(.invalidOption, "The option “\(name)” takes \(expected), not \(found).", option: name)
    case .storeClosed: return Parts(.noOpenStore, "The store is not open: it was closed, or not opened yet.")
    case .memoryClosed: return Parts(.noOpenStore, "The in-memory store is closed: its rows are gone.")
    case .noStoreOpen:
      return Parts(
        .noOpenStore,
        "No store is open. Give the container persistentStoreDescriptions, wait for loadPersistentStores() before the first request, and make none "
          + "after close().")
    case .alreadyOpen: return Parts(.alreadyExists, "The store is open in this coordinator already.")
    case .stillOpen: return Parts(.busy, "The store is open in this coordinator; remove it first.")
    case .notInCoordinator: return Parts(.storeNotFound, "The store is not open in this coordinator.")
    case .noQueryGenerations(let type):
      return Parts(
        .unsupported,
        "\(type.map { "Stores of the type “\($0)” have" } ?? "This kind of store has") no query generations: read the newest state.")
    case .queryGenerationExpired:
      return Parts(
        .queryGenerationExpired,
        "The state that the context reads was ended: the store was closed, or its log had become too long. Objects keep their values; set .current to "
          + "read on.")
    case .queryGenerationLost:
      return Parts(
        .queryGenerationLost,
        "The state that the context reads cannot be read any more: a page of it failed its check, or could not be read. Set .current to read on, and "
          + "verify the store.")
    case .tooManyQueryGenerations(let limit):
      return Parts(
        .tooManyQueryGenerations,
        "\(limit) states of the store are held already. Let contexts share a token, or let go of tokens that nobody needs.")
    case .queryGenerationOfOtherStore:
      return Parts(.queryGenerationOfOtherStore, "The token is one of stores that are not open in this context's coordinator.")
    case .unsupportedRequest: return Parts(.unsupported, "This kind of store cannot do it; save objects instead.")
    case .hearsNothing:
      return Parts(.unsupported, "This kind of store does not hear of what others write: leave postsRemoteChangeNotifications off.")
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
      Parts(.keyRequired, "The file is no plain SQLite database: it is encrypted, and no key was given, or it is no store.")
    case .noStoreHere: Parts(.storeNotFound, "There is no store here.")
    case .holdsNoStore(.never): Parts(.notAStore, "The database can be read, but it holds no CipherData store.")
    case .holdsNoStore(.anyMore): Parts(.notAStore, "The database holds no CipherData store any more.")
    case .holdsNoStore(.empty): Parts(.notAStore, "The database is empty.")
    case .holdsNoStore(.emptyAndReadOnly): Parts(.notAStore, "The database is empty, and it was opened read-only.")
    case .newPlaceTaken: Parts(.alreadyExists, "There is something at the new place already.")
    case .openedBeforeComplete: Parts(.busy, "Somebody has opened the new store before it was complete.")
    case .fileOfLargeValue(.noFileURL): Parts(.invalidRequest, "The URL of a large value must be that of a file.")
    case .fileOfLargeValue(.missing): Parts(.storeNotFound, "There is no such file.")
    case .fileOfLargeValue(.folder): Parts(.invalidRequest, "It is a folder.")
    case .fileOfLargeValue(.irregular): Parts(.io, "The file of a large value is no regular file.")
    case .fileOfLargeValue(.forbidden): Parts(.permissionDenied, "The process may not read the file.")
    case .fileOfLargeValue(.unreadable):
      Parts(.io, "The file of a large value cannot be read; it must stay where it is until the object is saved.")
    case .noMemoryForText: Parts(.outOfMemory, "The process has no memory for a text.")
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
      return Parts(.storeCorrupt, "A row has the number of an entity that cannot stand there; verify the store.")
    case .strangeKey: return Parts(.storeCorrupt, "A row has a key that is never given out; verify the store.")
    case .unreadableValue(let entity, let property, let id):
      let place = id.map { " of the object \($0.uriString)" } ?? ""
      return Parts(
        .storeCorrupt,
        "What is stored for “\(entity).\(property)”\(place) is no value of the attribute's type: set it anew, or restore the store from a backup.",
        entity: entity, property: property, objectID: id)
    case .unreadableSlot:
      return Parts(.storeCorrupt, "A stored value is none of its attribute's type: set it anew, or restore the store from a backup.")
    case .strangeEntityOfRow(let table): return Parts(.storeCorrupt, "A row of “\(table)” has an entity that the model does not know.")
    case .strangeEntityOfObject(let id):
      return Parts(
        .storeCorrupt, "The row of the object \(id.uriString) is of another entity than what refers to it says; verify the store.",
        objectID: id)
    case .strangeLayout(let table):
      return Parts(.storeCorrupt, "The layout of the table “\(table)” in the metadata does not fit the store's model.")
    case .noJoinTable(let name):
      return Parts(.internalInconsistency, "The relationship “\(name)” has no table of its own under its name.", property: name)
    default: return nil
    }
  }
}
