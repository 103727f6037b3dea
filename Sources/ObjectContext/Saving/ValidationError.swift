import Foundation
public import ObjectModel

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
