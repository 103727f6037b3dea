import Foundation
@_spi(Generated) package import ObjectModel

extension ResolvedType {
  var name: String {
    switch self {
    case .integer: "integer"
    case .boolean: "boolean"
    case .real: "floating-point number"
    case .date: "date"
    case .decimal: "decimal"
    case .text: "string"
    case .uri: "URI"
    case .uuid: "UUID"
    case .binary: "binary data"
    case .object: "object"
    case .entity: "entity"
    case .opaque: "transformable or undefined"
    }
  }
}

extension ResolvedDomain {
  /// Creates the comparison method for two types; nil if they cannot be compared.
  init?(_ left: ResolvedType, _ right: ResolvedType) {
    switch (left, right) {
    case (.decimal, .decimal): self = .decimal
    case (.decimal, _) where right.isNumeric, (_, .decimal) where left.isNumeric: self = .mixedDecimal
    case (_, _) where left.isNumeric && right.isNumeric, (.date, .date): self = .number
    case (.text, .text), (.text, .uri), (.uri, .text), (.uri, .uri): self = .text
    case (.uuid, .uuid), (.binary, .binary): self = .bytes
    case (.object, .object): self = .object
    case (.entity, .entity): self = .entity
    default: return nil
    }
  }
}

extension ResolvedExpression {
  /// Whether the expression is a single-precision attribute. Constants compared with it are rounded like its values.
  var isSinglePrecision: Bool {
    guard case .path(let path) = self, case .attribute(let attribute) = path.terminal else { return false }
    return attribute.slot.attributeType?.traits.number == .single
  }

  /// Whether the expression is an integer that becomes a double if it does not fit in 64 bits.
  package var mayOverflow: Bool {
    guard type == .integer else { return false }
    switch self {
    case .constant, .path: return false
    case .groupAggregate: return true
    case .aggregate(let aggregate):
      return aggregate.function == .sum || aggregate.value.map { $0.mayOverflow } ?? false
    case .function(let function, let arguments, _):
      switch function {
      case .add, .subtract, .multiply, .divide, .absolute, .sumOfList: return true
      default: return arguments.contains { $0.mayOverflow }
      }
    case .conditional(_, let first, let second): return first.mayOverflow || second.mayOverflow
    }
  }

  /// Whether the value depends on an object or is random. The limit of predicate nesting bounds the recursion.
  package var dependsOnObjects: Bool {
    switch self {
    case .constant: false
    case .path, .aggregate, .groupAggregate: true
    case .function(let function, let arguments, _): function.isRandom || arguments.contains { $0.dependsOnObjects }
    case .conditional(let condition, let first, let second):
      condition.dependsOnObjects || first.dependsOnObjects || second.dependsOnObjects
    }
  }
}

extension ResolvedPredicate {
  var dependsOnObjects: Bool {
    switch self {
    case .constant: false
    case .and(let items), .or(let items): items.contains { $0.dependsOnObjects }
    case .isNull(let expression, _): expression.dependsOnObjects
    case .comparison(let comparison): comparison.dependsOnObjects
    case .exists, .block: true
    }
  }
}

extension ResolvedComparison {
  var dependsOnObjects: Bool {
    switch right {
    case .expression(let expression): left.dependsOnObjects || expression.dependsOnObjects
    case .range(let low, let high): left.dependsOnObjects || low.dependsOnObjects || high.dependsOnObjects
    case .list: left.dependsOnObjects
    }
  }
}

extension FetchConstant {
  var isNull: Bool {
    if case .null = self { return true }
    return false
  }

  var isNumber: Bool {
    switch self {
    case .bool, .int, .real, .decimal: true
    default: false
    }
  }

  var isNotANumber: Bool {
    switch self {
    case .real(let value): value.isNaN
    case .decimal(let value): value.isNaN
    case .date(let value): value.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }

  var text: String? {
    switch self {
    case .string(let value): value
    case .url(let value): value.absoluteString
    default: nil
    }
  }

  /// The description in errors: the type, never the value.
  var typeName: String {
    switch self {
    case .null: "nil"
    case .bool: "a boolean"
    case .int: "an integer"
    case .real(let value): value.isNaN ? "a value that is not a number" : "a floating-point number"
    case .decimal(let value): value.isNaN ? "a value that is not a number" : "a decimal"
    case .string: "a string"
    case .date: "a date"
    case .data: "binary data"
    case .uuid: "a UUID"
    case .url: "a URL"
    case .object: "an object"
    case .entity: "an entity"
    case .list: "a list"
    case .inMemory(let value): "a \(value.typeName)"
    }
  }

  /// The value as a slot of its own type; nil for objects, entities, lists and values of other types.
  package var natural: (Slot, ResolvedType)? {
    switch self {
    case .null: (.null, .opaque)
    case .bool(let value): (value.slot, .boolean)
    case .int(let value): (value.slot, .integer)
    case .real(let value): (value.slot, .real)
    case .decimal(let value): (value.slot, .decimal)
    case .string(let value): (value.slot, .text)
    case .date(let value): (value.slot, .date)
    case .data(let value): (value.slot, .binary)
    case .uuid(let value): (value.slot, .uuid)
    case .url(let value): (value.slot, .uri)
    case .object, .entity, .list, .inMemory: nil
    }
  }
}
