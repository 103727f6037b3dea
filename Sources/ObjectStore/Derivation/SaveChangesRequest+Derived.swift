package import ObjectModel

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
      images.append(BatchEdits.edited(row, values, entity: entity, version: row.version, into: writer))
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
      let row = BatchEdits.edited(update.row, values, entity: entity, version: update.row.version, into: writer)
      return SaveChangesRequest.Update(row: row, changedSlots: changed, oldVersion: update.oldVersion)
    }
  }
}
