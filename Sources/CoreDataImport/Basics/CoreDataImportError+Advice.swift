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
        developer:
          "Give a SQLite store of Core Data; convert XML and binary stores with Core Data first.")
    case .modelMismatch:
      ErrorAdvice(
        user: "This file is of another version and cannot be imported.",
        developer:
          "Import with the model that the store was written with, and migrate after that; findings has every difference.")
    case .ambiguousColumns:
      ErrorAdvice(
        user: "This file cannot be imported.",
        developer:
          "Rename the properties of one name apart with Core Data, and import that store.")
    case .invalidValue:
      ErrorAdvice(
        user: "This file has a damaged value.",
        developer:
          "Correct the value with Core Data, or leave the row out of the file.")
    case .invalidKey:
      ErrorAdvice(
        user: "This file is damaged.",
        developer:
          "Correct the row with Core Data, or restore a backup of the file.")
    case .missingFile:
      ErrorAdvice(
        user: "A part of this file is missing.",
        developer:
          "Copy the folder of large values with the store, or set skipsMissing in the import's options.")
    case .danglingReference:
      ErrorAdvice(
        user: "This file is damaged.",
        developer:
          "Correct the row with Core Data, or set skipsMissing in the import's options.")
    case .differingModel:
      ErrorAdvice(
        user: "The data is of another version.",
        developer:
          "Import into a store of the old model, then migrate that.")
    case .countMismatch:
      ErrorAdvice(
        user: "The import failed; nothing was imported.",
        developer:
          "Close all that writes to the file, and import again.")
    }
  }
}
