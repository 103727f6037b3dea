import Foundation
public import ObjectModel
package import ObjectQuery

/// The result of a fetch of dictionaries, as rows and columns.
public struct DictionaryRows: Sendable {
  /// A column.
  public struct Column: Sendable {
    /// The kind of values in a column.
    public enum Content: Sendable {
      /// The values of an attribute.
      case attribute(AttributeDescription)
      /// Computed values of an attribute type. A sum of integers that exceeds 64 bits is a double regardless of the type.
      case value(AttributeType)
      /// Packed object references.
      case object
      /// Entity numbers.
      case entity
    }
    /// The key in the dictionaries: the name or dotted path of a property, or the name of an expression.
    public let name: String
    /// The kind of values.
    public let content: Content

    /// Creates a column.
    public init(name: String, content: Content) {
      self.name = name
      self.content = content
    }

    /// The attribute whose values the column contains, or nil for objects and computed values.
    public var attribute: AttributeDescription? {
      guard case .attribute(let attribute) = content else { return nil }
      return attribute
    }
  }
  /// The columns.
  public let columns: [Column]
  /// The rows, each with one value a column. Missing values are null.
  public let rows: [[Slot]]

  /// Creates rows.
  public init(columns: [Column], rows: [[Slot]]) {
    self.columns = columns
    self.rows = rows
  }
}

extension DictionaryRows.Column {
  /// Creates the result column of a resolved column.
  package init(_ column: ResolvedColumn) {
    let content: Content =
      switch column.content {
      case .attribute(let attribute): attribute.slot.attribute.map(Content.attribute) ?? .object
      case .value(let type): .value(type)
      case .object: .object
      case .entity: .entity
      }
    self.init(name: column.name, content: content)
  }
}

extension ResolvedColumn {
  /// Whether the type of the expression's values differs from the requested type.
  package var isConverted: Bool {
    guard case .value(let type) = content else { return false }
    return type != AttributeType(expression.type)
  }

  /// Converts a value to the requested type.
  ///
  /// - Throws: ``StoreError`` if the type cannot represent the value.
  package func converted(_ value: Slot) throws -> Slot {
    guard case .value(let type) = content, isConverted, !SlotComparison.isMissing(value) else { return value }
    let result: Slot? =
      switch (type.isNumeric ? type.traits.number : nil, value) {
      case (.decimal, _): SlotComparison.decimal(of: value).map { .bytes(DecimalCoding.encode($0)) }
      case (.double, .int(let number)): .real(Double(number))
      case (.double, .bytes): SlotComparison.decimal(of: value).map { .real(double($0)) }
      case (.single, .bytes): SlotComparison.decimal(of: value).map { .real(Double(Float(double($0)))) }
      case (.single, .int(let number)): .real(Double(Float(number)))
      case (.single, .real(let number)): .real(Double(Float(number)))
      case (.integer(let range), _): whole(value).flatMap { range.contains($0) ? .int($0) : nil }
      default: value
      }
    guard let result else {
      throw StoreError(.valueExceedsResultType(column: name, type: type.rawValue), operation: .fetch)
    }
    return result
  }

  /// Returns a number truncated toward zero, or nil if 64 bits cannot represent it.
  private func whole(_ value: Slot) -> Int64? {
    switch value {
    case .int(let number): return number
    case .real(let number): return Int64(exactly: number.rounded(.towardZero))
    default:
      guard let number = SlotComparison.decimal(of: value) else { return nil }
      var (given, rounded) = (number, Decimal())
      NSDecimalRound(&rounded, &given, 0, number < 0 ? .up : .down)
      return Int64(NSDecimalNumber(decimal: rounded).stringValue)
    }
  }

  private func double(_ number: Decimal) -> Double { NSDecimalNumber(decimal: number).doubleValue }
}
