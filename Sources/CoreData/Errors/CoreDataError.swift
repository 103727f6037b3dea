import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// The user info key of the errors of several objects.
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// The user info key of the object that failed validation.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
/// The user info key of the property that failed validation.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"

/// The user info key of the invalid value. Never present: errors do not contain values.
public let NSValidationValueErrorKey = "NSValidationErrorValue"
/// The user info key of the violated predicate. Never present: predicates contain values.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
/// The user info key of the stores that an error affects.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
/// The user info key of the objects that an error affects.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
/// The user info key of the conflicts of a save.
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"
/// The domain of database errors.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"

/// Converts the library's errors to Core Data's: the Cocoa domain, Core Data's codes, and the original error under `NSUnderlyingErrorKey`.
enum CoreDataError {
  /// Returns the error that Core Data would throw.
  ///
  /// - Parameters:
  ///   - error: The library's error.
  ///   - object: Returns the object that failed validation.
  static func make(_ error: any Error, object: (ManagedObjectID) -> ManagedObject? = { _ in nil }) -> NSError {
    switch error {
    case let error as ValidationError: validation(error, object)
    case let error as StoreError: cocoa(error.coreDataCode ?? NSCoreDataError, error, databaseCode(of: error))
    case let error as any CodedError: cocoa(error.number, error)
    // Errors thrown by application code are passed through unchanged.
    case let error where isForeignError(error): error as NSError
    default: cocoa(NSCoreDataError, error)
    }
  }

  /// Returns whether an error's type is not one of the library's.
  private static func isForeignError(_ error: any Error) -> Bool {
    let own = [
      "CoreData", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherConnection", "SQLCipherStore", "StoreFiles",
      "StoreKeys",
    ]
    return !own.contains { String(reflecting: type(of: error)).hasPrefix("\($0).") }
  }

  /// Calls a closure and converts the errors it throws to Core Data's.
  @inline(__always) static func translating<Result>(_ work: () throws -> Result) throws -> Result {
    do { return try work() } catch { throw make(error) }
  }

  /// Returns the database's own error code, if the error has one.
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
      // An application's validation may rethrow the errors of the model's rules.
      if all.count == 1 { return all[0] }
      return cocoa(error.code.rawValue, error, [NSDetailedErrorsKey: all])
    }
    var info: [String: Any] = [:]
    if let object = error.objectID.flatMap(object) { info[NSValidationObjectErrorKey] = object }
    if let key = error.key { info[NSValidationKeyErrorKey] = key }
    return cocoa(error.code.rawValue, error, info)
  }

  /// Returns the errors of several objects and properties, flattened. Of two equivalent errors, the application's is kept.
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

/// An error of this module that has a Core Data error code.
protocol CodedError: Error {
  /// The Core Data error code.
  var number: Int { get }
}

/// The subject of a validation error. Errors with equal subjects are duplicates.
private struct ValidationFailure: Hashable {
  let code: Int
  let key: String
  let object: ObjectIdentifier

  /// - Parameter error: An error. The initializer returns nil if it does not name an object and a property.
  init?(_ error: NSError) {
    guard error.domain == NSCocoaErrorDomain, let key = error.userInfo[NSValidationKeyErrorKey] as? String,
      let object = error.userInfo[NSValidationObjectErrorKey] as? ManagedObject
    else { return nil }
    (code, self.key, self.object) = (error.code, key, ObjectIdentifier(object))
  }
}
