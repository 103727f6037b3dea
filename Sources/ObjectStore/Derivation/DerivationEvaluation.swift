public import Foundation
public import ObjectModel
package import ObjectQuery

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
        let edited = row.edited([slot.index: value], of: model.entities[row.entityNumber], into: writer)
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

/// The computation of derived values, shared by evaluation in memory and the SQL functions of stores.
package enum DerivedValue {
  /// Applies a text operation to a value. Other operations return the value unchanged.
  package static func changed(_ value: Slot, by operation: DerivationOperation) -> Slot {
    switch operation {
    case .canonical: ExpressionFunctions.apply(.canonical, [value], .text)
    case .uppercase: ExpressionFunctions.apply(.uppercase, [value], .text)
    case .lowercase: ExpressionFunctions.apply(.lowercase, [value], .text)
    default: value
    }
  }

  /// Converts a computed value to an attribute type. Returns null if the type cannot represent the value.
  package static func fitted(_ value: Slot, to type: AttributeType) -> Slot {
    guard type.isNumeric, let number = type.traits.number else { return value }
    return fitted(value, number)
  }

  private static func fitted(_ value: Slot, _ form: NumberForm) -> Slot {
    switch (value, form) {
    case (.int(let number), .integer(let range)): range.contains(number) ? value : .null
    case (.int(let number), .double): .real(Double(number))
    case (.int(let number), .single): .real(Double(Float(number)))
    case (.int(let number), .decimal): .bytes(DecimalCoding.encode(Decimal(number)))
    case (.real(let number), .single): number.isFinite && !Float(number).isFinite ? .null : .real(Double(Float(number)))
    // The sum of integers exceeds 64 bits.
    case (.real, .integer), (.real, .decimal): .null
    case (.bytes(let data), .double): real(of: data)
    case (.bytes(let data), .single): fitted(real(of: data), .single)
    default: value
    }
  }

  /// Converts a decimal to a double. Returns null for NaN, which SQLite cannot store.
  private static func real(of data: Data) -> Slot {
    guard let number = DecimalCoding.decode(data), !number.isNaN else { return .null }
    return .real(NSDecimalNumber(decimal: number).doubleValue)
  }

  /// Returns whether two values are identical when stored. Canonically equivalent texts with different bytes are not.
  package static func isSame(_ left: Slot, _ right: Slot) -> Bool {
    if case .text(let left) = left, case .text(let right) = right { return left.utf8.elementsEqual(right.utf8) }
    return left == right
  }
}

extension RowImage {
  /// Returns the slots of derived attributes whose values differ from those of another row of the object.
  package func derivedSlots(differingFrom other: RowImage, of entity: CompiledEntity) -> SlotMask {
    let slots = entity.derivedSlots.slots(below: entity.slots.count)
    return SlotMask(
      slots: slots.filter { index in
        let kind = entity.kinds[index]
        // An unreadable value counts as different.
        guard let value = try? slot(index, kind: kind), let former = try? other.slot(index, kind: kind) else { return true }
        return !DerivedValue.isSame(former, value)
      })
  }
}

extension CompiledDerivation {
  /// The aggregate function of the operation, or nil if it is not an aggregate.
  package var statistic: ResolvedAggregate.Function? {
    switch operation {
    case .count: .count
    case .sum: .sum
    case .minimum: .minimum
    case .maximum: .maximum
    case .average: .average
    case .copy, .canonical, .uppercase, .lowercase, .now: nil
    }
  }

  /// The value for an object without any values at the end of the path: 0 for counts and sums, otherwise null.
  package var emptyValue: Slot {
    switch operation {
    case .count: .int(0)
    case .sum: DerivedValue.fitted(.int(0), to: type)
    default: .null
    }
  }

  /// Whether every result is a valid value of the attribute without conversion.
  package var alwaysFits: Bool {
    switch operation {
    case .count: type == .integer64
    case .sum, .average: false
    default: source.map { $0.attributeType == type } ?? true
    }
  }
}

// MARK: - Derived attributes of a save

extension SaveChangesRequest {
  /// Returns the save with the derived values that depend only on the saved row. In new rows, other derived attributes get the values of an
  /// object without relationships. Values that the request contains for derived attributes are discarded.
  ///
  /// - Parameter now: The result of `now()`, in seconds since 2001.
  package func withLocalValues(_ model: CompiledModel, now: Double) throws -> SaveChangesRequest {
    var result = self
    let evaluation = LocalDerivation(model: model, now: now)
    if inserted.contains(where: { model.entities[$0.entityNumber].hasDerivedSlots }) {
      result.inserted = try evaluation.inserted(inserted)
    }
    if updated.contains(where: { model.entities[$0.row.entityNumber].hasDerivedSlots }) {
      result.updated = try evaluation.updated(updated)
    }
    return result
  }
}

private struct LocalDerivation {
  let model: CompiledModel
  let now: Double

  private func derivations(of entity: CompiledEntity, _ known: inout [Int: [CompiledDerivation]]) -> [CompiledDerivation] {
    guard entity.hasDerivedSlots else { return [] }
    if let found = known[entity.number] { return found }
    let found = model.derivations.filter { model.entities[$0.entity].subtree.contains(entity.number) }
    known[entity.number] = found
    return found
  }

  /// Computes a local derivation from a row and the values computed for it so far.
  private func value(_ derivation: CompiledDerivation, _ row: RowImage, _ values: [Int: Slot]) throws -> Slot {
    if derivation.operation == .now { return .real(now) }
    guard let source = derivation.source else { return .null }
    let value = try values[source.index] ?? row.value(source.index, of: model.entities[row.entityNumber], nil)
    return DerivedValue.fitted(DerivedValue.changed(value, by: derivation.operation), to: derivation.type)
  }

  func inserted(_ rows: RowList) throws -> RowList {
    var known: [Int: [CompiledDerivation]] = [:]
    let writer = RowWriter(rowCapacity: rows.count)
    var images: [RowImage] = []
    images.reserveCapacity(rows.count)
    for row in rows {
      let entity = model.entities[row.entityNumber]
      let derivations = derivations(of: entity, &known)
      if derivations.isEmpty {
        images.append(row)
        continue
      }
      var values: [Int: Slot] = [:]
      for derivation in derivations {
        values[derivation.slot.index] = derivation.isLocal ? try value(derivation, row, values) : derivation.emptyValue
      }
      images.append(row.edited(values, of: entity, into: writer))
    }
    return RowList(images)
  }

  func updated(_ updates: [SaveChangesRequest.Update]) throws -> [SaveChangesRequest.Update] {
    var known: [Int: [CompiledDerivation]] = [:]
    let writer = RowWriter(rowCapacity: updates.count)
    return try updates.map { update in
      let entity = model.entities[update.row.entityNumber]
      let derivations = derivations(of: entity, &known)
      if derivations.isEmpty { return update }
      var changed = update.changedSlots
      for derivation in derivations { changed.remove(derivation.slot.index) }
      var values: [Int: Slot] = [:]
      for derivation in derivations where derivation.isLocal {
        if derivation.operation != .now, let source = derivation.source, !changed.contains(source.index) { continue }
        values[derivation.slot.index] = try value(derivation, update.row, values)
        changed.insert(derivation.slot.index)
      }
      let row = update.row.edited(values, of: entity, into: writer)
      return SaveChangesRequest.Update(row: row, changedSlots: changed, oldVersion: update.oldVersion)
    }
  }
}
