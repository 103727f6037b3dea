import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The columns from which the slots of one entity are read. A class, so that reading a row does not copy its arrays.
final class RowReadPlan: Sendable {
  struct Step: Sendable {
    enum Kind: UInt8, Sendable {
      case int, real, text, bytes, large, fixedReference, storedReference
    }
    let kind: Kind
    let column: Int32
    let slot: Int
    /// The entity's number, or the offset that is added to the stored number.
    let entity: Int
    /// The range of entities that a stored number can denote, as its first number and its count.
    let first: Int
    let count: UInt

    @inline(__always) func entity(_ stored: Int) throws -> Int {
      let number = stored &+ entity
      guard UInt(bitPattern: number &- first) < count else { throw StoreError.invalidEntity }
      return number
    }
  }

  let entityNumber: Int
  let slotCount: Int
  let steps: [Step]
  let columns: [TableColumn]
  let root: Int
  /// Whether rows with the same version are identical. This is not so with derived values, which are updated without a new version.
  let versionIdentifiesContent: Bool
  /// The slots whose values can be in files. A row's version does not cover these values.
  let largeSlots: [Int]

  init(entity: CompiledEntity, columns: [TableColumn]) {
    entityNumber = entity.number
    slotCount = entity.slots.count
    self.columns = columns
    root = entity.root
    versionIdentifiesContent = !entity.hasDerivedSlots
    largeSlots = entity.largeSlots
    steps = columns.compactMap { column in
      let kind: Step.Kind
      var entity = 0
      var known = 0..<0
      switch column.slot.kind {
      case .int: kind = .int
      case .real: kind = .real
      case .text: kind = .text
      case .bytes: kind = column.isLarge ? .large : .bytes
      case .reference:
        switch column.destination {
        case .fixed(let number): (kind, entity) = (.fixedReference, number)
        case .stored(let offset, let entities): (kind, entity, known) = (.storedReference, offset, entities)
        case .none: return nil
        }
      case .none: return nil
      }
      return Step(
        kind: kind, column: column.readIndex, slot: column.slot.index, entity: entity, first: known.lowerBound, count: UInt(known.count))
    }
  }
}

extension StoreError {
  /// The error for a row or reference whose entity number is not valid at its location.
  static var invalidEntity: StoreError {
    StoreError(.invalidEntityNumber, operation: .read)
  }

  /// The error for a row or reference with a key that is never allocated.
  static var invalidKey: StoreError {
    StoreError(.invalidKey, operation: .read)
  }
}

// MARK: - Binding and reading slots

extension Statement {
  /// Binds a value. SQLite copies it.
  func bind(_ index: Int32, _ slot: Slot) throws(StoreAccessError) {
    switch slot {
    case .null: try bindNull(index)
    case .int(let value): try bind(index, value)
    case .real(let value): try bind(index, value)
    case .text(let value): try bind(index, value)
    case .bytes(let value): try bind(index, value)
    }
  }

  /// Returns the value of a column as stored. Text that is not valid UTF-8 is returned as bytes, which no string attribute accepts.
  func slot(_ column: Int32) -> Slot {
    switch type(column) {
    case .integer: .int(int64(column))
    case .real: .real(double(column))
    case .text: RowImage.text(textBuffer(column)).map { .text($0) } ?? .bytes(data(column))
    case .blob: .bytes(data(column))
    case .null: .null
    }
  }
}
