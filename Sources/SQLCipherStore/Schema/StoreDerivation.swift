import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// A derived attribute of a store: its column, and the path to the rows that it depends on.
///
/// The path starts at the attribute's own table, position 0, and continues with one table for each relationship. Triggers mark the changed
/// rows with their position. From there `owners` finds the rows whose derived values need an update. They are computed once, after all
/// other changes are written.
struct StoreDerivation: Sendable {
  let derivation: CompiledDerivation
  /// Its position among the store's derivations, which are computed in this order.
  let number: Int
  /// The identity by which triggers refer to it. It describes the derivation and the version of folding; if it changes, the stored values
  /// are outdated.
  let identity: String
  let table: EntityTable
  let column: TableColumn
  /// The relationships of the path with their storage, or `nil` if the store does not contain the whole path; nothing is found then.
  let steps: [Step]?
  /// The filter on the members of the to-many relationship, or `nil` for all.
  let filter: DerivationFilter?

  struct Step: Sendable {
    let storage: RelationshipStorage
    let source: EntityTable
    let destination: EntityTable
  }

  var positionCount: Int { (steps?.count ?? 0) + 1 }

  /// Returns the condition that selects the rows with the attribute, or `nil` if all rows have it.
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

  /// The columns that the filter reads, and the position of their table.
  var filterColumns: (position: Int, columns: [TableColumn])? {
    guard let filter, let step = derivation.filteredStep, let table = steps?[step].destination else { return nil }
    return (step + 1, filter.slots.compactMap { table.column(entity: $0.declaringEntity, slot: $0.index) })
  }
}

extension StoreDerivation {
  /// Returns the derivations of a store, in the order in which they are computed.
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
