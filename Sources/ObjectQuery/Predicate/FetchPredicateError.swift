/// The part of a request that an error refers to.
public enum FetchClause: String, Sendable, Hashable, CaseIterable {
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
  public var description: String { message(naming: \.rawValue) }

  /// Returns the message with other names for the parts of a request.
  package func message(naming name: (FetchClause) -> String) -> String {
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
      return
        "The property \(keyPath) of \(entity) is transient and not stored. Set allowsInMemoryFiltering on the request to have objects filtered by it."
    case .blockPredicate(let block):
      return
        "The block predicate \(block) is Swift code, which stores cannot evaluate. Set allowsInMemoryFiltering on the request to have objects filtered by it."
    case .inMemoryValue(let type):
      return
        "A fetch cannot compare with a \(type): no attribute has values of this type. Give a value that an attribute has, such as a rawValue, an object or an object ID, or leave the comparison out and filter the fetched objects with it."
    case .typeMismatch(let expression, let type, let other):
      return "\(expression) is of type \(type) and cannot be compared with \(other).\(Self.advice(type: type, other: other))"
    case .operatorNotSupported(let op, let expression, let type):
      // A constant is described by its type alone.
      return ["a \(type)", "an \(type)"].contains(expression)
        ? "\(op) does not apply to \(expression)." : "\(op) does not apply to \(expression), which is of type \(type)."
    case .invalidRightSide(let op, let expression, let expected): return "\(op) after \(expression) needs \(expected) on its right."
    case .unsubstitutedVariable(let variable):
      return "The variable $\(variable) has no value. Call withSubstitutionVariables(_:) with one before the predicate is used."
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
        "A \(name(.havingPredicate)) without groups is not supported here. Set \(name(.propertiesToGroupBy)), or move it to a condition on objects in predicate."
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
  /// Returns advice for two sides that cannot be compared, preceded by a space; empty without advice.
  private static func advice(type: String, other: String) -> String {
    let isText = other.hasPrefix("a string")
    return switch type {
    case "date" where isText: " Give a Date as an argument (%@) instead of its text."
    case "integer" where isText, "floating-point number" where isText, "decimal" where isText:
      " Give a number, without quotation marks, or as an argument (%d, %f, %@)."
    case "boolean" where isText: " Write true or false without quotation marks, or give a Bool as an argument (%@)."
    case "binary data" where isText: " Give Data as an argument (%@)."
    case "UUID" where isText: " Give a UUID, or its text in full, as an argument (%@)."
    case "object": " Use one of its attributes (name.attribute), or give an object or its ID as an argument (%@)."
    case "string" where other == "an integer" || other == "a floating-point number" || other == "a decimal" || other == "a boolean":
      " Put the value into quotation marks, or give a String as an argument (%@)."
    case "string", "integer", "floating-point number", "decimal", "boolean", "date":
      other.contains("which is of type") ? " Convert one side, as CAST(key, 'NSString') does." : ""
    default: ""
    }
  }
}
