public import Foundation
package import ObjectModel

extension StoreError: LocalizedError {
  /// The message: what is wrong, and where.
  public var failureReason: String? { message }
}

extension StoreError.Code {
  /// The texts of an error of this kind for the user and for the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .encryptionUnavailable:
      ErrorAdvice(
        user: "This device cannot encrypt data.",
        developer: "Link SQLCipher, and no other SQLite. The message names the problem of the linked library.")
    case .keyRequired:
      ErrorAdvice(user: "The data is locked. Enter the passphrase.", developer: "Set the description's key before the store is loaded.")
    case .invalidKey:
      ErrorAdvice(
        user: "This key is not valid.",
        developer: "Use a nonempty key, a raw key of exactly 32 bytes, or a correctly typed recovery key.")
    case .wrongKey:
      ErrorAdvice(
        user: "The passphrase or key is wrong.",
        developer: "Prompt for the key again. If a passphrase is lost, only a recovery key or another slot opens the store.")
    case .keyWorkExceeded:
      ErrorAdvice(
        user: "Opening the data would take too long.",
        developer:
          "If you trust the key file, raise keyWorkLimit to the value in the message. Otherwise add a slot with a cheaper key derivation.")
    case .keyFileMissing:
      ErrorAdvice(
        user: "A file that belongs to the data is missing.",
        developer:
          "Restore the key file from a backup; the store cannot be opened without it. If there never was one, check the URL, or open the store with its database key or SQLCipher passphrase."
      )
    case .keyFileCorrupt: ErrorAdvice(user: "A file that belongs to the data is damaged.", developer: "Restore the key file from a backup.")
    case .keyFileOutdated:
      ErrorAdvice(
        user: "The files of the data do not match each other.",
        developer: "Restore the store and its key file from the same backup.")
    case .keyProviderFailed:
      ErrorAdvice(
        user: "The key could not be obtained.",
        developer:
          "See the provider's error in underlying. The description contains only its type, because the error may contain a secret.")
    case .notEncrypted:
      ErrorAdvice(
        user: "The data is not encrypted.",
        developer:
          "Convert the database with SQLCipherStoreFile.importPlaintext(from:to:key:) or cipherdata encrypt, or open another file.")
    case .notAStore:
      ErrorAdvice(
        user: "This file does not belong to this application.",
        developer: "Check the URL: it refers to a folder, an empty file, or a database that is not a store.")
    case .unreadableStore:
      ErrorAdvice(
        user: "The data cannot be read: the key is wrong, or the file is damaged.",
        developer:
          "Check the key and the page format. If both are correct, restore a backup. Only stores with a key file can distinguish a wrong key from damage."
      )
    case .storeCorrupt:
      ErrorAdvice(
        user: "The data is damaged.",
        developer: "Verify the store, export the readable data, and restore a backup. Keep the damaged file until then.")
    case .externalDataMissing:
      ErrorAdvice(
        user: "Part of the data is missing.",
        developer: "Refresh the object; if the file is still missing, restore the folder of large values from a backup.")
    case .unsupportedFormat:
      ErrorAdvice(
        user: "The data was written by a newer version of the application.",
        developer: "Open the store with the version of the library that wrote it, or a newer one.")
    case .busy:
      ErrorAdvice(
        user: "The data is in use elsewhere. Try again.",
        developer:
          "Try again later, raise the busy timeout, or close other containers, processes and long transactions that use the store.")
    case .readOnly:
      ErrorAdvice(
        user: "The data cannot be changed here.",
        developer: "Open the store without isReadOnly, in a writable folder on a writable disk.")
    case .permissionDenied:
      ErrorAdvice(
        user: "Access to the data was refused.",
        developer: "Check the owner and mode of the store, of its accompanying files, and of its folder.")
    case .remoteChangesUnavailable:
      ErrorAdvice(
        user: "Changes made elsewhere cannot be detected.",
        developer: "Raise the system's limit of inotify watches, or disable postsRemoteChangeNotifications and merge changes explicitly.")
    case .diskFull:
      ErrorAdvice(
        user: "There is no space left on the disk.",
        developer: "Free disk space and save again. The failed save wrote nothing, and the context keeps its changes.")
    case .io:
      ErrorAdvice(
        user: "The disk could not be read or written.",
        developer: "Check the disk at the path in the error, then verify the store. The error contains SQLite's codes.")
    case .outOfMemory:
      ErrorAdvice(
        user: "There is not enough memory.",
        developer: "Use smaller batches: set a fetch batch size, save more often, or raise the process's memory limit.")
    case .storeNotFound:
      ErrorAdvice(
        user: "The data was not found.",
        developer: "Check the URL. To create a store, open it for writing in an existing folder.")
    case .alreadyExists:
      ErrorAdvice(
        user: "There is already something with this name.",
        developer: "Choose another location, remove the existing file, or close the store that is open at this URL.")
    case .modelIncompatible:
      ErrorAdvice(
        user: "The data belongs to another version of the application.",
        developer:
          "Use the model that the store was written with, or migrate the store. If another process migrated the store, close and reopen it."
      )
    case .migrationNeeded:
      ErrorAdvice(
        user: "The data is from an older version and must be updated.",
        developer:
          "Set shouldMigrateStoreAutomatically and shouldInferMappingModelAutomatically, or provide stages, and open the store for writing."
      )
    case .mappingNotInferred:
      ErrorAdvice(
        user: "The data cannot be updated.",
        developer:
          "Follow the advice of each of the error's obstacles: set a renaming identifier or a default value, or add a custom stage.")
    case .migrationConstraintViolation:
      ErrorAdvice(
        user: "The data contains duplicates that must be removed first.",
        developer: "Change or delete the duplicates before the migration or in a custom stage.")
    case .migrationFailed:
      ErrorAdvice(
        user: "The data could not be updated. It is unchanged.",
        developer: "See the cause in the description. The store is unchanged, so the migration can be retried.")
    case .storeNewerThanModel:
      ErrorAdvice(
        user: "The data was written by a newer version of the application.",
        developer: "Open the store with the newer application. The store is unchanged.")
    case .unknownModelReference:
      ErrorAdvice(
        user: "The data cannot be updated.",
        developer: "Specify each version of a stage by a model or an existing file, and add a stage that starts at the store's version.")
    case .modelChecksumMismatch:
      ErrorAdvice(
        user: "The data cannot be updated.",
        developer: "A released version of the model was changed: restore it, and make the change in a new version.")
    case .backwardMigration:
      ErrorAdvice(
        user: "The data was written by a newer version of the application.",
        developer: "Stages migrate only from older to newer versions: open the store with the newer model.")
    case .mappingModelMissing:
      ErrorAdvice(user: "The data cannot be updated.", developer: "Add a mapping model between the two versions, or a custom stage.")
    case .mappingModelInvalid:
      ErrorAdvice(
        user: "The data cannot be updated.",
        developer: "Correct the mapping model as the message says; its names must match the two models.")
    case .requiredValueMissing:
      ErrorAdvice(
        user: "The data could not be updated: values are missing.",
        developer: "Set the listed properties in the stage's handler, make them optional, or give them default values.")
    case .invalidOption:
      ErrorAdvice(
        user: "The application is configured incorrectly.",
        developer: "Correct the option in optionName. The message lists the valid options or the expected type.")
    case .unknownStoreType:
      ErrorAdvice(
        user: "The application is configured incorrectly.",
        developer: "Register a class for the store type, or use one of the types in the message.")
    case .noOpenStore:
      ErrorAdvice(
        user: "The data is not open.",
        developer: "Wait for loadPersistentStores() before the first request, retain the container, and make no requests after close().")
    case .entityNotInStore:
      ErrorAdvice(
        user: "The application is configured incorrectly.",
        developer: "Open a store whose configuration contains the entity, or do not set affectedStores.")
    case .crossStoreRelationship:
      ErrorAdvice(
        user: "The change is not possible.",
        developer: "Objects in different stores cannot be related: assign both to one store, or store the ID as a value.")
    case .objectNotFound:
      ErrorAdvice(
        user: "This was not found. It may have been deleted.",
        developer: "Fetch again. The object was deleted, no object matches the request, or the ID belongs to another store.")
    case .notUnique:
      ErrorAdvice(
        user: "There is more than one match.",
        developer: "Narrow the request, declare a uniqueness constraint in the model, or use fetchFirst(_:).")
    case .mergeConflict:
      ErrorAdvice(
        user: "This was changed elsewhere in the meantime.",
        developer: "Set the context's mergePolicy, or show both sides of mergeConflicts, refresh the objects, and save again.")
    case .constraintConflict:
      ErrorAdvice(
        user: "An item with the same value already exists.",
        developer:
          "Use another value, delete the other object, or set a mergePolicy that resolves the conflict. constraintConflicts contains the objects."
      )
    case .invalidRequest: ErrorAdvice(user: "This is not possible.", developer: "The call is invalid: correct it as the message says.")
    case .unsupported:
      ErrorAdvice(
        user: "This is not possible here.",
        developer: "This store type does not support the operation: use an encrypted store, or avoid the operation.")
    case .historyNotTracked:
      ErrorAdvice(user: "Changes are not recorded.", developer: "Set the description's historyTracking before the store is loaded.")
    case .historyTokenExpired:
      ErrorAdvice(
        user: "The history of changes does not go back far enough.",
        developer: "Fetch all objects again, and continue from the current token.")
    case .historyTokenUnknown:
      ErrorAdvice(user: "The history of changes has restarted.", developer: "Fetch all objects again, and continue from the current token.")
    case .historyTokenOfOtherStore:
      ErrorAdvice(user: "The history belongs to other data.", developer: "Save tokens per store, and use a token of a store that is open.")
    case .invalidHistoryToken:
      ErrorAdvice(
        user: "The position in the history of changes cannot be read.",
        developer: "Fetch all objects again, and continue from the current token.")
    case .historyConsumerBehind:
      ErrorAdvice(
        user: "The history of changes is still needed.",
        developer: "Let the listed consumers catch up, or remove them. If you force the deletion, they must fetch everything again.")
    case .queryGenerationExpired:
      ErrorAdvice(user: "The displayed data is out of date.", developer: "Set the context's query generation to .current, and fetch again.")
    case .queryGenerationLost:
      ErrorAdvice(
        user: "The displayed data can no longer be read.",
        developer: "Set the context's query generation to .current, and verify the store.")
    case .tooManyQueryGenerations:
      ErrorAdvice(user: "Too many views of the data are open.", developer: "Share a token among contexts, and release unused tokens.")
    case .queryGenerationOfOtherStore:
      ErrorAdvice(user: "This is not possible.", developer: "Use a token from a context of the same coordinator.")
    case .nestingTooDeep:
      ErrorAdvice(
        user: "The search is too complicated.",
        developer: "Use IN or one flat AND or OR instead of nested conditions, or split the fetch.")
    case .cancelled:
      ErrorAdvice(user: "This was canceled.", developer: "None: the application canceled the operation, and its changes were rolled back.")
    case .internalInconsistency:
      ErrorAdvice(
        user: "An internal error occurred.",
        developer: "This is a bug in the library: report the description, which contains no stored values.")
    }
  }
}
