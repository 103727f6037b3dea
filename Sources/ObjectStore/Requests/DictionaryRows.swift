// DictionaryRows: the answer to a fetch of dictionaries, and how values take the types that were asked for.
import Foundation
public import ObjectModel
package import ObjectQuery

/// The rows of a fetch of dictionaries.
public struct DictionaryRows: Sendable {
  /// A column.
  public struct Column: Sendable {
    /// What the values of a column are.
    public enum Content: Sendable {
      /// An attribute's.
      case attribute(AttributeDescription)
      /// Computed, in the form of attributes of a type. A sum of integers that 64 bits do not hold is a double all the same.
      case value(AttributeType)
      /// Packed object references.
      case object
      /// Numbers of entities.
      case entity
    }
    /// The key in the dictionaries: the property's name or dotted path, or the expression's name.
    public let name: String
    /// What the values are.
    public let content: Content

    /// Makes a column.
    public init(name: String, content: Content) {
      self.name = name
      self.content = content
    }

    /// The attribute whose values stand in the column; nil for objects and computed values.
    public var attribute: AttributeDescription? {
      guard case .attribute(let attribute) = content else { return nil }
      return attribute
    }
  }
  /// The columns.
  public let columns: [Column]
  /// The values, one a column; a missing value is null.
  public let rows: [[Slot]]

  /// Makes rows.
  public init(columns: [Column], rows: [[Slot]]) {
    self.columns = columns
    self.rows = rows
  }
}

extension DictionaryRows.Column {
  /// The column that a store answers with.
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
  /// Whether values have to be brought into another form than the expression gives them.
  package var isConverted: Bool {
    guard case .value(let type) = content else { return false }
    return type != AttributeType(expression.type)
  }

  /// A value in the form of the type that was asked for.
  ///
  /// - Throws: ``StoreError`` where that type does not hold it.
  package func converted(_ value: Slot) throws -> Slot {
    guard case .value(let type) = content, isConverted, !SlotComparison.isMissing(value) else { return value }
    let result: Slot? =
      switch (type, value) {
      case (.decimal, _): SlotComparison.decimal(of: value).map { .bytes(DecimalCoding.encode($0)) }
      case (.double, .int(let number)): .real(Double(number))
      case (.double, .bytes), (.float, .bytes): SlotComparison.decimal(of: value).map { real($0, type) }
      case (.float, .int(let number)): .real(Double(Float(number)))
      case (.float, .real(let number)): .real(Double(Float(number)))
      case (.integer16, _): whole(value).flatMap { Int16(exactly: $0) }.map { .int(Int64($0)) }
      case (.integer32, _): whole(value).flatMap { Int32(exactly: $0) }.map { .int(Int64($0)) }
      case (.integer64, _): whole(value).map { .int($0) }
      default: value
      }
    guard let result else {
      throw StoreError(.resultDoesNotFit(column: name, type: type.rawValue), operation: .fetch)
    }
    return result
  }

  /// A number without its fraction; nil where 64 bits do not hold it.
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

  private func real(_ number: Decimal, _ type: AttributeType) -> Slot {
    let double = NSDecimalNumber(decimal: number).doubleValue
    return .real(type == .float ? Double(Float(double)) : double)
  }
}
