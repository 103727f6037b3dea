public import Foundation
package import ObjectModel

extension StoreError: LocalizedError {
  /// The message: what is wrong, and where.
  public var failureReason: String? { message }
}

extension StoreError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension StoreError.Code {
  /// The texts of an error of this kind for the user and for the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .encryptionUnavailable:
      ErrorAdvice(
        user: "This device cannot encrypt data.",
        developer:
          "Install or link SQLCipher, and only it; the message names what is wrong with the library that answers.")
    case .keyRequired:
      ErrorAdvice(
        user: "The data is locked. Enter the passphrase.",
        developer:
          "Set the description's key before the store is loaded.")
    case .invalidKey:
      ErrorAdvice(
        user: "This cannot be a key.",
        developer:
          "Give a key that is not empty, a raw key of exactly 32 bytes, or a recovery key without a typing mistake.")
    case .wrongKey:
      ErrorAdvice(
        user: "The passphrase or key is wrong.",
        developer:
          "Ask again. Where a passphrase is lost, a recovery key or another slot opens the store; nothing else does.")
    case .keyWorkExceeded:
      ErrorAdvice(
        user: "Opening the data would take unusually long.",
        developer:
          "If the key file is trusted, raise keyWorkLimit to what the message says; otherwise add a slot with a cheaper derivation.")
    case .keyFileMissing:
      ErrorAdvice(
        user: "A file that belongs to the data is missing.",
        developer:
          "Put the key file back beside the store, from a backup: without it the store cannot be opened. Where there never was one, check the URL, or open the store with its database key or SQLCipher passphrase."
      )
    case .keyFileCorrupt:
      ErrorAdvice(
        user: "A file that belongs to the data is damaged.",
        developer:
          "Restore the key file from a backup.")
    case .keyFileOutdated:
      ErrorAdvice(
        user: "Files that belong together are of different ages.",
        developer:
          "Restore the store and its key file from one and the same backup.")
    case .keyProviderFailed:
      ErrorAdvice(
        user: "The key could not be obtained.",
        developer:
          "See the provider's error in underlying; the description has only its type, since it may hold a secret.")
    case .notEncrypted:
      ErrorAdvice(
        user: "The data is not encrypted.",
        developer:
          "Make a store of the database with SQLCipherStoreFile.importPlaintext(from:to:key:) or cipherdata encrypt, or open the right file."
      )
    case .notAStore:
      ErrorAdvice(
        user: "This is no file of this application.",
        developer:
          "Check the URL: it names a folder, an empty file, or a database that no store is in.")
    case .unreadableStore:
      ErrorAdvice(
        user: "The data cannot be read: the key is wrong, or the file is damaged.",
        developer:
          "Check the key and the page format; if both are right, restore a backup. Stores with a key file tell the two apart.")
    case .storeCorrupt:
      ErrorAdvice(
        user: "The data is damaged.",
        developer:
          "Verify the store, copy out what can be read, and restore a backup. Keep the damaged file until that is done.")
    case .externalDataMissing:
      ErrorAdvice(
        user: "A part of the data is missing.",
        developer:
          "Refresh the object; if the file is still missing, restore the folder of large values from a backup.")
    case .unsupportedFormat:
      ErrorAdvice(
        user: "The data was written by a newer version of the application.",
        developer:
          "Open the store with the version of the library that wrote it, or a newer one.")
    case .busy:
      ErrorAdvice(
        user: "The data is in use elsewhere. Try again.",
        developer:
          "Try again later, raise the busy timeout, and close other containers, processes and long transactions that have the store.")
    case .readOnly:
      ErrorAdvice(
        user: "The data cannot be changed here.",
        developer:
          "Open the store for writing, in a folder and on a disk that can be written; with isReadOnly set no change can be saved.")
    case .permissionDenied:
      ErrorAdvice(
        user: "Access to the data was refused.",
        developer:
          "Check owner and mode of the store, of the files beside it and of its folder.")
    case .remoteChangesUnavailable:
      ErrorAdvice(
        user: "Changes made elsewhere cannot be noticed here.",
        developer:
          "Raise the system's limit of watches, or leave postsRemoteChangeNotifications off and merge at times of your own.")
    case .diskFull:
      ErrorAdvice(
        user: "There is no space left on the disk.",
        developer:
          "Free space and save again: nothing of the failed save was written, and the context keeps its changes.")
    case .io:
      ErrorAdvice(
        user: "The disk could not be read or written.",
        developer:
          "See SQLite's codes and the path; check the disk, then verify the store.")
    case .outOfMemory:
      ErrorAdvice(
        user: "There is not enough memory.",
        developer:
          "Work in smaller portions: fetch in batches, save more often, or raise the process's limit.")
    case .storeNotFound:
      ErrorAdvice(
        user: "The data was not found.",
        developer:
          "Check the URL. To make a store where there is none, open it for writing and let its folder exist.")
    case .alreadyExists:
      ErrorAdvice(
        user: "Something is there already.",
        developer:
          "Choose another place, or remove what is there, or close the store that is open under the same URL.")
    case .modelIncompatible:
      ErrorAdvice(
        user: "The data is of another version of the application.",
        developer:
          "Load the model that the store was written with, or one that migrates it; close and open a store that was migrated meanwhile.")
    case .migrationNeeded:
      ErrorAdvice(
        user: "The data is of an older version and has to be brought up to date.",
        developer:
          "Set shouldMigrateStoreAutomatically and shouldInferMappingModelAutomatically, or give stages, and open the store for writing.")
    case .mappingNotInferred:
      ErrorAdvice(
        user: "The data cannot be brought up to date.",
        developer:
          "Follow the advice of each of the error's obstacles: a renaming identifier, a default value, or a custom stage.")
    case .migrationConstraintViolation:
      ErrorAdvice(
        user: "The data has doubles that have to be removed first.",
        developer:
          "Change or delete the doubles before the migration, or in a custom stage.")
    case .migrationFailed:
      ErrorAdvice(
        user: "The data could not be brought up to date. It is as it was.",
        developer:
          "Read the cause in the description; the store is untouched, so the migration can be tried again.")
    case .storeNewerThanModel:
      ErrorAdvice(
        user: "The data was written by a newer version of the application.",
        developer:
          "Open it with the newer application; the store is untouched.")
    case .unknownModelReference:
      ErrorAdvice(
        user: "The data cannot be brought up to date.",
        developer:
          "Name each version in a stage by a model or a file that exists, and lead a stage from the store's version.")
    case .modelChecksumMismatch:
      ErrorAdvice(
        user: "The data cannot be brought up to date.",
        developer:
          "A released version of the model was changed: bring it back, and make the change in a new version.")
    case .backwardMigration:
      ErrorAdvice(
        user: "The data was written by a newer version of the application.",
        developer:
          "Stages lead from older to newer versions only: open the store with the newer model.")
    case .mappingModelMissing:
      ErrorAdvice(
        user: "The data cannot be brought up to date.",
        developer:
          "Add a mapping model between the two versions, or a custom stage.")
    case .mappingModelInvalid:
      ErrorAdvice(
        user: "The data cannot be brought up to date.",
        developer:
          "Correct the mapping model as the message says; its names are those of the two models.")
    case .requiredValueMissing:
      ErrorAdvice(
        user: "The data could not be brought up to date: values are missing.",
        developer:
          "Set the named properties in the stage's handler, make them optional, or give them default values.")
    case .invalidOption:
      ErrorAdvice(
        user: "The application is set up wrongly.",
        developer:
          "Correct the option that optionName names; the message has the known options or the expected type.")
    case .unknownStoreType:
      ErrorAdvice(
        user: "The application is set up wrongly.",
        developer:
          "Register the class of the store's type, or use one of the types in the message.")
    case .noOpenStore:
      ErrorAdvice(
        user: "The data is not open.",
        developer:
          "Wait for loadPersistentStores() before the first request, keep the container, and make no request after close().")
    case .entityNotInStore:
      ErrorAdvice(
        user: "The application is set up wrongly.",
        developer:
          "Open a store whose configuration has the entity, or leave affectedStores out.")
    case .crossStoreRelationship:
      ErrorAdvice(
        user: "The change is not possible.",
        developer:
          "Objects of different stores cannot refer to each other: assign both to one store, or keep an ID as a value.")
    case .objectNotFound:
      ErrorAdvice(
        user: "This is not there, or not any more.",
        developer:
          "Fetch anew; somebody has deleted the object, nothing meets the request, or the ID is one of another store.")
    case .notUnique:
      ErrorAdvice(
        user: "There are several of these.",
        developer:
          "Narrow the request, declare a uniqueness constraint in the model, or take fetchFirst(_:).")
    case .mergeConflict:
      ErrorAdvice(
        user: "This was changed elsewhere meanwhile.",
        developer:
          "Set the context's mergePolicy, or show both sides of mergeConflicts, refresh the objects, and save again.")
    case .constraintConflict:
      ErrorAdvice(
        user: "There is one like this already.",
        developer:
          "Use another value, delete the other object, or set a mergePolicy that decides; constraintConflicts has the objects.")
    case .invalidRequest:
      ErrorAdvice(
        user: "This is not possible.",
        developer:
          "A mistake in a call: correct it as the message says.")
    case .unsupported:
      ErrorAdvice(
        user: "This is not possible here.",
        developer:
          "The kind of store cannot do it: use an encrypted store, or leave it out.")
    case .historyNotTracked:
      ErrorAdvice(
        user: "The record of changes is not kept.",
        developer:
          "Set historyTracking of the description before the store is loaded.")
    case .historyTokenExpired:
      ErrorAdvice(
        user: "The record of changes does not reach back far enough.",
        developer:
          "Read all objects anew, and go on from the present token.")
    case .historyTokenUnknown:
      ErrorAdvice(
        user: "The record of changes has begun anew.",
        developer:
          "Read all objects anew, and go on from the present token.")
    case .historyTokenOfOtherStore:
      ErrorAdvice(
        user: "The record of changes is another one.",
        developer:
          "Keep tokens by store, and use one of a store that is open here.")
    case .invalidHistoryToken:
      ErrorAdvice(
        user: "The place in the record of changes cannot be read.",
        developer:
          "Read all objects anew, and go on from the present token.")
    case .historyConsumerBehind:
      ErrorAdvice(
        user: "The record of changes is still needed.",
        developer:
          "Let the named consumers read on or remove them; forcing the deletion makes them read everything anew.")
    case .queryGenerationExpired:
      ErrorAdvice(
        user: "What is shown is out of date.",
        developer:
          "Set the context to the newest state (.current), and fetch again.")
    case .queryGenerationLost:
      ErrorAdvice(
        user: "What is shown can no longer be read.",
        developer:
          "Set the context to the newest state (.current), and verify the store.")
    case .tooManyQueryGenerations:
      ErrorAdvice(
        user: "Too much is open at once.",
        developer:
          "Let contexts share a token, and let go of tokens that nobody needs.")
    case .queryGenerationOfOtherStore:
      ErrorAdvice(
        user: "This is not possible.",
        developer:
          "Take the token from a context of the same coordinator.")
    case .nestingTooDeep:
      ErrorAdvice(
        user: "The search is too complicated.",
        developer:
          "Use IN or one flat AND or OR in place of nested conditions, or split the fetch.")
    case .cancelled:
      ErrorAdvice(
        user: "This was cancelled.",
        developer:
          "Nothing: a cancellation or a progress handler of yours ended the work, and what it had begun was undone.")
    case .internalInconsistency:
      ErrorAdvice(
        user: "Something went wrong that should not be possible.",
        developer:
          "A mistake in the library: report the description, which holds no stored value.")
    }
  }
}
