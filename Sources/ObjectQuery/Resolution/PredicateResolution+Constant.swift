import Foundation
@_spi(Generated) import ObjectModel

extension PredicateResolution {
  /// Returns a constant in its natural form.
  mutating func constantExpression(_ value: FetchConstant) throws(FetchPredicateError) -> ResolvedExpression {
    guard let (slot, type) = value.natural else {
      if case .object(let id) = value { return .constant(add(.object(id)), .object) }
      if case .entity(let name) = value { return .constant(add(.slot(try entitySlot(name))), .entity) }
      throw .unsupported(part: "A list", advice: "Use a list on the right of IN or BETWEEN only.")
    }
    return .constant(add(.slot(slot)), type)
  }

  /// Returns a constant in the form of another expression. Null fits any form.
  mutating func constantExpression(
    _ value: FetchConstant, like other: ResolvedExpression, name: String
  ) throws(FetchPredicateError) -> ResolvedExpression {
    if value.isNull { return .constant(add(.slot(.null)), other.type) }
    if case .object(let id) = value, other.type == .object { return .constant(add(.object(id)), .object) }
    guard let slot = try slot(value, for: other, name: name) else { return try constantExpression(value) }
    if case .real = slot, other.type == .decimal { return .constant(add(.slot(slot)), .real) }
    return .constant(add(.slot(slot)), other.type)
  }

  /// Returns the right side of a comparison with an expression, and the comparison method; no expression if the two can never be equal.
  mutating func rightSide(
    _ right: Operand, for left: ResolvedExpression, name: String, options: ComparisonOptions
  ) throws(FetchPredicateError) -> (ResolvedExpression?, ResolvedDomain) {
    switch right {
    case .list: throw .invalidRightSide(op: "The comparison", expression: name, expected: "one value, not a list")
    case .expression(let expression, let other):
      guard let domain = ResolvedDomain(left.type, expression.type) else {
        throw .typeMismatch(expression: name, type: left.type.name, other: "\(other), which is of type \(expression.type.name)")
      }
      return (expression, domain)
    case .constant(let value):
      if left.type == .object {
        guard case .object(let id) = value else { throw mismatch(name, left, value) }
        guard canBe(left, id) else { return (nil, .object) }
        return (.constant(add(.object(id)), .object), .object)
      }
      guard let slot = try slot(value, for: left, name: name) else { return (nil, .number) }
      if case .text(let text) = slot {
        return (.constant(add(.slot(.text(TextFolding.fold(text, textFolding(options))))), .text), .text)
      }
      if case .real = slot, left.type == .decimal { return (.constant(add(.slot(slot)), .real), .mixedDecimal) }
      return (.constant(add(.slot(slot)), left.type), ResolvedDomain(left.type, left.type) ?? .number)
    }
  }

  /// Returns the list of IN without values that can never match; nil if none are left.
  func list(
    _ values: [FetchConstant], for left: ResolvedExpression, name: String, options: ComparisonOptions
  ) throws(FetchPredicateError) -> (ResolvedConstant, ResolvedDomain)? {
    if left.type == .object {
      var ids: [ManagedObjectID] = []
      var seen: Set<ManagedObjectID> = []
      // Stores sort a long list themselves, and find duplicates then.
      let isLong = FetchShape.listCapacity(for: values.count) < 0
      if isLong { ids.reserveCapacity(values.count) }
      for value in values {
        guard case .object(let id) = value else { throw mismatch(name, left, value) }
        if canBe(left, id), isLong || seen.insert(id).inserted { ids.append(id) }
      }
      return ids.isEmpty ? nil : (.objects(ids), .object)
    }
    var slots: [Slot] = []
    var domain = ResolvedDomain(left.type, left.type) ?? .number
    let folding = textFolding(options)
    for value in values {
      guard let slot = try slot(value, for: left, name: name) else { continue }
      switch slot {
      case .text(let text): slots.append(.text(TextFolding.fold(text, folding)))
      case .real where left.type == .decimal: domain = .mixedDecimal
      default: slots.append(slot)
      }
    }
    // Doubles outside the range of decimals equal none.
    if domain == .mixedDecimal { domain = .decimal }
    return slots.isEmpty ? nil : (.slots(PredicateResolution.ascending(slots)), domain)
  }

  /// Returns the values in ascending order, without duplicates.
  static func ascending(_ slots: [Slot]) -> [Slot] {
    var unique: [Slot] = []
    for slot in slots.sorted(by: { SlotComparison.compare($0, $1) < 0 }) {
      if let last = unique.last, SlotComparison.compare(last, slot) == 0 { continue }
      unique.append(slot)
    }
    return unique
  }

  /// Returns a constant as a slot to compare with an expression; nil if it equals none of its values.
  private func slot(_ value: FetchConstant, for other: ResolvedExpression, name: String) throws(FetchPredicateError) -> Slot? {
    if value.isNotANumber { throw mismatch(name, other, value) }
    switch (other.type, value) {
    case (.integer, _) where other.mayOverflow && value.isNumber: return try overflowingSlot(value, name)
    case (.integer, _) where value.isNumber, (.boolean, _) where value.isNumber:
      guard case .compare(_, let bound) = try IntegerBound(.equal, value, name) else { return nil }
      return .int(bound)
    case (.real, .int(let number)): return Double(exactly: number).map { .real($0) } ?? .int(number)
    case (.real, .bool(let flag)): return .real(flag ? 1 : 0)
    case (.real, .real(let number)): return .real(other.isSinglePrecision ? Double(Float(number)) : number)
    case (.real, .decimal(let number)):
      let double = Double(NSDecimalNumber(decimal: number).stringValue) ?? NSDecimalNumber(decimal: number).doubleValue
      return .real(other.isSinglePrecision ? Double(Float(double)) : double)
    case (.decimal, .int(let number)): return .bytes(DecimalCoding.encode(Decimal(number)))
    case (.decimal, .bool(let flag)): return .bytes(DecimalCoding.encode(flag ? 1 : 0))
    case (.decimal, .real(let number)): return DecimalCoding.encode(representable: number).map { .bytes($0) } ?? .real(number)
    case (.decimal, .decimal(let number)): return .bytes(DecimalCoding.encode(number))
    case (.date, .date(let date)): return .real(date.timeIntervalSinceReferenceDate)
    case (.text, .string(let text)): return .text(text)
    case (.uri, .url(let url)): return .text(url.absoluteString)
    case (.uri, .string(let text)) where URL(string: text) != nil: return .text(text)
    case (.uuid, .uuid(let uuid)): return uuid.slot
    case (.uuid, .string(let text)):
      guard let uuid = UUID(uuidString: text) else {
        throw .typeMismatch(expression: name, type: other.type.name, other: "a string that is no UUID")
      }
      return uuid.slot
    case (.binary, .data(let data)): return .bytes(data)
    case (.entity, .entity(let entity)), (.entity, .string(let entity)): return try entitySlot(entity)
    default: throw mismatch(name, other, value)
    }
  }

  /// Returns a number to compare with integers, some of which may have become doubles.
  private func overflowingSlot(_ value: FetchConstant, _ name: String) throws(FetchPredicateError) -> Slot? {
    if case .compare(.equal, let number) = try IntegerBound(.equal, value, name) { return .int(number) }
    switch value {
    case .real(let number): return .real(number)
    case .decimal(let number): return Double(NSDecimalNumber(decimal: number).stringValue).map { .real($0) }
    default: return nil
    }
  }

  private func entitySlot(_ name: String) throws(FetchPredicateError) -> Slot {
    guard let entity = model.entity(named: name) else { throw .unknownEntity(name: name) }
    return .int(Int64(entity.number))
  }

  private func mismatch(_ name: String, _ expression: ResolvedExpression, _ value: FetchConstant) -> FetchPredicateError {
    .typeMismatch(expression: name, type: expression.type.name, other: value.typeName)
  }

  private func textFolding(_ options: ComparisonOptions) -> ComparisonOptions {
    options.contains(.normalized) ? [] : options.intersection(TextFolding.folding)
  }

  /// Returns whether an object ID can be a value of an expression. Keys are unique only within an entity tree.
  private func canBe(_ expression: ResolvedExpression, _ id: ManagedObjectID) -> Bool {
    guard Int(id.entityNumber) < model.entities.count, let root = rootEntity(of: expression) else { return true }
    return model.entities[Int(id.entityNumber)].root == root
  }

  /// Returns the root of the entity tree of an expression's objects; nil if it has none.
  func rootEntity(of expression: ResolvedExpression) -> Int? {
    switch expression {
    case .constant(let number, _):
      guard case .object(let id) = constants[number], Int(id.entityNumber) < model.entities.count else { return nil }
      return model.entities[Int(id.entityNumber)].root
    case .path(let path):
      if let last = path.steps.last { return model.entities[last.relationship.destinationEntity].root }
      return path.scope < scopes.count ? scopes[path.scope].root : nil
    case .aggregate(let aggregate):
      guard let value = aggregate.value else { return nil }
      if case .path(let path) = value, path.steps.isEmpty, path.scope == aggregate.collection.memberScope {
        return model.entities[aggregate.collection.relationship.relationship.destinationEntity].root
      }
      return rootEntity(of: value)
    case .conditional(_, let first, let second): return rootEntity(of: first) ?? rootEntity(of: second)
    case .function(_, let arguments, _): return arguments.lazy.compactMap { rootEntity(of: $0) }.first
    case .groupAggregate: return nil
    }
  }
}

/// The equivalent of comparing an integer with any number, in terms of integers.
enum IntegerBound {
  /// The comparison is false for every integer.
  case never
  /// The comparison is true for every integer.
  case always
  /// A comparison with an integer.
  case compare(ComparisonOperator, Int64)

  init(_ op: ComparisonOperator, _ value: FetchConstant, _ name: String) throws(FetchPredicateError) {
    switch value {
    case .int(let number): self = .compare(op, number)
    case .bool(let flag): self = .compare(op, flag ? 1 : 0)
    case .real(let number) where !number.isNaN:
      let below = number.rounded(.down)
      self.init(op, floor: Int64(exactly: below), isWhole: below == number, isPositive: number > 0)
    case .decimal(var number) where !number.isNaN:
      var below = Decimal()
      NSDecimalRound(&below, &number, 0, .down)
      self.init(op, floor: Int64(NSDecimalNumber(decimal: below).stringValue), isWhole: below == number, isPositive: number > 0)
    default: throw .typeMismatch(expression: name, type: ResolvedType.integer.name, other: value.typeName)
    }
  }

  /// - Parameter floor: The largest integer that is not greater than the number; nil if it does not fit in 64 bits.
  private init(_ op: ComparisonOperator, floor: Int64?, isWhole: Bool, isPositive: Bool) {
    let isUpperBound = op == .less || op == .lessOrEqual
    guard let floor else {
      self = op == .equal ? .never : isUpperBound == isPositive ? .always : .never
      return
    }
    if isWhole {
      self = .compare(op, floor)
    } else {
      self = op == .equal ? .never : .compare(isUpperBound ? .lessOrEqual : .greater, floor)
    }
  }
}
