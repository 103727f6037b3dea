// CoreDataError: the library's errors as those of Core Data.
import Foundation
import ObjectContext
import ObjectStore

/// The key of the errors of several objects in an error's user info.
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// The key of the object that a validation failed for in an error's user info: its ID.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
/// The key of the property that a validation failed for in an error's user info.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"

/// The key of the value that a validation failed for. It is never there: errors do not hold values.
public let NSValidationValueErrorKey = "NSValidationErrorValue"
/// The key of the condition that a validation failed for. It is never there: conditions hold values.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
/// The key of the stores that an error is about.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
/// The key of the objects that an error is about.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
/// The key of the conflicts of a save.
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"
/// The domain of a database's errors.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"

/// The library's errors as those of Core Data: in the Cocoa domain with Core Data's numbers, the error itself under `NSUnderlyingErrorKey`.
enum CoreDataError {
  static func make(_ error: any Error) -> NSError {
    switch error {
    case let error as ValidationError: validation(error)
    case let error as StoreError: cocoa(error.coreDataCode ?? NSCoreDataError, error)
    // What code of the application has thrown stays what it is.
    case let error where isOfOthers(error): error as NSError
    default: cocoa(NSCoreDataError, error)
    }
  }

  /// Whether an error's type is none of the library's.
  private static func isOfOthers(_ error: any Error) -> Bool {
    let own = [
      "CoreData", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherConnection", "SQLCipherStore", "StoreFiles",
      "StoreKeys",
    ]
    return !own.contains { String(reflecting: type(of: error)).hasPrefix("\($0).") }
  }

  /// Runs work, and turns what it throws into what Core Data would.
  @inline(__always) static func translating<Result>(_ work: () throws -> Result) throws -> Result {
    do { return try work() } catch { throw make(error) }
  }

  private static func cocoa(_ code: Int, _ error: any Error, _ more: [String: Any] = [:]) -> NSError {
    var info = more
    info[NSLocalizedDescriptionKey] = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
    info[NSUnderlyingErrorKey] = error
    return NSError(domain: NSCocoaErrorDomain, code: code, userInfo: info)
  }

  private static func validation(_ error: ValidationError) -> NSError {
    var info: [String: Any] = [:]
    if !error.errors.isEmpty { info[NSDetailedErrorsKey] = error.errors.map(validation) }
    if let objectID = error.objectID { info[NSValidationObjectErrorKey] = objectID }
    if let key = error.key { info[NSValidationKeyErrorKey] = key }
    return cocoa(error.code.rawValue, error, info)
  }
}
