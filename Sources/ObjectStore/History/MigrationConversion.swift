package import ObjectModel

/// Converts what a migration changes to terms of the model that the store is migrated to.
///
/// Objects keep their keys in all stages, so changes of a stage that writes an intermediate model are converted to the entities and
/// properties that these become. What later stages remove is left out.
package final class MigrationConversion {
  fileprivate let ids: HistoryIDs
  fileprivate let space: ObjectIDSpace
  /// The model that the store is migrated to.
  package var model: CompiledModel { ids.model }

  /// - Parameters:
  ///   - ids: The IDs by which stages identify entities and properties, for the model that the store is migrated to.
  ///   - storeIdentifier: The UUID of the store.
  package init(_ ids: HistoryIDs, storeIdentifier: String) {
    self.ids = ids
    space = .register(storeIdentifier: storeIdentifier, model: ids.model)
  }

  /// Returns changes of all objects of entities.
  package func changes(_ changes: [HistorySchemaChange]) throws -> [RowChange] {
    try changes.map { .schema(try ids.schemaChange($0, in: space)) }
  }

  /// Returns the conversion of the changes that a stage's handlers write.
  ///
  /// - Parameter stage: The IDs of the model that the handlers write.
  package func ofStage(_ stage: HistoryIDs) -> StageConversion { StageConversion(of: stage, to: self) }
}

/// Converts the changes of a stage's handlers.
package final class StageConversion {
  private let stage: HistoryIDs
  private let ids: HistoryIDs
  private let space: ObjectIDSpace
  /// Whether the stage writes the model that is reported.
  private let isLast: Bool
  /// The pairs of older and newer slots, by the number of the stage's entity.
  private var slots: [Int: [(older: Int, newer: Int)]] = [:]
  /// The model of the converted changes.
  package var model: CompiledModel { ids.model }

  fileprivate init(of stage: HistoryIDs, to conversion: MigrationConversion) {
    (self.stage, ids, space) = (stage, conversion.ids, conversion.space)
    isLast = stage.model.checksum == ids.model.checksum
  }

  /// Returns a consumer that passes converted changes to another one.
  package func consumer(for consumer: any ChangeConsumer) -> any ChangeConsumer { ConvertingConsumer(self, consumer) }

  fileprivate func needs(_ newer: ChangeNeeds) -> ChangeNeeds { isLast ? newer : ChangeNeeds(ofAll: stage.model, as: newer) }

  /// Converts a change, and passes the result on. What later stages remove is left out.
  fileprivate func convert(_ change: RowChange, _ receive: (RowChange) throws -> Void) rethrows {
    switch change {
    case .insert(let row): if let row = converted(row) { try receive(.insert(row)) }
    case .update(let row):
      guard let converted = converted(row), !converted.slots.isEmpty || row.slots.isEmpty else { return }
      try receive(.update(converted))
    case .delete(let row): if let row = converted(row) { try receive(.delete(row)) }
    case .links(let links): try convert(links) { try receive(.links($0)) }
    case .order(let order):
      guard let source = reference(order.source), let relationship = relationship(order.relationship), relationship.isOrdered else {
        return
      }
      let runs = order.change.runs.map {
        OrderChange.Run(after: $0.after.flatMap(reference), members: $0.members.compactMap(reference))
      }
      try receive(
        .order(
          ChangedOrder(
            relationship, of: source, order: order.order.compactMap(reference), OrderChange(runs: runs.filter { !$0.members.isEmpty }),
            in: space)))
    case .schema, .unspecified: try receive(change)
    }
  }

  private func convert(_ links: ChangedLinks, _ receive: (ChangedLinks) throws -> Void) rethrows {
    guard let source = reference(links.source), let relationship = relationship(links.relationship) else { return }
    let (added, removed) = (links.addedMembers.compactMap(reference), links.removedMembers.compactMap(reference))
    if added.isEmpty, removed.isEmpty { return }
    let (leading, isReversed) = ids.model.leading(relationship)
    guard isReversed else {
      return try receive(ChangedLinks(leading, of: source, added: added, removed: removed, in: space))
    }
    for member in removed { try receive(ChangedLinks(leading, of: member, removed: [source], in: space)) }
    for member in added { try receive(ChangedLinks(leading, of: member, added: [source], in: space)) }
  }

  // MARK: Conversion

  /// Returns the object in the newer model, or nil if its entity is removed later.
  private func reference(_ reference: ObjectReference) -> ObjectReference? {
    isLast ? reference : stage.object(reference).flatMap { ids.reference($0) }
  }

  /// Returns the relationship in the newer model if its members are still in a join table or have an order there.
  private func relationship(_ relationship: CompiledRelationship) -> CompiledRelationship? {
    if isLast { return ids.model.relationships[relationship.id] }
    guard case .toMany(let newer)? = ids.property(stage.relationship(relationship.id)) else { return nil }
    return newer
  }

  private func slots(of entity: Int, as newer: CompiledEntity) -> [(older: Int, newer: Int)] {
    if let known = slots[entity] { return known }
    let pairs = stage.slots(of: entity).enumerated().compactMap { older, id -> (older: Int, newer: Int)? in
      guard case .slot(let slot)? = ids.property(id), newer.slots.indices.contains(slot.index), newer.slots[slot.index].name == slot.name
      else { return nil }
      return (older, slot.index)
    }
    slots[entity] = pairs
    return pairs
  }

  private func converted(_ row: ChangedRow) -> ChangedRow? {
    guard let reference = reference(row.reference) else { return nil }
    if isLast { return ChangedRow(reference, old: row.old, new: row.new, slots: row.slots, isDerived: row.isDerived, in: space) }
    var mask = SlotMask()
    for pair in slots(of: row.reference.entity, as: ids.model.entities[reference.entity]) where row.slots.contains(pair.older) {
      mask.insert(pair.newer)
    }
    return ChangedRow(
      reference, old: row.old.map { converted($0, reference) }, new: row.new.map { converted($0, reference) }, slots: mask,
      isDerived: row.isDerived, in: space)
  }

  /// Returns a row with the values that the newer model has for it so far.
  private func converted(_ row: RowImage, _ reference: ObjectReference) -> RowImage {
    let (older, newer) = (stage.model.entities[row.entityNumber], ids.model.entities[reference.entity])
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: newer.number, slotCount: newer.slots.count, key: row.key, version: row.version)
    for pair in slots(of: row.entityNumber, as: newer) where !row.isNull(pair.older) {
      let (from, to) = (older.slots[pair.older], newer.slots[pair.newer])
      if from.kind == .reference {
        if to.kind == .reference, let destination = self.reference(row.reference(pair.older)) {
          writer.setReference(destination, at: pair.newer)
        }
      } else if from.kind == .bytes, to.kind == .bytes, let external = row.external(pair.older) {
        writer.setExternal(external, at: pair.newer)
      } else if let value = try? row.slot(pair.older, kind: from.kind), let type = from.attributeType, let target = to.attributeType {
        writer.set(type == target ? value : type.converted(value, to: target) ?? .null, at: pair.newer)
      }
    }
    return writer.endRow()
  }
}

/// Passes converted changes to a consumer.
private final class ConvertingConsumer: ChangeConsumer {
  private let conversion: StageConversion
  private let consumer: any ChangeConsumer
  let needs: ChangeNeeds

  init(_ conversion: StageConversion, _ consumer: any ChangeConsumer) {
    (self.conversion, self.consumer) = (conversion, consumer)
    needs = conversion.needs(consumer.needs)
  }

  func receive(_ change: RowChange) throws { try conversion.convert(change, consumer.receive) }
}

extension ChangeNeeds {
  /// Creates the needs for all changes of a model, with those rows that other needs include for any entity.
  fileprivate convenience init(ofAll model: CompiledModel, as other: ChangeNeeds) {
    var needs = OfEntity()
    needs.isIncluded = true
    needs.includesOldRow = other.entities.contains { $0.includesOldRow }
    needs.includesNewRow = other.entities.contains { $0.includesNewRow }
    needs.includesDeletedRow = other.entities.contains { $0.includesDeletedRow }
    self.init(
      entities: Array(repeating: needs, count: model.entities.count),
      relationships: Array(repeating: true, count: model.relationships.count))
  }
}
