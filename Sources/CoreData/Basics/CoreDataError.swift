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

/// Several objects cannot be saved: the errors are under ``NSDetailedErrorsKey``.
public var NSValidationMultipleErrorsError: Int { 1560 }
/// A required value is missing.
public var NSValidationMissingMandatoryPropertyError: Int { 1570 }
/// A delete rule denies a deletion.
public var NSValidationRelationshipDeniedDeleteError: Int { 1600 }
/// A row was changed by others.
public var NSManagedObjectMergeError: Int { 133_020 }
/// A unique value is taken.
public var NSManagedObjectConstraintMergeError: Int { 133_021 }
/// The row of an object is gone.
public var NSManagedObjectReferentialIntegrityError: Int { 133_000 }
/// The store was made with another model.
public var NSPersistentStoreIncompatibleVersionHashError: Int { 134_100 }
/// The store cannot be opened.
public var NSPersistentStoreOpenError: Int { 134_080 }
/// Something is wrong that has no number of its own.
public var NSCoreDataError: Int { 134_060 }

/// The library's errors as those of Core Data: in the Cocoa domain with Core Data's numbers, the error itself under `NSUnderlyingErrorKey`.
enum CoreDataError {
  static func make(_ error: any Error) -> NSError {
    switch error {
    case let error as ValidationError: validation(error)
    case let error as StoreError: cocoa(error.coreDataCode ?? NSCoreDataError, error)
    case let error where type(of: error) == NSError.self: error as NSError
    default: cocoa(NSCoreDataError, error)
    }
  }

  /// Runs work, and turns what it throws into what Core Data would.
  static func translating<Result>(_ work: () throws -> Result) throws -> Result {
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
