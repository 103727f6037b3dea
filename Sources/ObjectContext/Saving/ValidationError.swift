// ValidationError: what a save finds wrong with objects.
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
/// A save throws all errors at once, and nothing is written. An application's own rules throw it from ``ManagedObject/validateForInsert()`` and its relatives.
public struct ValidationError: Error, Sendable, CustomStringConvertible {
  /// The kinds of errors, with Core Data's numbers.
  public enum Code: Int, Sendable, Hashable {
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
  }

  /// What is wrong, in a sentence.
  public var description: String {
    if code == .multipleErrors { return "\(reason): " + errors.map(\.description).joined(separator: "; ") }
    let place = [entityName, key].compactMap { $0 }.joined(separator: ".")
    return place.isEmpty ? reason : "\(place): \(reason)"
  }
}
