import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Generates the triggers of derived attributes, and the statements that fill new ones.
///
/// A trigger writes nothing. It calls a function with the attribute's identity, a position in its path, and a key.
struct DerivationTriggers {
  let schema: StoreSchema

  private struct Trigger {
    /// Creates the trigger with a name and a body.
    let make: (_ name: String, _ body: String) throws -> SchemaAuxiliary
    /// Positions to mark, with expressions of the keys.
    let marks: [(position: Int, key: String)]

    init(after event: String, of table: EntityTable, when condition: String? = nil, _ marks: [(position: Int, key: String)]) {
      make = { try table.trigger(named: $0, "AFTER \(event)", when: condition, $1) }
      self.marks = marks
    }

    init(after event: String, of side: JoinSide, _ marks: [(position: Int, key: String)]) {
      make = { try side.trigger(named: $0, after: event, $1) }
      self.marks = marks
    }
  }

  /// Returns the triggers. Attributes precede those that depend on them. The first trigger of each attribute fills it.
  func auxiliaries() throws -> [SchemaAuxiliary] {
    var names = NameAllocator(reserved: schema.fullText.auxiliaries.map(\.name))
    var result: [SchemaAuxiliary] = []
    for derivation in schema.derivations {
      let identity = StoreDerivation.literal(.text(derivation.identity))
      let entity = schema.model.entities[derivation.derivation.entity].name
      for (index, trigger) in triggers(of: derivation).enumerated() {
        let name = names.take("t_\(entity)_\(derivation.derivation.slot.name)_\(index + 1)")
        let calls = trigger.marks.map { StoreDerivation.call(identity, $0.position, $0.key) }.joined(separator: " ")
        var auxiliary = try trigger.make(name, calls)
        if index == 0 {
          auxiliary.fill = try fill(derivation)
          auxiliary.computedSlot = .init(entity: derivation.derivation.entity, slot: derivation.derivation.slot.index)
        }
        result.append(auxiliary)
      }
    }
    return result
  }

  private func fill(_ derivation: StoreDerivation) throws -> [String] {
    let table = derivation.table.name
    let isNow = derivation.derivation.operation == .now
    // The time of a row's last save is unknown.
    let value = isNow ? "\(Date().timeIntervalSinceReferenceDate)" : try derivation.value(of: table, in: schema)
    var conditions = [derivation.entityCondition(schema.model, alias: table)].compactMap { $0 }
    if isNow { conditions.append("\(table).\(derivation.column.name) IS NULL") }
    // Clear existing values first, so that they do not conflict with new unique values.
    return ["NULL", value].suffix(isNow ? 1 : 2).map { derivation.table.computing(derivation.column, $0, where: conditions) }
  }

  private func triggers(of derivation: StoreDerivation) -> [Trigger] {
    let own = derivation.table
    let isOfEntity = derivation.entityCondition(schema.model, alias: "NEW")
    var result = [Trigger(after: "INSERT", of: own, when: isOfEntity, [(0, "NEW.\(own.key)")])]
    if derivation.derivation.operation == .now {
      // Every save changes a row's version; computing derived values does not.
      result.append(Trigger(after: "UPDATE OF \(own.version)", of: own, when: isOfEntity, [(0, "NEW.\(own.key)")]))
    }
    guard let steps = derivation.steps else { return result }
    for (index, step) in steps.enumerated() {
      let (near, far) = (index, index + 1)
      switch step.storage {
      case .column(_, let column):
        result.append(update(of: column.name, in: step.source, [(near, "NEW.\(step.source.key)")]))
        // Without an inverse, references to deleted objects remain.
        result.append(Trigger(after: "DELETE", of: step.destination, [(far, "OLD.\(step.destination.key)")]))
      case .inverse(let side):
        let (owner, table) = (side.column.name, step.destination)
        result.append(Trigger(after: "INSERT", of: table, when: "NEW.\(owner) IS NOT NULL", [(near, "NEW.\(owner)")]))
        result.append(Trigger(after: "DELETE", of: table, when: "OLD.\(owner) IS NOT NULL", [(near, "OLD.\(owner)")]))
        result.append(update(of: owner, in: table, [(near, "OLD.\(owner)"), (near, "NEW.\(owner)")]))
      case .join(let side):
        for link in JoinSide.events { result.append(Trigger(after: link.event, of: side, [(near, side.nearKey(of: link.row))])) }
      case .none: break
      }
    }
    let source = derivation.sourceColumn
    if let source {
      let table = steps.last?.destination ?? own
      result.append(update(of: source.name, in: table, [(steps.count, "NEW.\(table.key)")]))
    }
    if let (position, columns) = derivation.filterColumns {
      let table = steps[position - 1].destination
      // If a column is both the source and part of the filter, it already has a trigger.
      for column in columns where position != steps.count || column.name != source?.name {
        result.append(update(of: column.name, in: table, [(position, "NEW.\(table.key)")]))
      }
    }
    return result
  }

  private func update(of column: String, in table: EntityTable, _ marks: [(Int, String)]) -> Trigger {
    Trigger(after: "UPDATE OF \(column)", of: table, when: "NEW.\(column) IS NOT OLD.\(column)", marks)
  }

  // MARK: Removing triggers from copies

  /// Returns the statements that remove the triggers from a copy for other programs, which could not write rows without the function.
  static func removal(from connection: Connection, schema: String) throws -> [String] {
    try connection.objects(.derivationTriggers).map { try SchemaAuxiliary.dropping(.trigger, $0.name, in: schema) }
  }
}
