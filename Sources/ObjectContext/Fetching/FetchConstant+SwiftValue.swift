import Foundation
import ObjectQuery

extension FetchConstant {
  /// The Swift value of the constant: nil for null, a name for an entity, an ID for an object, an array for a list, an `InMemoryValue` for a value
  /// of another type.
  package var swiftValue: (any Sendable)? {
    switch self {
    case .null: nil
    case .bool(let value): value
    case .int(let value): value
    case .real(let value): value
    case .decimal(let value): value
    case .string(let value), .entity(let value): value
    case .date(let value): value
    case .data(let value): value
    case .uuid(let value): value
    case .url(let value): value
    case .object(let value): value
    case .list(let values): values.map(\.swiftValue)
    case .inMemory(let value): value
    }
  }
}
