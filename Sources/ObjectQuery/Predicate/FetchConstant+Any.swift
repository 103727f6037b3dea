import Foundation
import ObjectModel

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
