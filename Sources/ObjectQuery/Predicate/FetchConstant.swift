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
  var _fetchConstant: FetchConstant { get }
}

extension FetchConstant: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { self }
}
extension Bool: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .bool(self) }
}
extension Int: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .int(Int64(self)) }
}
extension Int16: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .int(Int64(self)) }
}
extension Int32: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .int(Int64(self)) }
}
extension Int64: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .int(self) }
}
extension Double: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .real(self) }
}
extension Float: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .real(Double(self)) }
}
extension Decimal: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .decimal(self) }
}
extension String: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .string(self) }
}
extension Date: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .date(self) }
}
extension Data: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .data(self) }
}
extension UUID: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .uuid(self) }
}
extension URL: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .url(self) }
}
extension NSNumber: FetchConstantConvertible {
  /// The contained number as a constant.
  public var _fetchConstant: FetchConstant {
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
  public var _fetchConstant: FetchConstant { .object(self) }
}
extension Array: FetchConstantConvertible where Element: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .list(map { $0._fetchConstant }) }
}
extension Set: FetchConstantConvertible where Element: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { .list(map { $0._fetchConstant }) }
}
extension Optional: FetchConstantConvertible where Wrapped: FetchConstantConvertible {
  /// The value as a constant.
  public var _fetchConstant: FetchConstant { map(\._fetchConstant) ?? .null }
}
