public import Foundation
public import ObjectModel
import ObjectStore

/// A validation failure of an object, or, with ``Code/multipleErrors``, several failures.
///
/// ```swift
/// do {
///   try context.save()
/// } catch let error as ValidationError {
///   for problem in error.errors.isEmpty ? [error] : error.errors { print(problem.key ?? "", problem.reason) }
/// }
/// ```
///
/// A save throws all errors at once and writes nothing. Custom rules throw this error from ``ManagedObject/validateForInsert()`` and
/// related methods. If they throw an error of another type, it is listed with the others; see ``underlying``.
public struct ValidationError: Error, Sendable, CustomStringConvertible {
  /// The kind of a validation error, with Core Data's error code as its raw value.
  public enum Code: Int, Sendable, Hashable, CaseIterable {
    /// A violation of a custom rule.
    case custom = 1550
    /// Several errors; see ``ValidationError/errors``.
    case multipleErrors = 1560
    /// A required property has no value.
    case missingValue = 1570
    /// A relationship has too few objects.
    case tooFewObjects = 1580
    /// A relationship has too many objects.
    case tooManyObjects = 1590
    /// An object cannot be deleted while a relationship with the delete rule `deny` refers to another object.
    case deletionDenied = 1600
    /// A number is too large.
    case numberTooLarge = 1610
    /// A number is too small.
    case numberTooSmall = 1620
    /// A date is too late.
    case dateTooLate = 1630
    /// A date is too early.
    case dateTooSoon = 1640
    /// A value is not a date.
    case invalidDate = 1650
    /// A string is too long.
    case stringTooLong = 1660
    /// A string is too short.
    case stringTooShort = 1670
    /// A string does not match the pattern.
    case patternMismatch = 1680
    /// A value is not a URI.
    case invalidURI = 1690
  }

  /// The kind of the error.
  public let code: Code
  /// The ID of the invalid object.
  public let objectID: ManagedObjectID?
  /// The name of the object's entity.
  public let entityName: String?
  /// The name of the invalid property.
  public let key: String?
  /// A message that says what is wrong and what to do. Never contains the value.
  public let reason: String
  /// The individual errors of ``Code/multipleErrors``; empty for other codes.
  public let errors: [ValidationError]
  /// The advice for an error of the library without its own code; replaces the code's advice.
  private(set) var ownAdvice: ErrorAdvice?
  /// The error that a custom rule threw, if it is of another type; nil otherwise.
  ///
  /// If it is the only error of a save, the save throws it directly.
  public let underlying: (any Error)?

  /// Creates an error, for example of a custom rule.
  ///
  /// - Parameters:
  ///   - code: The kind of the error.
  ///   - object: The invalid object; nil if the rule does not concern a single object.
  ///   - key: The property's name; nil if the rule concerns several properties.
  ///   - reason: A message that says what is wrong.
  public init(_ code: Code = .custom, object: ManagedObject? = nil, key: String? = nil, reason: String) {
    self.code = code
    objectID = object?.objectID
    entityName = object?.entity.name
    self.key = key
    self.reason = reason
    errors = []
    underlying = nil
  }

  init(_ error: any Error, of object: ManagedObject) {
    code = .custom
    objectID = object.objectID
    entityName = object.entity.name
    key = nil
    reason = error is any LocalizedError || type(of: error) is NSError.Type ? error.localizedDescription : "\(error)"
    errors = []
    underlying = error
  }

  /// Creates an error of the model's rules that has no Core Data error code.
  init(of object: ManagedObject, _ key: String, _ reason: String, _ advice: ErrorAdvice) {
    self.init(object: object, key: key, reason: reason)
    ownAdvice = advice
  }

  /// Combines several errors. A single error stays unchanged.
  init(_ errors: [ValidationError]) {
    if errors.count == 1 {
      self = errors[0]
      return
    }
    code = .multipleErrors
    objectID = nil
    entityName = nil
    key = nil
    reason = "\(errors.count) errors"
    self.errors = errors
    underlying = nil
  }

  /// A message that says what is wrong.
  public var description: String {
    if code == .multipleErrors { return "\(reason): " + Self.grouped(errors) }
    let location = [entityName, key].compactMap { $0 }.joined(separator: ".")
    return location.isEmpty ? reason : "\(location): \(reason)"
  }

  /// Returns up to 50 distinct messages, each with the number of objects and up to three examples.
  private static func grouped(_ errors: [ValidationError]) -> String {
    var order: [String] = []
    var objects: [String: (count: Int, examples: [ManagedObjectID])] = [:]
    for error in errors {
      let text = error.description
      if objects[text] == nil { order.append(text) }
      objects[text, default: (0, [])].count += 1
      if let id = error.objectID, objects[text, default: (0, [])].examples.count < 3 { objects[text]?.examples.append(id) }
    }
    let lines = order.prefix(50).map { text in
      guard let found = objects[text], found.count > 1 else { return text }
      let examples = found.examples.map(\.uriString).joined(separator: ", ")
      return "\(text) (\(found.count) objects\(examples.isEmpty ? "" : ", such as \(examples)"))"
    }
    return lines.joined(separator: "; ") + (order.count > 50 ? "; and \(order.count - 50) more" : "")
  }

  /// A message for the user of an application.
  package var userText: String {
    switch code {
    case .custom:
      guard let key, let ownAdvice else { return reason }
      return "\(key): \(ownAdvice.user)"
    case .multipleErrors:
      var texts: [String] = []
      for text in errors.lazy.map(\.userText) where !texts.contains(text) {
        if texts.count == 3 { return texts.joined(separator: " ") + " And more." }
        texts.append(text)
      }
      return texts.isEmpty ? code.advice.user : texts.joined(separator: " ")
    default:
      guard let key else { return code.advice.user }
      return "\(key): \(code.advice.user)"
    }
  }
}

// MARK: - Advice

extension ValidationError: LocalizedError {
  /// A message for the user of an application, without file names and stored values.
  public var errorDescription: String? { userText }
}

extension ValidationError: AdvisedError {
  package var advice: ErrorAdvice { ownAdvice ?? code.advice }
}

extension ValidationError.Code {
  /// The messages for the user and the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .custom: ErrorAdvice(user: "This is not allowed.", developer: "Show the reason, which the application provides.")
    case .multipleErrors:
      ErrorAdvice(user: "Several problems must be corrected.", developer: "See errors, which lists each problem with its object and key.")
    case .missingValue:
      ErrorAdvice(
        user: "A required value is missing.",
        developer: "Set the property, give it a default value in the model, or make it optional.")
    case .tooFewObjects:
      ErrorAdvice(user: "A required item is missing.", developer: "Add objects to the relationship, or lower its minimum in the model.")
    case .tooManyObjects:
      ErrorAdvice(user: "There are too many items.", developer: "Remove objects from the relationship, or raise its maximum in the model.")
    case .deletionDenied:
      ErrorAdvice(
        user: "This is still in use and cannot be deleted.",
        developer: "Remove or delete the objects that refer to it first, or change the delete rule.")
    case .numberTooLarge: ErrorAdvice(user: "A number is too large.", developer: "Correct the value, or raise the maximum in the model.")
    case .numberTooSmall: ErrorAdvice(user: "A number is too small.", developer: "Correct the value, or lower the minimum in the model.")
    case .dateTooLate: ErrorAdvice(user: "A date is too late.", developer: "Correct the value, or raise the maximum in the model.")
    case .dateTooSoon: ErrorAdvice(user: "A date is too early.", developer: "Correct the value, or lower the minimum in the model.")
    case .invalidDate: ErrorAdvice(user: "This is not a valid date.", developer: "Use a date with a finite number of seconds.")
    case .stringTooLong:
      ErrorAdvice(user: "The text is too long.", developer: "Shorten the value, or raise the maximum length in the model.")
    case .stringTooShort:
      ErrorAdvice(user: "The text is too short.", developer: "Lengthen the value, or lower the minimum length in the model.")
    case .patternMismatch:
      ErrorAdvice(
        user: "The text does not have the expected format.",
        developer: "Correct the value, or the regular expression in the model.")
    case .invalidURI: ErrorAdvice(user: "This is not a valid address.", developer: "Use a URL that has a text representation.")
    }
  }
}

struct ValidationErrorCollector {
  private(set) var errors: [ValidationError]

  init(_ errors: [ValidationError] = []) { self.errors = errors }

  /// Adds an error thrown by the validation of an object.
  ///
  /// - Throws: The error if it is not a validation failure: a store error, a wrong key, a cancellation.
  mutating func add(_ error: any Error, of object: ManagedObject) throws {
    switch error {
    case let error as ValidationError: errors += error.code == .multipleErrors ? error.errors : [error]
    case is StoreError, is KeyValueError, is CancellationError: throw error
    default: errors.append(ValidationError(error, of: object))
    }
  }

  /// Throws the collected errors. A single error of the application is thrown unchanged.
  func check() throws {
    if errors.isEmpty { return }
    if errors.count == 1, let underlying = errors[0].underlying { throw underlying }
    throw ValidationError(errors)
  }
}
