public import Foundation
package import ObjectModel

extension CoreDataImportError: LocalizedError {}

extension CoreDataImportError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension CoreDataImportError.Code {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .notRecognized:
      ErrorAdvice(
        user: "This file cannot be imported.",
        developer: "Use a SQLite store of Core Data. Convert XML and binary stores with Core Data first.")
    case .modelMismatch:
      ErrorAdvice(
        user: "This file belongs to another version and cannot be imported.",
        developer: "Import with the model that the store was written with, then migrate. findings lists every difference.")
    case .ambiguousColumns:
      ErrorAdvice(
        user: "This file cannot be imported.",
        developer: "Give properties with the same name different names with Core Data, and import that store.")
    case .invalidValue:
      ErrorAdvice(
        user: "This file contains a damaged value.",
        developer: "Correct the value with Core Data, or delete the row from the file.")
    case .invalidKey:
      ErrorAdvice(user: "This file is damaged.", developer: "Correct the row with Core Data, or restore a backup of the file.")
    case .missingFile:
      ErrorAdvice(
        user: "Part of this file is missing.",
        developer: "Copy the folder of large values with the store, or set skipsMissing in the import's options.")
    case .danglingReference:
      ErrorAdvice(user: "This file is damaged.", developer: "Correct the row with Core Data, or set skipsMissing in the import's options.")
    case .differingModel:
      ErrorAdvice(
        user: "The data belongs to another version.",
        developer: "Import into a store with the old model, then migrate that store.")
    case .countMismatch:
      ErrorAdvice(
        user: "The import failed; nothing was imported.",
        developer: "Close all programs that write to the file, and import again.")
    }
  }
}
