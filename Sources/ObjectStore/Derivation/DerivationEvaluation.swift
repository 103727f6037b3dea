public import Foundation
public import ObjectModel
import ObjectQuery

/// Computes derived attributes of rows in memory, for stores without a query language.
///
/// A store that keeps all rows in memory calls ``update(after:rows:resolver:put:)`` at the end of each save and batch request and returns
/// the result. Its ``IncrementalStore/derivesAttributes`` is true.
public struct DerivationEvaluation: Sendable {
  private let model: CompiledModel
  private let now: Double
  /// The filters by derived attribute. An invalid filter throws when it is evaluated, but opening the store has already rejected it.
  private let filters: [AttributeKey: Result<DerivationFilter, any Error>]

  private struct AttributeKey: Hashable {
    let entity: Int
    let slot: Int

    init(_ derivation: CompiledDerivation) { (entity, slot) = (derivation.entity, derivation.slot.index) }
  }

  /// Creates an evaluation for one save or batch request.
  ///
  /// - Parameters:
  ///   - model: The model of the store.
  ///   - date: The result of `now()`.
  public init(model: CompiledModel, date: Date = Date()) {
    self.model = model
    now = date.timeIntervalSinceReferenceDate
    var filters: [AttributeKey: Result<DerivationFilter, any Error>] = [:]
    for derivation in model.derivations where derivation.filter != nil {
      do {
        if let filter = try DerivationFilter(of: derivation, in: model) { filters[AttributeKey(derivation)] = .success(filter) }
      } catch {
        filters[AttributeKey(derivation)] = .failure(error)
      }
    }
    self.filters = filters
  }

  /// Returns the value of a derived attribute of an object.
  ///
  /// - Parameters:
  ///   - derivation: The derived attribute.
  ///   - object: The object.
  ///   - resolver: Reads objects.
  /// - Throws: Rethrows the error of `resolver`; ``FetchPredicateError`` if the filter cannot be evaluated.
  public func value<Resolver: ObjectResolver>(
    of derivation: CompiledDerivation, for object: Resolver.Object, resolver: Resolver
  ) throws -> Slot {
    try value(of: derivation, for: object, resolver: resolver, filter: filter(of: derivation, resolver: resolver))
  }

  private func filter<Resolver: ObjectResolver>(
    of derivation: CompiledDerivation, resolver: Resolver
  ) throws -> PredicateEvaluator<Resolver>? {
    guard let filter = try filters[AttributeKey(derivation)]?.get() else { return nil }
    return PredicateEvaluator(predicate: filter.predicate, constants: filter.constants, resolver: resolver)
  }

  private func value<Resolver: ObjectResolver>(
    of derivation: CompiledDerivation, for object: Resolver.Object, resolver: Resolver, filter: PredicateEvaluator<Resolver>?
  ) throws -> Slot {
    if derivation.operation == .now { return .real(now) }
    var objects = [object]
    for step in derivation.steps {
      objects = try objects.flatMap { object in
        if step.isToMany {
          let members = try resolver.members(of: object, toMany: step.index)
          return try filter.map { filter in try members.filter { try filter.matches($0) } } ?? members
        }
        return try resolver.destination(of: object, slot: step.index).map { [$0] } ?? []
      }
    }
    guard let function = derivation.statistic else {
      guard let end = objects.first, let source = derivation.source else { return .null }
      let value = try resolver.value(of: end, slot: source.index)
      return DerivedValue.fitted(DerivedValue.changed(value, by: derivation.operation), to: derivation.type)
    }
    var statistic = Statistic(function)
    for object in objects {
      statistic.add(try derivation.source.map { try resolver.value(of: object, slot: $0.index) } ?? .int(1))
    }
    return statistic.isEmpty ? derivation.emptyValue : DerivedValue.fitted(statistic.result, to: derivation.type)
  }

  /// Updates all derived attributes after a save. The time is linear in the number of rows of the entities that have derived attributes,
  /// and of their members.
  ///
  /// - Parameters:
  ///   - request: The save, which the rows already include.
  ///   - rows: Returns all rows of an entity and its subentities.
  ///   - resolver: Creates a resolver for the current rows. Called once for each derived attribute.
  ///   - put: Stores a row with new values. Its version is unchanged.
  /// - Returns: The rows that were written in addition to the request.
  /// - Throws: Rethrows the errors of the closures; ``FetchPredicateError`` if a filter cannot be evaluated.
  public func update<Resolver: ObjectResolver<ObjectReference>>(
    after request: SaveChangesRequest, rows: (CompiledEntity) throws -> [RowImage], resolver: () throws -> Resolver,
    put: (RowImage) throws -> Void
  ) throws -> SaveOutcome {
    if model.derivations.isEmpty { return SaveOutcome() }
    let saved = Set(request.inserted.references + request.updated.map(\.row.reference))
    var changed: [ObjectReference: RowImage] = [:]
    for row in Array(request.inserted) + request.updated.map(\.row) where model.entities[row.entityNumber].hasDerivedSlots {
      changed[row.reference] = row
    }
    let writer = RowWriter()
    for derivation in model.derivations {
      let resolver = try resolver()
      let slot = derivation.slot
      let filter = try filter(of: derivation, resolver: resolver)
      for row in try rows(model.entities[derivation.entity]) {
        if derivation.operation == .now, !saved.contains(row.reference) { continue }
        let value = try value(of: derivation, for: row.reference, resolver: resolver, filter: filter)
        // An unreadable value counts as different and is overwritten.
        if let known = try? row.slot(slot.index, kind: slot.kind), DerivedValue.isSame(value, known) { continue }
        let edited = BatchEdits.edited(
          row, [slot.index: value], entity: model.entities[row.entityNumber], version: row.version, into: writer)
        changed[row.reference] = edited
        try put(edited)
      }
    }
    return SaveOutcome(refreshed: RowList(changed.sorted { ($0.key.key, $0.key.entity) < ($1.key.key, $1.key.entity) }.map(\.value)))
  }
}

extension BatchChanges {
  /// Adds the rows that a save has written in addition to its request.
  public mutating func add(_ outcome: SaveOutcome) {
    historyPosition = outcome.historyPosition ?? historyPosition
    if outcome.isEmpty { return }
    var known = Set(inserted).union(updated).union(deleted)
    refreshed += (outcome.refreshed.references + outcome.outdated).filter { known.insert($0).inserted }
  }
}
