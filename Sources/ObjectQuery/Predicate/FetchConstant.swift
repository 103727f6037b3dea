public import Foundation
public import ObjectModel

/// A constant of a predicate.
public enum FetchConstant: Sendable, Hashable {
  /// A null value.
  case null
  /// A boolean.
  case bool(Bool)
  /// An integer.
  case int(Int64)
  /// A floating-point number.
  case real(Double)
  /// A decimal number.
  case decimal(Decimal)
  /// A string.
  case string(String)
  /// A date.
  case date(Date)
  /// Bytes.
  case data(Data)
  /// A UUID.
  case uuid(UUID)
  /// A URL.
  case url(URL)
  /// An object ID.
  case object(ManagedObjectID)
  /// An entity, by name.
  case entity(String)
  /// A list of values, for IN and BETWEEN.
  case list([FetchConstant])
  /// A value of a type that no attribute has, which is compared in memory only.
  case inMemory(InMemoryValue)
}

/// A Swift type whose values can be constants of a predicate.
public protocol FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) var fetchConstant: FetchConstant { get }
}

extension FetchConstantConvertible where Self: BinaryInteger {
  /// The integer as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .int(Int64(self)) }
}
extension FetchConstantConvertible where Self: BinaryFloatingPoint {
  /// The number as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .real(Double(self)) }
}
extension FetchConstantConvertible where Self: Sequence, Element: FetchConstantConvertible {
  /// The elements as a list.
  @_spi(Generated) public var fetchConstant: FetchConstant { .list(map { $0.fetchConstant }) }
}

extension FetchConstant: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { self }
}
extension Bool: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .bool(self) }
}
extension Int: FetchConstantConvertible {}
extension Int16: FetchConstantConvertible {}
extension Int32: FetchConstantConvertible {}
extension Int64: FetchConstantConvertible {}
extension Double: FetchConstantConvertible {}
extension Float: FetchConstantConvertible {}
extension Decimal: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .decimal(self) }
}
extension String: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .string(self) }
}
extension Date: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .date(self) }
}
extension Data: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .data(self) }
}
extension UUID: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .uuid(self) }
}
extension URL: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .url(self) }
}
extension NSNumber: FetchConstantConvertible {
  /// The contained number as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant {
    switch AttributeConversion.content(of: self) {
    case let flag as Bool: .bool(flag)
    case let number as Int64: .int(number)
    case let number as Decimal: .decimal(number)
    default: .real(doubleValue)
    }
  }
}
extension ManagedObjectID: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .object(self) }
}
extension Array: FetchConstantConvertible where Element: FetchConstantConvertible {}
extension Set: FetchConstantConvertible where Element: FetchConstantConvertible {}
extension Optional: FetchConstantConvertible where Wrapped: FetchConstantConvertible {
  /// The value as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { map(\.fetchConstant) ?? .null }
}

// MARK: - Values of any type

extension FetchConstant {
  /// A value of any type as a constant; nil for a collection and for a value of a type that no attribute has.
  package init?(scalar value: Any) {
    switch value {
    case let value as any FetchConstantConvertible:
      let constant = value.fetchConstant
      if case .list = constant { return nil }
      self = constant
    case is NSNull: self = .null
    case let value as NSString: self = .string("\(value)")
    case let value as NSDate: self = .date(Date(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate))
    case let value as NSUUID: self = .uuid(UUID(uuidString: value.uuidString) ?? UUID())
    case let value as NSURL: self = .url(value as URL)
    case let value as NSData: self = .data(Data(referencing: value))
    case let value as any BinaryInteger:
      self = Int64(exactly: value).map { .int($0) } ?? .decimal(Decimal(string: "\(value)") ?? .nan)
    case let value as any BinaryFloatingPoint: self = .real(FetchConstant.double(value))
    case let value as any StringProtocol: self = .string(String(value))
    default: return nil
    }
  }

  private static func double<Value: BinaryFloatingPoint>(_ value: Value) -> Double { Double(value) }
}
