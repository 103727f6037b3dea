import SyncCore

extension Simulation {
  /// Makes a random save on a device, as an application would: with the delete rules Cascade for required relationships and Nullify for
  /// others.
  func save(on device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    var editor = ObjectEditor(
      objects: device.store.state.objects, model: model, version: device.model, hasManyClaims: setup.hasManyClaims)
    // Some saves are as large as a batch request.
    for _ in 0...(random.chance(0.02) ? 12 : random.number(below: 4)) {
      let choice = random.number(below: 100)
      if choice < (setup.hasManyClaims && editor.objects.count > 7 ? 20 : 40) {
        editor.insert(device.store.newID(), serial: newSerial(), &random)
      } else if choice < (setup.hasManyClaims ? 75 : 85) {
        editor.update(&random)
      } else {
        editor.delete(&random)
      }
    }
    let changes = editor.changes
    if changes.isEmpty { return }
    let serials = editor.serials
    let save = try device.store.save(changes, at: wall(of: device))
    checks.noteSave(save, serials, of: device)
  }
}

/// Collects the changes of one save.
struct ObjectEditor {
  private(set) var objects: [RecordID: SyncedObject]
  private let original: [RecordID: SyncedObject]
  private let model: SimulatedModel
  /// The version of the model that the device has.
  private let version: SyncModel
  private let hasManyClaims: Bool

  /// - Parameter hasManyClaims: Whether several devices often refer to the same objects by one-to-one relationships.
  init(objects: [RecordID: SyncedObject], model: SimulatedModel, version: SyncModel, hasManyClaims: Bool) {
    (self.objects, original, self.model, self.version, self.hasManyClaims) = (objects, objects, model, version, hasManyClaims)
  }

  /// What differs from the original.
  var changes: [PendingChange] {
    Set(objects.keys).union(original.keys).sorted().compactMap { id in
      switch (original[id], objects[id]) {
      case (let former?, let object?):
        let changed = object.values.filter { former.values[$0.key] != $0.value }
        return changed.isEmpty ? nil : PendingChange(id, entity: object.entity, changed)
      case (nil, let object?): return PendingChange(id, entity: object.entity, object.values)
      case (let former?, nil): return PendingChange(id, entity: former.entity, nil)
      case (nil, nil): return nil
      }
    }
  }

  /// Which objects the records are.
  var serials: [RecordID: Int64] {
    objects.merging(original) { first, _ in first }.compactMapValues { model.serial($0.entity, $0.values) }
  }

  private func objects(of entity: Int) -> [RecordID] {
    objects.filter { $0.value.entity == model.entities[entity].id }.map(\.key).sorted()
  }

  /// Returns an object that a relationship can refer to.
  private func destination(_ reference: SimulatedModel.Reference, _ random: inout SimulationRandom) -> RecordID? {
    let all = objects(of: reference.destination)
    if !reference.isExclusive { return random.element(of: all) }
    let taken = Set(objects.values.compactMap { $0.values[reference.property]?.reference })
    let free = all.filter { !taken.contains($0) }
    // Several devices often choose the same one.
    if random.chance(hasManyClaims ? 0.9 : 0.6), let first = free.first { return first }
    return random.element(of: reference.isRequired ? free : all)
  }

  /// Sets a one-to-one relationship of the object that refers to a destination to nil, as changing the inverse relationship does.
  private mutating func release(_ reference: SimulatedModel.Reference, _ destination: FieldValue?) {
    guard reference.isExclusive, destination?.reference != nil else { return }
    for (id, object) in objects where object.values[reference.property] == destination { objects[id]?.values[reference.property] = .null }
  }

  mutating func insert(_ id: RecordID, serial: Int64, _ random: inout SimulationRandom) {
    guard let entity = random.element(of: model.entities), version.entities[entity.id] != nil else { return }
    var values: [PropertyID: FieldValue] = [entity.serial: .integer(serial)]
    for attribute in entity.attributes { values[attribute] = Self.value(&random) }
    for reference in entity.references {
      let destination = destination(reference, &random)
      if reference.isRequired, destination == nil { return }
      values[reference.property] = destination.flatMap { reference.isRequired || random.chance(0.7) ? .reference($0) : nil } ?? .null
    }
    for reference in entity.references { release(reference, values[reference.property]) }
    objects[id] = SyncedObject(entity: entity.id, values)
  }

  mutating func update(_ random: inout SimulationRandom) {
    let claiming = hasManyClaims && random.chance(0.5) ? claimingObjects : [:]
    guard let id = random.element(of: (claiming.isEmpty ? objects : claiming).keys.sorted()), let object = objects[id] else { return }
    let entity = model.entity(object.entity)
    if random.chance(claiming.isEmpty ? 0.35 : 0.9), let reference = random.element(of: entity.references) {
      if let destination = destination(reference, &random), reference.isRequired || random.chance(0.8) {
        release(reference, .reference(destination))
        objects[id]?.values[reference.property] = .reference(destination)
      } else if !reference.isRequired {
        objects[id]?.values[reference.property] = .null
      }
    } else if let attribute = random.element(of: entity.attributes) {
      objects[id]?.values[attribute] = Self.value(&random)
    }
  }

  mutating func delete(_ random: inout SimulationRandom) {
    // Often objects that others wait for.
    let exclusive = random.chance(0.4) ? claimingObjects : [:]
    guard let id = random.element(of: (exclusive.isEmpty ? objects : exclusive).keys.sorted()) else { return }
    delete(id)
  }

  /// The objects that can have a one-to-one relationship.
  private var claimingObjects: [RecordID: SyncedObject] {
    objects.filter { model.entity($0.value.entity).references.contains(where: \.isExclusive) }
  }

  private mutating func delete(_ id: RecordID) {
    objects[id] = nil
    for (other, object) in objects.sorted(by: { $0.key < $1.key }) {
      for (property, value) in object.values where value.reference == id && objects[other] != nil {
        if model.syncModel.isRequired(property, of: object.entity) {
          delete(other)
        } else {
          objects[other]?.values[property] = .null
        }
      }
    }
  }

  private static func value(_ random: inout SimulationRandom) -> FieldValue {
    switch random.number(below: 10) {
    case 0: .null
    case 1: .text("text \(random.number(below: 5))")
    case 2: .real(Double(random.number(below: 100)).bitPattern)
    default: .integer(Int64(random.number(below: 1_000_000)))
    }
  }
}
