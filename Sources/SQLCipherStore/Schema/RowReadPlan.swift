import ObjectModel
import ObjectStore
import SQLCipherConnection

/// One entity's slots and the columns that they are read from. A class, so that a read of one row does not copy its lists.
final class RowReadPlan: Sendable {
  /// One step of the plan.
  struct Step: Sendable {
    enum Kind: UInt8, Sendable {
      case int, real, text, bytes, large, fixedReference, storedReference
    }
    let kind: Kind
    let column: Int32
    let slot: Int
    /// The entity's number, or what is added to the stored one.
    let entity: Int
    /// The first of the entities that the stored number may mean, and how many they are.
    let first: Int
    let count: UInt

    /// The entity behind a stored number.
    @inline(__always) func entity(_ stored: Int) throws -> Int {
      let number = stored &+ entity
      guard UInt(bitPattern: number &- first) < count else { throw StoreError.strangeEntity }
      return number
    }
  }

  let entityNumber: Int
  let slotCount: Int
  let steps: [Step]
  let columns: [TableColumn]
  /// The root of the entity's tree.
  let root: Int
  /// Whether a row of the same version is the same row: a derived value is computed anew without a new version.
  let versionsTell: Bool
  /// The slots whose values may lie outside the row, of which a row's version tells nothing.
  let largeSlots: [Int]

  init(entity: CompiledEntity, columns: [TableColumn]) {
    entityNumber = entity.number
    slotCount = entity.slots.count
    self.columns = columns
    root = entity.root
    versionsTell = !entity.hasDerivedSlots
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
  /// A row, or what refers to one, says that it is of an entity that cannot stand there.
  static var strangeEntity: StoreError {
    StoreError(.strangeEntityNumber, operation: .read)
  }

  /// A row has, or refers to, a key that is never given out.
  static var strangeKey: StoreError {
    StoreError(.strangeKey, operation: .read)
  }
}
