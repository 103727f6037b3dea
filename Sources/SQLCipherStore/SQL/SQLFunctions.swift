import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// The functions and collations that generated SQL calls.
///
/// They run the code of the in-memory evaluator on SQLite's values. Most functions return NULL if an argument is NULL.
enum SQLFunctions {
  static let fold = "cd_fold"
  static let begins = "cd_begins"
  static let ends = "cd_ends"
  static let contains = "cd_contains"
  static let like = "cd_like"
  static let matches = "cd_matches"
  static let search = "cd_search"
  private static let relevance = "cd_relevance"
  static let compareLocalized = "cd_compare_localized"
  static let compareNumbers = "cd_compare_numbers"
  static let random = "cd_random"
  /// The table-valued function that returns the members of a list.
  static let list = "cd_list"
  /// Converts a computed value to the form in which an attribute of a type stores it.
  static let fit = "cd_fit"
  /// Returns the bytes of a column, whether they are in the row or in a file.
  static let data = "cd_data"
  /// Writes a large value to a file and returns the file's number; returns other values unchanged. Used in statements that store values.
  static let keep = "cd_keep"
  /// Called by triggers with the identity of a derived attribute, a position in its path, and the key of the row at that position.
  static let derive = "cd_derive"
  /// `assign(entity, slot, value)` converts a value to the slot's type. The statement fails if the slot cannot have the value.
  static let assign = "cd_assign"
  /// `isChosen(number, key)` returns whether one of the sets of rows of the current batch request contains a key.
  static let isChosen = "cd_is_chosen"
  /// Converts a value to a form that is different from all values of attributes, and back. A batch update parks new unique values until all
  /// rows have given up their former ones.
  static let park = "cd_park"
  static let unpark = "cd_unpark"
  private static let apply = "cd_apply"
  private static let integerSum = "cd_integer_sum"
  private static let integerAverage = "cd_integer_average"
  /// The name of `fold` in indexes. It contains a version, since an index is valid only as long as folding gives the same results.
  static let foldIndexed = "\(fold)_\(TextFolding.version)"

  /// The name by which indexes call functions of expressions.
  static let indexed = "\(indexedPrefix)\(ExpressionFunctions.version)"
  static let indexedPrefix = "cd_indexed_"
  /// The name of the function that full-text indexes use to split a text into words.
  static let words = "\(wordsPrefix)\(TextWords.version)"
  static let wordsPrefix = "cd_words_"

  private static let functions = ResolvedFunction.allCases

  /// Returns the text of a call of an expression function, up to its first argument.
  static func applyCall(_ function: ResolvedFunction, _ type: ResolvedType) -> String {
    if function == .relevance { return "\(relevance)(" }
    return "\(apply)(\(functions.firstIndex(of: function) ?? 0), \(kind(of: type)), "
  }

  /// Returns an aggregate over the rows of a group. Without rows the result is NULL, except that a count is 0.
  ///
  /// - Parameters:
  ///   - value: The value of each row. Rows without a value are skipped.
  ///   - type: The type of the values.
  ///   - isColumn: Whether the value is a column, or as cheap to read. If so, SQLite's own `sum` adds integers.
  ///   - isDistinct: Whether equal values count once.
  ///   - sums: How integers are added.
  static func aggregate(
    _ function: ResolvedAggregate.Function, _ value: SQLFragment, _ type: ResolvedType, isColumn: Bool, isDistinct: Bool = false,
    sums: IntegerSums = .exact
  ) -> SQLFragment {
    let values: SQLFragment = isDistinct ? "DISTINCT \(value)" : value
    switch function {
    case .count: return "count(\(values))"
    case .minimum: return "min(\(value))"
    case .maximum: return "max(\(value))"
    case .sum, .average:
      guard type == .integer || type == .boolean, isColumn, !isDistinct else { break }
      return integerAggregate(function, integerParts(function, value, sums), sums)
    case .median, .mode, .standardDeviation, .only: break
    }
    if returnsEmptyResult(function, type) { return "\(realSum)(\(values))" }
    return "\(statisticName(function))(\(values))"
  }

  /// Whether the aggregate itself returns the result for no values. Its NULL then represents a sum that is not a number, which must not be
  /// replaced by 0.
  static func returnsEmptyResult(_ function: ResolvedAggregate.Function, _ type: ResolvedType) -> Bool { function == .sum && type == .real }

  /// How integers are added.
  enum IntegerSums: Sendable {
    /// The upper and the lower halves of integers are added separately: these sums cannot overflow, and SQLite's own `sum` is the fastest.
    case exact
    /// Whole integers are added. SQLite reports an error for a sum beyond 64 bits, see `StoreAccessError.isOfIntegerOverflow`.
    case whole
  }

  /// Returns the aggregates from which a sum or average of integers is computed.
  static func integerParts(_ function: ResolvedAggregate.Function, _ value: SQLFragment, _ sums: IntegerSums) -> [SQLFragment] {
    switch sums {
    case .exact: ["sum(\(value) >> 32)", "sum(\(value) & 4294967295)", "count(\(value))"]
    case .whole: function == .sum ? ["sum(\(value))"] : ["sum(\(value))", "count(\(value))"]
    }
  }

  /// Returns a sum or average computed from its parts.
  static func integerAggregate(_ function: ResolvedAggregate.Function, _ parts: [SQLFragment], _ sums: IntegerSums) -> SQLFragment {
    switch (sums, function) {
    case (.whole, .sum): parts[0]
    case (.whole, _): "\(integerAverage)(\(parts[0]) >> 32, \(parts[0]) & 4294967295, \(parts[1]))"
    case (.exact, _): "\(function == .sum ? integerSum : integerAverage)(\(SQLFragment.joined(parts, by: ", ")))"
    }
  }

  private static let realSum = "cd_realSum"

  /// Spelled out, since printing an enum case makes the runtime search the conformances of every library, at each opening of a store.
  private static func statisticName(_ function: ResolvedAggregate.Function) -> String {
    switch function {
    case .count: "cd_count"
    case .minimum: "cd_minimum"
    case .maximum: "cd_maximum"
    case .sum: "cd_sum"
    case .average: "cd_average"
    case .median: "cd_median"
    case .mode: "cd_mode"
    case .standardDeviation: "cd_standardDeviation"
    case .only: "cd_only"
    }
  }

  /// Registers the functions and collations on a connection.
  ///
  /// - Parameter model: The model whose indexes call functions. With `nil`, the functions of indexes are not registered.
  static func register(on connection: Connection, for model: CompiledModel? = nil) throws {
    try registerText(on: connection)
    try registerSearch(on: connection)
    try PackedConstants.register(on: connection)
    try connection.registerValueLists(name: list)
    if model?.hasFoldedIndexes ?? false { try registerFold(foldIndexed, on: connection) }
    if model?.hasExpressionIndexes ?? false { try registerIndexed(indexed, on: connection) }
    if model?.hasFullTextIndexes ?? false { try registerWords(words, on: connection) }
    try registerNumbers(on: connection)
    try TextCollation.register(on: connection)
  }

  private static func bytes(_ buffer: UnsafeRawBufferPointer) -> UnsafeBufferPointer<UInt8> { buffer.assumingMemoryBound(to: UInt8.self) }

  static func registerFold(_ name: String, on connection: Connection) throws {
    try connection.registerFunction(name: name, argumentCount: 2) { call in
      if call.isNull(0) { return call.setResultNull() }
      var folded: [UInt8] = []
      TextFolding.fold(utf8: bytes(call.text(0)), options(call, 1), into: &folded)
      folded.withUnsafeBytes { call.setResult(text: $0) }
    }
  }

  /// Returns the text of a function call as indexes contain it, up to its first argument. It identifies the function by name, since numbers
  /// can change between versions of the library.
  static func indexedCall(_ function: ResolvedFunction, _ type: ResolvedType) -> String {
    "\(indexed)('\(function.rawValue)', \(kind(of: type)), "
  }

  /// Registers the function that indexes call, under a name.
  static func registerIndexed(_ name: String, on connection: Connection) throws {
    let byName = Dictionary(uniqueKeysWithValues: functions.map { (Array($0.rawValue.utf8), $0) })
    try connection.registerFunction(name: name, argumentCount: -1) { call in
      guard let function = byName[Array(call.text(0))] else { return call.setResultNull() }
      set(ExpressionFunctions.apply(function, arguments(of: call), type(of: call)), call)
    }
  }

  private static func kind(of type: ResolvedType) -> Int {
    switch type {
    case .integer: 0
    case .decimal: 1
    default: 2
    }
  }

  private static func arguments(of call: FunctionCall) -> [Slot] { (2..<max(call.count, 2)).map { slot(call, $0) } }

  private static func type(of call: FunctionCall) -> ResolvedType { call.int64(1) == 0 ? .integer : call.int64(1) == 1 ? .decimal : .real }

  static func registerWords(_ name: String, on connection: Connection) throws {
    try connection.registerFunction(name: name, argumentCount: 1) { call in
      if call.isNull(0) { return call.setResultNull() }
      TextWords.normalized(utf8: bytes(call.text(0))).withUnsafeBytes { call.setResult(text: $0) }
    }
  }

  private static func registerSearch(on connection: Connection) throws {
    let queries = LastValue { text, _ in TextQuery(typed: text) }
    try connection.registerFunction(name: search, argumentCount: 2) { call in
      if call.isNull(0) || call.isNull(1) { return call.setResultNull() }
      let words = TextWords.normalized(utf8: bytes(call.text(0)))
      call.setResult(words.withUnsafeBufferPointer { queries.value(call.text(1), []).matches(words: $0) })
    }
    let sought = LastValue { text, _ in TextQuery(typed: text).sought }
    try connection.registerFunction(name: relevance, argumentCount: -1) { call in
      if call.isNull(0) { return call.setResult(0.0) }
      let phrases = sought.value(call.text(0), [])
      var sum = 0.0
      for index in 1..<max(call.count, 1) where !call.isNull(index) {
        sum += TextRelevance.of(phrases, words: TextWords.normalized(utf8: bytes(call.text(index))))
      }
      call.setResult(sum)
    }
  }

  private static func registerText(on connection: Connection) throws {
    try registerFold(fold, on: connection)
    for (name, test) in [(begins, TextMatching.begins(_:with:)), (ends, TextMatching.ends(_:with:)), (contains, TextMatching.contains)] {
      try connection.registerFunction(name: name, argumentCount: 2) { call in
        if call.isNull(0) || call.isNull(1) { return call.setResultNull() }
        call.setResult(test(bytes(call.text(0)), bytes(call.text(1))))
      }
    }
    // A statement applies one pattern to many rows, so the last pattern stays compiled.
    let likePatterns = LastValue { LikePattern($0, $1) }
    try connection.registerFunction(name: like, argumentCount: 3) { call in
      if call.isNull(0) || call.isNull(1) { return call.setResultNull() }
      call.setResult(likePatterns.value(call.text(1), options(call, 2)).matches(utf8: bytes(call.text(0))))
    }
    let wholePatterns = LastValue { WholeTextPattern($0, $1) }
    try connection.registerFunction(name: matches, argumentCount: 3) { call in
      if call.isNull(0) || call.isNull(1) { return call.setResultNull() }
      let text = String(decoding: call.text(0), as: UTF8.self)
      call.setResult(wholePatterns.value(call.text(1), options(call, 2))?.matches(text) ?? false)
    }
    try connection.registerFunction(name: compareLocalized, argumentCount: 2, deterministic: false) { call in
      if call.isNull(0) || call.isNull(1) { return call.setResultNull() }
      let (left, right) = (String(decoding: call.text(0), as: UTF8.self), String(decoding: call.text(1), as: UTF8.self))
      call.setResult(Int64(TextMatching.compareLocalized(left, right, caseInsensitive: false)))
    }
  }

  private static func registerNumbers(on connection: Connection) throws {
    try connection.registerFunction(name: compareNumbers, argumentCount: 2) { call in
      let (left, right) = (slot(call, 0), slot(call, 1))
      if left.isNull || right.isNull { return call.setResultNull() }
      call.setResult(Int64(SlotComparison.compareMixedDecimals(left, right)))
    }
    for function: ResolvedAggregate.Function in [.sum, .average, .median, .mode, .standardDeviation] {
      try connection.registerAggregate(name: statisticName(function), argumentCount: 1) { StatisticState(function) }
    }
    try connection.registerAggregate(name: realSum, argumentCount: 1) { StatisticState(.sum, ofNone: .real(0)) }
    try connection.registerFunction(name: integerSum, argumentCount: 3) { call in
      if call.int64(2) == 0 { return call.setResultNull() }
      let sum = IntegerSum(high: call.int64(0), low: call.int64(1))
      set(sum.integer.map { .int($0) } ?? .real(sum.double), call)
    }
    try connection.registerFunction(name: integerAverage, argumentCount: 3) { call in
      if call.int64(2) == 0 { return call.setResultNull() }
      call.setResult(IntegerSum(high: call.int64(0), low: call.int64(1)).double / Double(call.int64(2)))
    }
    try connection.registerFunction(name: random, argumentCount: -1, deterministic: false) { call in
      let bound = call.count > 0 ? slot(call, 0) : .null
      let function: ResolvedFunction = call.count > 0 ? .randomBelow : .random
      set(ExpressionFunctions.apply(function, call.count > 0 ? [bound] : [], .real), call)
    }
    let types = AttributeType.allCases
    try connection.registerFunction(name: fit, argumentCount: 2) { call in
      let number = Int(call.int64(1))
      guard types.indices.contains(number) else { return call.setResultNull() }
      let value = slot(call, 0)
      let takesDecimals = types[number].isNumeric && !types[number].isInteger
      if takesDecimals, case .bytes(let data) = value, !DecimalCoding.isCoding(data) {
        return call.setFailure(.valueUnreadable, unreadable)
      }
      set(DerivedValue.fitted(value, to: types[number]), call)
    }
    try connection.registerFunction(name: apply, argumentCount: -1) { call in
      let number = Int(call.int64(0))
      guard functions.indices.contains(number) else { return call.setResultNull() }
      set(ExpressionFunctions.apply(functions[number], arguments(of: call), type(of: call)), call)
    }
  }

  /// The message of functions that read a value which does not have its attribute's type.
  static let unreadable = "a stored value cannot be read"

  private static func options(_ call: FunctionCall, _ index: Int) -> ComparisonOptions {
    ComparisonOptions(rawValue: UInt8(truncatingIfNeeded: call.int64(index)))
  }

  static func slot(_ call: FunctionCall, _ index: Int) -> Slot {
    switch call.type(index) {
    case .integer: .int(call.int64(index))
    case .real: .real(call.double(index))
    case .text: .text(String(decoding: call.text(index), as: UTF8.self))
    case .blob: .bytes(Data(call.blob(index)))
    case .null: .null
    }
  }

  static func set(_ slot: Slot, _ call: FunctionCall) {
    switch slot {
    case .null: call.setResultNull()
    case .int(let value): call.setResult(value)
    case .real(let value): call.setResult(value)
    case .text(let value): call.setResult(value)
    case .bytes(let value): value.withUnsafeBytes { call.setResult(blob: $0) }
    }
  }
}

private final class StatisticState: AggregateState {
  private var statistic: Statistic
  private let isArithmetic: Bool
  private let emptyResult: Slot

  init(_ function: ResolvedAggregate.Function, ofNone emptyResult: Slot = .null) {
    statistic = Statistic(function)
    self.emptyResult = emptyResult
    isArithmetic = [.sum, .average, .standardDeviation].contains(function)
  }

  func step(_ call: FunctionCall) {
    let value = SQLFunctions.slot(call, 0)
    if isArithmetic {
      switch value {
      case .text: return call.setFailure(.valueUnreadable, SQLFunctions.unreadable)
      case .bytes(let data) where !DecimalCoding.isCoding(data): return call.setFailure(.valueUnreadable, SQLFunctions.unreadable)
      default: break
      }
    }
    statistic.add(value)
  }
  func finish(_ call: FunctionCall) { SQLFunctions.set(statistic.isEmpty ? emptyResult : statistic.result, call) }
}

/// A cache of the last value made from a text and options. One connection uses it, so one thread at a time.
private final class LastValue<Value> {
  private let make: (String, ComparisonOptions) -> Value
  private var text: [UInt8] = []
  private var options: ComparisonOptions = []
  private var last: Value?

  init(_ make: @escaping (String, ComparisonOptions) -> Value) { self.make = make }

  func value(_ bytes: UnsafeRawBufferPointer, _ options: ComparisonOptions) -> Value {
    if let last, options == self.options, bytes.elementsEqual(text) { return last }
    let made = make(String(decoding: bytes, as: UTF8.self), options)
    text = Array(bytes)
    self.options = options
    last = made
    return made
  }
}

/// The collations that sort texts.
enum TextCollation {
  private static let prefix = "cd_"
  /// The separator between the comparison and the locale's identifier.
  private static let separator: Character = ":"
  /// The characters of locale identifiers that are not percent-encoded. Others, such as quotes, are.
  private static let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-@=;.")

  /// Returns the quoted name of an order's collation, or `nil` for binary order, which is SQLite's default.
  static func name(of order: TextOrder) -> String? {
    guard order != .binary else { return nil }
    guard let locale = order.locale else { return name(of: order.comparison) }
    let identifier = locale.identifier.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    return "\"\(name(of: order.comparison))\(separator)\(identifier)\""
  }

  private static func name(of comparison: FetchSortDescriptor.Comparison) -> String { prefix + comparison.rawValue }

  /// Returns the order of a collation with a locale, or `nil` if the name has another form.
  private static func order(named name: String) -> TextOrder? {
    let parts = name.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].hasPrefix(prefix), let identifier = parts[1].removingPercentEncoding,
      let comparison = FetchSortDescriptor.Comparison(rawValue: String(parts[0].dropFirst(prefix.count)))
    else { return nil }
    return TextOrder(comparison, locale: Locale(identifier: identifier))
  }

  /// Registers the collations of the current locale. Those of other locales are registered when a statement first names them.
  static func register(on connection: Connection) throws {
    for comparison in FetchSortDescriptor.Comparison.allCases where comparison != .binary {
      try connection.registerCollation(name: name(of: comparison), compare(by: TextOrder(comparison)))
    }
    try connection.registerCollations(onDemand: { order(named: $0).map(compare(by:)) })
  }

  private static func compare(by order: TextOrder) -> CollationComparison {
    { left, right in Int32(order.compare(String(decoding: left, as: UTF8.self), String(decoding: right, as: UTF8.self)).signum()) }
  }
}
