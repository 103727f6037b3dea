// ValidationError: what a save finds wrong with objects.
import Foundation
public import ObjectModel

/// What validation found wrong with an object, or, with ``Code/multipleErrors``, with several.
///
/// ```swift
/// do {
///   try context.save()
/// } catch let error as ValidationError {
///   for problem in error.errors.isEmpty ? [error] : error.errors { print(problem.key ?? "", problem.reason) }
/// }
/// ```
///
/// A save throws all errors at once, and nothing is written. An application's own rules throw it from ``ManagedObject/validateForInsert()`` and its relatives;
/// an error of another type that they throw is listed with the others, see ``underlying``.
public struct ValidationError: Error, Sendable, CustomStringConvertible {
  /// The kinds of errors, with Core Data's numbers.
  public enum Code: Int, Sendable, Hashable, CaseIterable {
    /// A rule of the application's own.
    case custom = 1550
    /// Several errors; see ``ValidationError/errors``.
    case multipleErrors = 1560
    /// A required property has no value.
    case missingValue = 1570
    /// A relationship has too few objects.
    case tooFewObjects = 1580
    /// A relationship has too many objects.
    case tooManyObjects = 1590
    /// An object cannot be deleted while others refer to it.
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

  /// The kind.
  public let code: Code
  /// The object.
  public let objectID: ManagedObjectID?
  /// The entity's name.
  public let entityName: String?
  /// The property.
  public let key: String?
  /// What is wrong and what to do. Never holds the value.
  public let reason: String
  /// All errors, for ``Code/multipleErrors``; else empty.
  public let errors: [ValidationError]
  /// What is said in place of the code's advice, for an error of the library without a code of its own.
  private(set) var ownAdvice: ErrorAdvice?
  /// The error that a rule of the application threw, where that is of another type; nil for all other errors.
  ///
  /// A save that finds nothing else wrong throws that error itself.
  public let underlying: (any Error)?

  /// Makes an error, as of a rule of the application's own.
  ///
  /// - Parameters:
  ///   - code: What is wrong.
  ///   - object: The object; nil where the rule is of none.
  ///   - key: The property's name; nil where the rule is of several.
  ///   - reason: A sentence that says what is wrong.
  public init(_ code: Code = .custom, object: ManagedObject? = nil, key: String? = nil, reason: String) {
    self.code = code
    objectID = object?.objectID
    entityName = object?.entity.name
    self.key = key
    self.reason = reason
    errors = []
    underlying = nil
  }

  /// Makes an error of what a rule of the application threw.
  init(_ error: any Error, of object: ManagedObject) {
    code = .custom
    objectID = object.objectID
    entityName = object.entity.name
    key = nil
    reason = error is any LocalizedError || type(of: error) is NSError.Type ? error.localizedDescription : "\(error)"
    errors = []
    underlying = error
  }

  /// Makes an error of the model's rules for which Core Data has no number.
  init(of object: ManagedObject, _ key: String, _ reason: String, _ advice: ErrorAdvice) {
    self.init(object: object, key: key, reason: reason)
    ownAdvice = advice
  }

  /// Gathers several errors; one stays itself.
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

  /// What is wrong, in a sentence.
  public var description: String {
    if code == .multipleErrors { return "\(reason): " + Self.grouped(errors) }
    let place = [entityName, key].compactMap { $0 }.joined(separator: ".")
    return place.isEmpty ? reason : "\(place): \(reason)"
  }

  /// Each sentence once, with the number of objects that it is said of and some of these; at most 50 sentences.
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

  /// What an application may tell its user.
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
