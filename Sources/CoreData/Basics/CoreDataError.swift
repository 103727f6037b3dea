// CoreDataError: the library's errors as those of Core Data.
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// The key of the errors of several objects in an error's user info.
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// The key of the object that a validation failed for in an error's user info.
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
  /// Makes the error that Core Data would throw.
  ///
  /// - Parameters:
  ///   - error: The library's error.
  ///   - object: Finds the object that a validation failed for.
  static func make(_ error: any Error, object: (ManagedObjectID) -> ManagedObject? = { _ in nil }) -> NSError {
    switch error {
    case let error as ValidationError: validation(error, object)
    case let error as StoreError: cocoa(error.coreDataCode ?? NSCoreDataError, error, databaseCode(of: error))
    case let error as any NumberedError: cocoa(error.number, error)
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

  /// The database's own code, where an error has one.
  private static func databaseCode(of error: StoreError) -> [String: Any] {
    (error.sqliteExtendedCode ?? error.sqliteCode).map { [NSSQLiteErrorDomain: NSNumber(value: $0)] } ?? [:]
  }

  private static func cocoa(_ code: Int, _ error: any Error, _ more: [String: Any] = [:]) -> NSError {
    var info = more
    info[NSLocalizedDescriptionKey] = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
    info[NSUnderlyingErrorKey] = error
    return NSError(domain: NSCocoaErrorDomain, code: code, userInfo: info)
  }

  private static func validation(_ error: ValidationError, _ object: (ManagedObjectID) -> ManagedObject?) -> NSError {
    if error.code == .multipleErrors {
      let all = listed(error.errors, object)
      // A rule of the application may have thrown again what the model's rules find.
      if all.count == 1 { return all[0] }
      return cocoa(error.code.rawValue, error, [NSDetailedErrorsKey: all])
    }
    var info: [String: Any] = [:]
    if let object = error.objectID.flatMap(object) { info[NSValidationObjectErrorKey] = object }
    if let key = error.key { info[NSValidationKeyErrorKey] = key }
    return cocoa(error.code.rawValue, error, info)
  }

  /// Errors of several objects and properties, none of them a list itself. Of two that say the same, the application's is listed.
  private static func listed(_ errors: [ValidationError], _ object: (ManagedObjectID) -> ManagedObject?) -> [NSError] {
    var listed: [NSError] = []
    var places: [ValidationFailure: Int] = [:]
    for error in errors {
      let made = error.underlying.map { $0 as NSError } ?? validation(error, object)
      for single in made.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [made] {
        guard let failure = ValidationFailure(single) else {
          listed.append(single)
          continue
        }
        if let place = places[failure] {
          if error.underlying != nil { listed[place] = single }
        } else {
          places[failure] = listed.count
          listed.append(single)
        }
      }
    }
    return listed
  }
}

/// An error of this module for which Core Data has a number.
protocol NumberedError: Error {
  /// Core Data's number.
  var number: Int { get }
}

/// What an error of validation is about: two with the same one are the same error.
private struct ValidationFailure: Hashable {
  let code: Int
  let key: String
  let object: ObjectIdentifier

  /// - Parameter error: An error; nil where it does not name an object and a property.
  init?(_ error: NSError) {
    guard error.domain == NSCocoaErrorDomain, let key = error.userInfo[NSValidationKeyErrorKey] as? String,
      let object = error.userInfo[NSValidationObjectErrorKey] as? ManagedObject
    else { return nil }
    (code, self.key, self.object) = (error.code, key, ObjectIdentifier(object))
  }
}
