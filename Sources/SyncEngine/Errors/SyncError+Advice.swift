public import Foundation
package import ObjectModel

extension SyncError: LocalizedError {}

extension SyncError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension SyncError.Code {
  /// The texts of an error of this kind for the user and for the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .unsupportedStore:
      ErrorAdvice(
        user: "These data cannot be synchronized.",
        developer: "Synchronize stores of the type sqlcipher, and set cloudOptions before the stores are loaded.")
    case .unsupportedModel:
      ErrorAdvice(
        user: "These data cannot be synchronized.",
        developer: "Change the parts of the model that the obstacles name, or keep the store on the device.")
    case .notSynchronized:
      ErrorAdvice(
        user: "These data are not synchronized yet.", developer: "Create an account, or join one.")
    case .alreadySynchronized:
      ErrorAdvice(user: "These data are synchronized already.", developer: "Leave the account first.")
    case .notRestorable:
      ErrorAdvice(
        user: "The former values cannot be restored.",
        developer: "Read the message: the entry is gone, was restored already, or the object or one that it requires was deleted.")
    case .hubExists:
      ErrorAdvice(
        user: "These data are synchronized already.",
        developer: "Use the path of the existing hub. To replace a hub that is damaged, move its files away first.")
    case .historyMissing, .neededBySynchronization:
      ErrorAdvice(
        user: "Synchronization was interrupted. Switch it off and on again.",
        developer: "Do not disable the history or the stable IDs of a synchronized store. Leave the account, and join it again.")
    case .importHandlerFailed:
      ErrorAdvice(
        user: "Changes of other devices could not be added. Update this app.",
        developer: "Correct the cause, which underlying says, in the import handler. The same import is passed to it again.")
    case .mergeFailed:
      ErrorAdvice(
        user: "Changes of several devices could not be merged. The last one remains.",
        developer: "Register the function with SyncMergeFunctions before the store is opened, and correct it if it fails or depends on the "
          + "order of its arguments.")
    case .assetMissing:
      ErrorAdvice(
        user: "A file is not on this device yet. Try again when you are connected.",
        developer: "Other attributes of the object can be used. Load the value again later, or use another asset policy.")
    case .noCloudStore:
      ErrorAdvice(
        user: "These data are not synchronized.", developer: "Set cloudOptions of one store description before loading the stores.")
    case .busy:
      ErrorAdvice(
        user: "Synchronization is busy. Try again later.",
        developer: "Another process synchronizes the store, or other devices push all the time. Try again.")
    case .differentModel:
      ErrorAdvice(
        user: "These data belong to another app or to other data, and cannot be synchronized with this account.",
        developer: "Join with a store of the same model or of another version of it, or create an account for this store.")
    case .modelTooOld:
      ErrorAdvice(
        user: "Update this app to continue synchronization. Your changes are kept on this device, and sent then.",
        developer: "Ship a version whose model has at least the required identifier, or require an earlier one from a device that has it.")
    case .joinRefused:
      ErrorAdvice(
        user: "The other device has not admitted this one. Compare the codes, and try again.",
        developer: "Request again, and compare the new codes. The message says whether the user or the hub has ended the request.")
    case .joinRequestExpired:
      ErrorAdvice(
        user: "The request has expired. Try again.", developer: "Request again, and approve the new request on a device of the account.")
    case .accountNotFound:
      ErrorAdvice(
        user: "The account was not found. Check the recovery key, or whether the first device has been synchronized.",
        developer: "The message says whether the key, the ID of the account or the hub does not fit.")
    case .wrongRecoveryKey:
      ErrorAdvice(
        user: "The recovery key is wrong. Compare it with the one that you have written down.",
        developer: "Ask for the key again. The message says which group of characters is mistyped, if that is known.")
    case .hubUnavailable:
      ErrorAdvice(
        user: "The other devices cannot be reached at the moment. Your changes are kept, and sent later.",
        developer: "Nothing is lost. Synchronization continues when the cause, which underlying says, is gone.")
    case .hubUnreadable:
      ErrorAdvice(
        user: "Synchronization has stopped. Update this app, or ask the operator of the server.",
        developer: "Restore the hub from a backup, use its key, or update this program. Devices send again what a restored hub lacks.")
    case .leaseUnavailable:
      ErrorAdvice(
        user: "Synchronization cannot begin.", developer: "Make the folder of the store writable; its file with the suffix -sync is locked."
      )
    case .damagedState:
      ErrorAdvice(
        user: "Synchronization has stopped. Switch it off and on again.",
        developer: "Objects are not affected. Leave the account and join it again.")
    case .transactionEnded:
      ErrorAdvice(user: "Something went wrong. Try again.", developer: "A fault of this library: report it with the message.")
    }
  }
}
