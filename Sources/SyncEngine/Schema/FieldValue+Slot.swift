import Foundation
package import ObjectModel
package import SyncCore

extension FieldValue {
  /// Creates the value of an attribute.
  package init(_ slot: Slot) {
    switch slot {
    case .null: self = .null
    case .int(let value): self = .integer(value)
    case .real(let value): self = .real(value.bitPattern)
    case .text(let value): self = .text(value)
    case .bytes(let value): self = .bytes(Array(value))
    }
  }

  /// The value that an object has for it: of a counter the sum, of a large value the content, of several versions the last.
  package var resolved: FieldValue {
    switch self {
    case .counter(let counter): counter.sum
    case .asset(let asset): .asset(asset.content)
    case .versions(let versions): versions.last
    default: self
    }
  }

  /// Returns the value as that of an attribute in a slot of a kind. Nil if it has another kind, or is a reference.
  package func slot(_ kind: SlotKind) -> Slot? {
    switch (self, kind) {
    case (.null, _): .null
    case (.integer(let value), .int): .int(value)
    case (.real(let bits), .real): .real(Double(bitPattern: bits))
    case (.text(let value), .text): .text(value)
    case (.bytes(let value), .bytes): .bytes(Data(value))
    default: nil
    }
  }
}
