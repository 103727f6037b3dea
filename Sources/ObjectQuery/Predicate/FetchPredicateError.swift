public import Foundation
package import ObjectModel

/// The part of a request that an error refers to.
public enum FetchClause: String, Sendable, Hashable, CaseIterable {
  /// The condition on objects.
  case predicate
  /// The properties to fetch.
  case propertiesToFetch
  /// The properties to group by.
  case propertiesToGroupBy
  /// The condition on groups.
  case havingPredicate
  /// The sort keys.
  case sortDescriptors
  /// Whether duplicate results are removed.
  case returnsDistinctResults
  /// The maximum number of results.
  case fetchLimit
  /// The number of results to skip.
  case fetchOffset
  /// The number of rows in a batch.
  case fetchBatchSize
}

/// An error in a predicate or a sort key, found before any object is read. No case contains a value.
///
/// Thrown by every operation that uses the predicate: a fetch, a count, a batch request, an evaluation in memory. Syntax errors in the
/// format language are ``PredicateFormatError``s, and are thrown when the predicate is created.
public enum FetchPredicateError: Error, Sendable, Hashable {
  /// The model has no such entity.
  case unknownEntity(name: String)
  /// A key path contains an unknown property. `suggestion` is a similar name, if there is one.
  case unknownKey(key: String, keyPath: String, entity: String, suggestion: String?)
  /// A key path continues after an attribute.
  case keyBehindAttribute(key: String, keyPath: String, attribute: String)
  /// A to-many key is used where a single value is required.
  case toManyKeyNotAllowed(key: String, keyPath: String, entity: String)
  /// ANY, ALL or NONE precedes a path without a to-many key.
  case modifierNeedsToManyKey(modifier: String, expression: String)
  /// A property is transient, which stores do not support.
  case transientKey(keyPath: String, entity: String)
  /// A condition is written in Swift, which stores do not support.
  case blockPredicate(name: String)
  /// A constant is of a type that no attribute has, so a store cannot be asked for it.
  case inMemoryValue(type: String)
  /// The two sides cannot be compared.
  case typeMismatch(expression: String, type: String, other: String)
  /// The operator does not support the type.
  case operatorNotSupported(op: String, expression: String, type: String)
  /// The right side of BETWEEN or IN has the wrong form.
  case invalidRightSide(op: String, expression: String, expected: String)
  /// A variable was not substituted.
  case unsubstitutedVariable(name: String)
  /// The model has no such fetch request template. `suggestion` is a similar name, if there is one.
  case unknownTemplate(name: String, suggestion: String?)
  /// The predicate is nested deeper than allowed.
  case nestingTooDeep(limit: Int)
  /// The pattern of MATCHES is not a valid regular expression.
  case invalidPattern(expression: String)
  /// A key is used with aggregates or groups, but may have several values in one group.
  case notGrouped(keyPath: String, clause: FetchClause)
  /// A condition on groups is used without groups.
  case havingWithoutGroups
  /// Distinct results are sorted by a value that they do not contain.
  case orderedByAnother(name: String)
  /// A limit, offset or batch size is negative.
  case negativeNumber(clause: FetchClause)
  /// An unsupported part, with advice on an alternative.
  case unsupported(part: String, advice: String)
}

extension FetchPredicateError: CustomStringConvertible {
  /// A message that contains the problem, its location, and advice.
  public var description: String { description(\.text) }

  package func description(_ words: (Remedy) -> String) -> String { description(words, naming: \.rawValue) }

  /// Returns the message with the caller's words for the remedy, and its names for the parts of a request.
  package func description(_ words: (Remedy) -> String, naming name: (FetchClause) -> String) -> String {
    let problem = problem(naming: name)
    return remedy.map { "\(problem) \(words($0))" } ?? problem
  }

  private func problem(naming name: (FetchClause) -> String) -> String {
    switch self {
    case .unknownEntity(let entity): return "The model has no entity named \(entity)."
    case .unknownKey(let key, let keyPath, let entity, let suggestion):
      let location = key == keyPath ? "" : " (in the key path \(keyPath))"
      return "The entity \(entity) has no property named \(key)\(location)." + (suggestion.map { " Did you mean \($0)?" } ?? "")
    case .keyBehindAttribute(let key, let keyPath, let attribute):
      return "The key path \(keyPath) cannot continue with \(key): \(attribute) is an attribute."
    case .toManyKeyNotAllowed(let key, let keyPath, let entity):
      let location = key == keyPath ? key : "\(key) in the key path \(keyPath)"
      return
        "The to-many relationship \(location) of \(entity) is used as a single value. Use ANY, ALL or NONE before the path, or @count after it."
    case .modifierNeedsToManyKey(let modifier, let expression):
      return "\(modifier) needs a path through a to-many relationship, which \(expression) is not. Leave \(modifier) out."
    case .transientKey(let keyPath, let entity):
      return "The property \(keyPath) of \(entity) is transient and not stored."
    case .blockPredicate(let block):
      return "The block predicate \(block) is Swift code, which stores cannot evaluate."
    case .inMemoryValue(let type):
      return
        "A fetch cannot compare with a \(type): no attribute has values of this type. Give a value that an attribute has, such as a rawValue, an object or an object ID, or leave the comparison out and filter the fetched objects with it."
    case .typeMismatch(let expression, let type, let other):
      let isConvertible = remedy == nil && Self.convertibleTypes.contains(type) && other.contains("which is of type")
      let advice = isConvertible ? " Convert one side, as CAST(key, 'NSString') does." : ""
      return "\(expression) is of type \(type) and cannot be compared with \(other).\(advice)"
    case .operatorNotSupported(let op, let expression, let type):
      // A constant is described by its type alone.
      return ["a \(type)", "an \(type)"].contains(expression)
        ? "\(op) does not apply to \(expression)." : "\(op) does not apply to \(expression), which is of type \(type)."
    case .invalidRightSide(let op, let expression, let expected): return "\(op) after \(expression) needs \(expected) on its right."
    case .unsubstitutedVariable(let variable):
      return "The variable $\(variable) has no value."
    case .unknownTemplate(let template, let suggestion):
      return "The model has no fetch request template named \(template)." + (suggestion.map { " Did you mean \($0)?" } ?? "")
    case .nestingTooDeep(let limit):
      return "The predicate is nested deeper than \(limit) levels. Join conditions in one AND or OR, or use IN."
    case .invalidPattern(let expression): return "The pattern that \(expression) must match is not a valid regular expression."
    case .notGrouped(let keyPath, let clause):
      let location = clause == .sortDescriptors ? "the order" : name(clause)
      return
        "\(keyPath) in \(location) may have several values in a group. Add it to \(name(.propertiesToGroupBy)), or take an aggregate of it, such as min(\(keyPath))."
    case .havingWithoutGroups:
      return
        "A \(name(.havingPredicate)) without groups is not supported here. Set \(name(.propertiesToGroupBy)), or move it to a condition on objects in \(name(.predicate))."
    case .orderedByAnother(let key):
      return
        "Ordering distinct results by \(key), which is not among them, is not supported here. Add it to \(name(.propertiesToFetch)), or leave \(name(.returnsDistinctResults)) out."
    case .negativeNumber(let clause):
      let meaning =
        switch clause {
        case .fetchLimit: "return all results"
        case .fetchOffset: "skip no results"
        case .fetchBatchSize: "read all rows at once"
        default: "set no bound"
        }
      return "\(name(clause)) is negative. Give a positive number, or 0 to \(meaning)."
    case .unsupported(let part, let advice): return "\(part) is not supported here. \(advice)"
    }
  }
}

extension FetchPredicateError {
  /// What to do, if the library and the tool word it differently.
  private var remedy: Remedy? {
    switch self {
    case .transientKey, .blockPredicate: .filterInMemory
    case .unsubstitutedVariable: .setVariable
    case .typeMismatch(_, let type, let other):
      switch type {
      case "date" where other.hasPrefix("a string"): .compareWithDate
      case "integer", "floating-point number", "decimal": other.hasPrefix("a string") ? .compareWithNumber : nil
      case "boolean" where other.hasPrefix("a string"): .compareWithBoolean
      case "binary data" where other.hasPrefix("a string"): .compareWithData
      case "UUID" where other.hasPrefix("a string"): .compareWithUUID
      case "object": .compareWithObject
      case "string" where ["an integer", "a floating-point number", "a decimal", "a boolean"].contains(other): .compareWithString
      default: nil
      }
    default: nil
    }
  }

  private static let convertibleTypes: Set = ["string", "integer", "floating-point number", "decimal", "boolean", "date"]
}

// MARK: - Advice

extension FetchPredicateError: LocalizedError {}

extension FetchPredicateError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    let user =
      switch self {
      case .nestingTooDeep: "The search is too complicated."
      case .invalidPattern: "This is not a valid search pattern."
      default: "This search is not possible."
      }
    return ErrorAdvice(user: user, developer: developerAdvice)
  }

  private var developerAdvice: String {
    switch self {
    case .unknownEntity: "Correct the entity's name."
    case .unknownKey: "Correct the key; the description suggests a similar name."
    case .keyBehindAttribute: "End the key path at the attribute."
    case .toManyKeyNotAllowed: "Put ANY, ALL or NONE before the path, or @count after it."
    case .modifierNeedsToManyKey: "Remove the modifier, or use a path through a to-many relationship."
    case .transientKey: "Set the request's allowsInMemoryFiltering, or store the value in an attribute."
    case .blockPredicate: "Set the request's allowsInMemoryFiltering, or write the condition as a predicate."
    case .inMemoryValue: "Use a value of an attribute's type, or filter the fetched objects with the predicate."
    case .typeMismatch: "Compare values of the same type: follow the advice in the description, or convert one side with CAST."
    case .operatorNotSupported: "Use an operator that supports the type, or convert the expression with CAST."
    case .invalidRightSide: "Use a list or a pair of bounds, as the description says."
    case .unsubstitutedVariable: "Set the variable's value with withSubstitutionVariables(_:)."
    case .unknownTemplate: "Correct the template's name."
    case .nestingTooDeep: "Use IN or one flat AND or OR instead of nested conditions."
    case .invalidPattern: "Correct the regular expression."
    case .notGrouped: "Add the property to propertiesToGroupBy, or use an aggregate of it."
    case .havingWithoutGroups: "Set propertiesToGroupBy, or move the condition to predicate."
    case .orderedByAnother: "Add the property to propertiesToFetch, or do not set returnsDistinctResults."
    case .negativeNumber: "Use 0 or a positive number."
    case .unsupported: "Follow the advice in the description."
    }
  }
}
