import ObjectModel

/// The functions in expressions.
package enum ResolvedFunction: String, Sendable, Hashable, CaseIterable {
  case add = "add:to:"
  case subtract = "from:subtract:"
  case multiply = "multiply:by:"
  case divide = "divide:by:"
  case modulus = "modulus:by:"
  case power = "raise:toPower:"
  case bitwiseAnd = "bitwiseAnd:with:"
  case bitwiseOr = "bitwiseOr:with:"
  case bitwiseXor = "bitwiseXor:with:"
  case leftShift = "leftshift:by:"
  case rightShift = "rightshift:by:"
  case onesComplement = "onesComplement:"
  case absolute = "abs:"
  case ceiling = "ceiling:"
  case floor = "floor:"
  case truncate = "trunc:"
  case squareRoot = "sqrt:"
  case naturalLogarithm = "ln:"
  case commonLogarithm = "log:"
  case exponential = "exp:"
  case uppercase = "uppercase:"
  case lowercase = "lowercase:"
  case canonical = "canonical:"
  case length = "length:"
  /// The distance in meters between two locations: latitude and longitude of the first, then of the second, in degrees.
  case distance = "distanceToLocation:fromLocation:"
  /// The first argument that is not missing.
  case coalesce = "coalesce:"
  /// The relevance of texts to a query. The query is the first argument; a missing text has no relevance.
  case relevance = "relevance:to:"
  /// The argument, for which stores must not use an index.
  case noIndex = "noindex:"
  /// A random number from 0 up to but not including 1, different at each call.
  case random = "random"
  /// A random integer from 0 up to but not including the argument, different at each call.
  case randomBelow = "randomn:"
  // Functions over the members of a list, ignoring missing values.
  case countOfList = "count:"
  case sumOfList = "sum:"
  case averageOfList = "average:"
  case minimumOfList = "min:"
  case maximumOfList = "max:"
  case medianOfList = "median:"
  case modeOfList = "mode:"
  case deviationOfList = "stddev:"
  // CAST of an expression that is not a literal. A value that cannot be converted becomes missing.
  case castToInteger = "CAST Int"
  case castToReal = "CAST Double"
  case castToDecimal = "CAST Decimal"
  case castToText = "CAST String"
  case castToDate = "CAST Date"
  case castToUUID = "CAST UUID"
  case castToURI = "CAST URL"
  /// The text of a UUID.
  case textOfUUID = "CAST UUID String"

  /// Creates the function for a name in the format language: case-insensitive, with or without colons, in Core Data's spelling or a shorter
  /// one.
  init?(name: String) {
    if let exact = ResolvedFunction(rawValue: name) {
      self = exact
    } else {
      let short = name.lowercased().filter { $0 != ":" }
      guard let function = ResolvedFunction.names[short] else { return nil }
      self = function
    }
    // CAST has its own syntax.
    guard !rawValue.hasPrefix("CAST") else { return nil }
  }

  private static let names: [String: ResolvedFunction] = {
    var names: [String: ResolvedFunction] = [:]
    for function in allCases { names[function.rawValue.lowercased().filter { $0 != ":" }] = function }
    let more: [String: ResolvedFunction] = [
      "add": .add, "subtract": .subtract, "multiply": .multiply, "divide": .divide, "modulus": .modulus, "mod": .modulus, "power": .power,
      "pow": .power, "bitwiseand": .bitwiseAnd, "bitwiseor": .bitwiseOr, "bitwisexor": .bitwiseXor, "leftshift": .leftShift,
      "rightshift": .rightShift, "ceil": .ceiling, "distance": .distance, "avg": .averageOfList, "minimum": .minimumOfList,
      "maximum": .maximumOfList, "relevance": .relevance,
    ]
    return names.merging(more) { first, _ in first }
  }()

  /// The names of functions without colons, the usual ones first.
  static let shortNames: [String] =
    allCases.map(\.rawValue).filter { !$0.contains(" ") }.map { $0.filter { $0 != ":" } } + names.keys.sorted()

  /// The aggregate that the function computes over a list; nil for other functions.
  package var listFunction: ResolvedAggregate.Function? {
    switch self {
    case .countOfList: .count
    case .sumOfList: .sum
    case .averageOfList: .average
    case .minimumOfList: .minimum
    case .maximumOfList: .maximum
    case .medianOfList: .median
    case .modeOfList: .mode
    case .deviationOfList: .standardDeviation
    default: nil
    }
  }

  /// Whether the function has a result even if an argument is missing.
  package var takesMissingValues: Bool { self == .coalesce || self == .relevance || listFunction != nil }

  /// Whether calls with equal arguments can have different results.
  package var isRandom: Bool { self == .random || self == .randomBelow }

  /// The number of arguments; nil for one or more.
  package var argumentCount: Int? {
    switch self {
    case .add, .subtract, .multiply, .divide, .modulus, .power, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift: 2
    case .distance: 4
    case .random: 0
    case .coalesce, .relevance: nil
    default: listFunction == nil ? 1 : nil
    }
  }

  /// Returns the type of the result for argument types; nil if the function does not support them.
  func type(of types: [ResolvedType]) -> ResolvedType? {
    switch self {
    case .add, .subtract, .multiply, .divide:
      if types[0] == .date, self == .subtract, types[1] == .date { return .real }
      if types[0] == .date, self == .add || self == .subtract, types[1].isNumeric, types[1] != .decimal { return .date }
      guard types.allSatisfy(\.isNumeric) else { return nil }
      if types.contains(.real) { return .real }
      return types.contains(.decimal) ? .decimal : .integer
    case .modulus, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement, .randomBelow:
      return types.allSatisfy { $0 == .integer || $0 == .boolean } ? .integer : nil
    case .power, .squareRoot, .naturalLogarithm, .commonLogarithm, .exponential, .distance:
      return types.allSatisfy(\.isNumeric) ? .real : nil
    case .random, .relevance: return .real
    case .absolute, .ceiling, .floor, .truncate:
      guard types[0].isNumeric else { return nil }
      return types[0] == .boolean ? .integer : types[0]
    case .uppercase, .lowercase, .canonical: return types[0] == .text || types[0] == .uri ? .text : nil
    case .length: return types[0] == .text || types[0] == .uri ? .integer : nil
    case .noIndex, .coalesce: return types.first
    case .countOfList, .sumOfList, .averageOfList, .minimumOfList, .maximumOfList, .medianOfList, .modeOfList, .deviationOfList:
      // The arguments already have one common type.
      guard let function = listFunction, let type = types.first, function.accepts(type) else { return nil }
      return function.type(of: type)
    case .castToInteger: return types[0].isNumeric || types[0] == .text ? .integer : nil
    case .castToReal: return types[0].isNumeric || [.text, .date].contains(types[0]) ? .real : nil
    case .castToDecimal: return types[0].isNumeric || types[0] == .text ? .decimal : nil
    case .castToText: return types[0].isNumeric || [.text, .uri].contains(types[0]) ? .text : nil
    case .textOfUUID: return types[0] == .uuid ? .text : nil
    case .castToDate: return types[0].isNumeric || [.text, .date].contains(types[0]) ? .date : nil
    case .castToUUID: return types[0] == .text || types[0] == .uuid ? .uuid : nil
    case .castToURI: return types[0] == .text || types[0] == .uri ? .uri : nil
    }
  }
}
