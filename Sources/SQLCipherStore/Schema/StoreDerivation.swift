import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// A derived attribute of a store.
///
/// Its path leads from the attribute's own table, position 0, over one table for each relationship. Triggers note which rows at which position were
/// changed; from there `owners` lead back, so that the values of few rows are computed anew, once, when everything else is written.
struct StoreDerivation: Sendable {
  let derivation: CompiledDerivation
  /// Its position among the store's derivations: the order in which they are computed.
  let number: Int
  /// What the triggers call it by. A changed text means other values: they hold what the text says, by this version of folding.
  let identity: String
  let table: EntityTable
  let column: TableColumn
  /// The relationships of the path with where they are kept; nil where the store does not hold all of it: nothing is found there then.
  let steps: [Step]?
  /// Which members of the to-many relationship are taken; nil for all.
  let filter: DerivationFilter?

  /// A relationship of the path.
  struct Step: Sendable {
    let storage: RelationshipStorage
    let source: EntityTable
    let destination: EntityTable
  }

  /// The number of positions that rows can be noted at.
  var positionCount: Int { (steps?.count ?? 0) + 1 }

  /// The condition that a row of the table has the attribute, if one is needed.
  func entityCondition(_ model: CompiledModel, alias: String) -> String? {
    table.entityCondition(derivation.entity, includesSubentities: true, model: model, alias: alias)
  }

  /// The column at the end of the path.
  var sourceColumn: TableColumn? {
    guard let source = derivation.source, let steps else { return nil }
    guard let last = derivation.steps.last, let table = steps.last?.destination else {
      return table.column(entity: derivation.entity, slot: source.index)
    }
    return table.column(entity: last.destinationEntity, slot: source.index)
  }

  /// The columns that the filter asks for, and the position of their table.
  var filterColumns: (position: Int, columns: [TableColumn])? {
    guard let filter, let step = derivation.filteredStep, let table = steps?[step].destination else { return nil }
    return (step + 1, filter.slots.compactMap { table.column(entity: $0.declaringEntity, slot: $0.index) })
  }
}

extension StoreDerivation {
  /// The derivations of a store, in the order in which they are computed.
  static func derivations(
    model: CompiledModel, relationships: [RelationshipStorage], table: (Int) -> EntityTable?
  ) throws -> [StoreDerivation] {
    var result: [StoreDerivation] = []
    for derivation in model.derivations {
      guard let own = table(derivation.entity), let column = own.column(entity: derivation.entity, slot: derivation.slot.index) else {
        continue
      }
      var steps: [Step]? = []
      for relationship in derivation.steps {
        if case .none = relationships[relationship.id] { steps = nil }
        guard let source = table(relationship.sourceEntity), let destination = table(relationship.destinationEntity) else {
          steps = nil
          break
        }
        steps?.append(Step(storage: relationships[relationship.id], source: source, destination: destination))
      }
      let changesText = derivation.operation.isText || derivation.source?.isDerived ?? false
      let filter = try DerivationFilter(of: derivation, in: model)
      let basis = (changesText ? [TextFolding.version] : []) + (filter?.basis ?? [])
      result.append(
        StoreDerivation(
          derivation: derivation, number: result.count,
          identity: derivation.identity + (basis.isEmpty ? "" : " (\(basis.joined(separator: "; ")))"), table: own, column: column,
          steps: steps, filter: filter))
    }
    return result
  }
}
