import CipherDataEngine

extension JSONGraph {
  /// Creates a graph from a document.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/storeCorrupt`` for names that the model does not have.
  init(_ document: JSONDocument, model: CompiledModel) throws {
    self.init(model: model)
    for object in document.objects {
      let reference = try reference(object.reference)
      let slots = model.entities[reference.entity].slots
      var values = [Slot](repeating: .null, count: slots.count)
      for slot in slots { values[slot.index] = try object.values[slot.name].map(slotValue) ?? .null }
      rows[reference] = Row(version: object.version, values: values)
    }
    for link in document.links {
      let relationship = try relationship(link.entity, link.relationship)
      links[relationship.id, default: []].insert(Link(source: try reference(link.source), destination: try reference(link.destination)))
    }
    for order in document.orders {
      let relationship = try relationship(order.entity, order.relationship)
      orders[relationship.id, default: [:]][try reference(order.source)] = try order.members.map(reference)
    }
  }

  /// Writes the objects to a document in a deterministic order.
  func write(to document: inout JSONDocument) {
    let sorted = rows.sorted { ($0.key.entity, $0.key.key) < ($1.key.entity, $1.key.key) }
    document.objects = sorted.map { reference, row in
      var values: [String: JSONDocument.Value] = [:]
      for slot in model.entities[reference.entity].slots { values[slot.name] = fileValue(row.values[slot.index], of: slot) }
      return JSONDocument.Object(reference: fileReference(reference), version: row.version, values: values)
    }
    document.links = []
    document.orders = []
    for relationship in model.relationships {
      let entity = model.entities[relationship.sourceEntity].name
      let pairs = (links[relationship.id] ?? []).sorted {
        ($0.source.rawValue, $0.destination.rawValue) < ($1.source.rawValue, $1.destination.rawValue)
      }
      document.links += pairs.map {
        JSONDocument.Link(
          entity: entity, relationship: relationship.name, source: fileReference($0.source), destination: fileReference($0.destination))
      }
      let lists = (orders[relationship.id] ?? [:]).sorted { $0.key.rawValue < $1.key.rawValue }
      document.orders += lists.map {
        JSONDocument.Order(
          entity: entity, relationship: relationship.name, source: fileReference($0), members: $1.map(fileReference))
      }
    }
  }

  private func corrupt(_ name: String) -> StoreError {
    StoreError(.storeCorrupt, "The file contains “\(name)”, which is not in the model.", operation: .open)
  }

  private func reference(_ reference: JSONDocument.Reference) throws -> ObjectReference {
    guard let entity = model.entity(named: reference.entity) else { throw corrupt(reference.entity) }
    return ObjectReference(entity: entity.number, key: reference.key)
  }

  private func relationship(_ entity: String, _ name: String) throws -> CompiledRelationship {
    guard let found = model.entity(named: entity)?.toManyRelationships.first(where: { $0.name == name }) else {
      throw corrupt("\(entity).\(name)")
    }
    return found
  }

  private func fileReference(_ reference: ObjectReference) -> JSONDocument.Reference {
    JSONDocument.Reference(entity: model.entities[reference.entity].name, key: reference.key)
  }

  private func slotValue(_ value: JSONDocument.Value) throws -> Slot {
    switch value {
    case .integer(let value): .int(value)
    case .real(let value): .real(value)
    case .text(let value): .text(value)
    case .bytes(let value): .bytes(value)
    case .object(let value): .int(try reference(value).rawValue)
    }
  }

  private func fileValue(_ value: Slot, of slot: CompiledSlot) -> JSONDocument.Value? {
    switch value {
    case .null: nil
    case .int(let value): slot.kind == .reference ? .object(fileReference(ObjectReference(rawValue: value))) : .integer(value)
    case .real(let value): .real(value)
    case .text(let value): .text(value)
    case .bytes(let value): .bytes(value)
    }
  }
}
