import SyncCore

extension Simulation {
  /// Makes a random save on a device, as an application would: with the delete rules Cascade for required relationships and Nullify for
  /// others.
  func save(on device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    var editor = ObjectEditor(
      objects: device.store.state.objects, model: model, version: device.model, setup, on: device.store.state.zone.device)
    if setup.hasDeletionMarks { editor.deleted = device.store.deletedObjects() }
    if setup.hasLinks, device.isForked, random.chance(0.6) {
      // The object can have the ID of a lost one.
      editor.insert(device.store.newID(), serial: newSerial(), &random)
      for _ in 0..<3 { editor.changeLink(&random, ofInserted: true) }
    }
    // Some saves are as large as a batch request.
    for _ in 0...(random.chance(0.02) ? 12 : random.number(below: 4)) {
      if setup.hasLists, random.chance(0.3) {
        editor.move(&random)
        continue
      }
      if setup.hasLinks, random.chance(setup.hasManyLinks ? 0.75 : 0.4) {
        editor.changeLink(&random)
        continue
      }
      let choice = random.number(below: 100)
      let isFull = setup.hasFewObjects && editor.plainObjects.count > (setup.hasManyMerges ? 3 : 7)
      if choice < (isFull ? setup.hasManyMerges ? 5 : 20 : 40) {
        editor.insert(device.store.newID(), serial: newSerial(), &random)
      } else if choice
        < (setup.hasManyLinks
          ? 95 : setup.hasManyClaims ? 75 : setup.hasManyMerges ? 95 : setup.hasManyDeletions ? 60 : setup.truncates ? 75 : 85)
      {
        editor.update(&random)
      } else if setup.hasDeletionMarks, random.chance(setup.hasManyDeletions ? 0.4 : 0.2) {
        editor.reinsert(&random)
      } else {
        editor.delete(&random)
      }
    }
    if setup.hasLists { editor.addPositions(&random) }
    let changes = editor.changes
    if changes.isEmpty { return }
    let serials = editor.serials
    let former = editor.deleted.merging(device.store.state.objects) { $1 }
    let save = try device.store.save(changes, at: wall(of: device))
    try checks.checkDifferences(save, changes, former)
    checks.noteRemovedBits(changes, former)
    try checks.checkVersions(of: save, former, on: device)
    checks.noteSave(save, serials, of: device)
    if editor.validatesCounts { checks.addedMembers[device.number] = (changes, former) }
  }
}

/// Collects the changes of one save.
struct ObjectEditor {
  var objects: [RecordID: SyncedObject]
  let original: [RecordID: SyncedObject]
  let model: SimulatedModel
  /// The version of the model that the device has.
  let version: SyncModel
  /// Whether several devices often refer to the same objects by one-to-one relationships.
  private let hasManyClaims: Bool
  private let hasManyLinks: Bool
  private let hasManyMerges: Bool
  let device: DeviceID
  /// Whether the application validates maximum counts.
  var validatesCounts: Bool
  private let hashing = SimulatedHashing()
  /// The links that were removed by deleting one of their ends only.
  private var impliedRemovals: Set<RecordID> = []
  /// Objects that were deleted, and that can be inserted again under the same records.
  var deleted: [RecordID: SyncedObject] = [:]

  init(
    objects: [RecordID: SyncedObject], model: SimulatedModel, version: SyncModel, _ setup: Simulation.Setup, on device: DeviceID
  ) {
    self.device = device
    validatesCounts = device.value % 4 != 0
    (self.objects, original, self.model, self.version) = (objects, objects, model, version)
    (hasManyClaims, hasManyLinks, hasManyMerges) = (setup.hasManyClaims, setup.hasManyLinks, setup.hasManyMerges)
  }

  /// The objects that are no links.
  var plainObjects: [RecordID: SyncedObject] {
    model.linkRelationships.isEmpty ? objects : objects.filter { !$0.value.isLink }
  }

  /// What differs from the original.
  var changes: [PendingChange] {
    Set(objects.keys).union(original.keys).sorted().compactMap { id in
      if let link = (original[id] ?? objects[id]).flatMap({ model.link($0) }) { return change(of: link, id) }
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

  /// Returns the change of a link. The store determines what a removal concerns, and when a link was added.
  private func change(of link: Link, _ id: RecordID) -> PendingChange? {
    switch (original[id] != nil, objects[id] != nil) {
    case (false, true): .addition(of: link, id, Stamp(.zero, DeviceID(0))).positioned(objects[id]?.positions ?? [:])
    case (true, true) where original[id] != objects[id]: .move(of: link, id, objects[id]?.positions ?? [:])
    case (true, false): impliedRemovals.contains(id) ? nil : .removal(of: link, id, from: nil)
    default: nil
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
    let all = objects(of: reference.destination).filter { hasRoom($0, reference) }
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

  /// Sets the other end of a relationship that is its own inverse, and the former destinations of both objects to nil.
  private mutating func pair(_ id: RecordID, _ reference: SimulatedModel.Reference) {
    if !reference.isMutual { return }
    let (property, destination) = (reference.property, objects[id]?.values[reference.property]?.reference)
    for (other, object) in objects where other != id && other != destination {
      guard let value = object.values[property]?.reference, value == id || value == destination else { continue }
      objects[other]?.values[property] = .null
    }
    if let destination { objects[destination]?.values[property] = .reference(id) }
  }

  mutating func insert(_ id: RecordID, serial: Int64, _ random: inout SimulationRandom) {
    guard let entity = random.element(of: model.entities), version.entities[entity.id] != nil else { return }
    var values: [PropertyID: FieldValue] = [entity.serial: .integer(serial)]
    for attribute in entity.attributes { values[attribute] = Self.value(of: attribute, entity.rules[attribute], .null, &random) }
    for asset in entity.assets.sorted() { values[asset] = Self.asset(&random) }
    if let unique = entity.unique { values[unique] = freeValue(of: unique, &random) }
    for reference in entity.references {
      let destination = destination(reference, &random)
      if reference.isRequired, destination == nil { return }
      values[reference.property] = destination.flatMap { reference.isRequired || random.chance(0.7) ? .reference($0) : nil } ?? .null
    }
    for reference in entity.references { release(reference, values[reference.property]) }
    objects[id] = SyncedObject(entity: entity.id, values)
    for reference in entity.references where reference.isMutual { pair(id, reference) }
  }

  mutating func update(_ random: inout SimulationRandom) {
    let claiming = hasManyClaims && random.chance(0.5) ? claimingObjects : [:]
    let all = (claiming.isEmpty ? plainObjects : claiming).keys.sorted()
    // Often the same ones.
    let candidates = hasManyMerges && random.chance(0.8) ? all.prefix(2) : all[...]
    guard let id = random.element(of: candidates), let object = objects[id] else { return }
    let entity = model.entity(object.entity)
    if !entity.assets.isEmpty, random.chance(0.35), let asset = random.element(of: entity.assets.sorted()) {
      objects[id]?.values[asset] = Self.asset(&random)
      return
    }
    if random.chance(hasManyMerges ? 0.1 : claiming.isEmpty ? 0.35 : 0.9), let reference = random.element(of: entity.references) {
      if let destination = destination(reference, &random), reference.isRequired || random.chance(0.8) {
        release(reference, .reference(destination))
        objects[id]?.values[reference.property] = .reference(destination)
        pair(id, reference)
      } else if !reference.isRequired {
        objects[id]?.values[reference.property] = .null
        pair(id, reference)
      }
    } else if let unique = entity.unique, random.chance(0.3) {
      let value = freeValue(of: unique, &random)
      objects[id]?.values[unique] = value
    } else if let attribute = random.element(of: entity.attributes) {
      objects[id]?.values[attribute] = Self.value(of: attribute, entity.rules[attribute], object.values[attribute] ?? .null, &random)
    }
  }

  mutating func delete(_ random: inout SimulationRandom) {
    // Often objects that others wait for.
    let exclusive = random.chance(0.4) ? claimingObjects : [:]
    guard let id = random.element(of: (exclusive.isEmpty ? plainObjects : exclusive).keys.sorted()) else { return }
    if isDenied(id), random.chance(0.6) { deleteDenying(id) }
    if isDenied(id) { return }
    let links = objects.filter { $0.value.isLink }
    delete(id)
    // A store removes the links with the object, and may or may not record that.
    if !links.isEmpty, random.chance(0.5) { impliedRemovals.formUnion(links.keys.filter { objects[$0] == nil }) }
  }

  /// Returns whether an object that would remain refers to one that would be deleted, by a relationship that denies it.
  private func isDenied(_ id: RecordID) -> Bool {
    var (deleted, next): (Set<RecordID>, [RecordID]) = ([id], [id])
    while let id = next.popLast() {
      for (other, object) in objects {
        for (property, value) in object.values where value.reference == id && model.syncModel.isRequired(property, of: object.entity) {
          if version.isDenying(property, of: object.entity) { continue }
          if deleted.insert(other).inserted { next.append(other) }
        }
      }
    }
    return objects.contains { other, object in
      !deleted.contains(other)
        && object.values.contains { property, value in
          value.reference.map(deleted.contains) ?? false && version.isDenying(property, of: object.entity)
        }
    }
  }

  /// Deletes the objects, and removes the links, that deny the deletion of an object.
  private mutating func deleteDenying(_ id: RecordID) {
    for (other, object) in objects.sorted(by: { $0.key < $1.key }) where other != id {
      let denies = object.values.contains { $0.value.reference == id && version.isDenying($0.key, of: object.entity) }
      guard denies, objects[other] != nil else { continue }
      if object.isLink { remove(other) } else if !isDenied(other) { delete(other) }
    }
  }

  /// Inserts a deleted object again, as undoing the deletion does.
  mutating func reinsert(_ random: inout SimulationRandom) {
    let candidates = deleted.filter { id, object in
      objects[id] == nil && original[id] == nil && version.updateWins(object.entity)
        && model.entity(object.entity).references.allSatisfy { reference in
          guard reference.isRequired else { return true }
          if let destination = object.values[reference.property]?.reference, !hasRoom(destination, reference) { return false }
          guard let destination = object.values[reference.property]?.reference, objects[destination] != nil else { return false }
          return !reference.isExclusive || !objects.values.contains { $0.values[reference.property] == .reference(destination) }
        }
    }
    guard let id = random.element(of: candidates.keys.sorted()), var object = candidates[id] else { return }
    if let unique = model.entity(object.entity).unique, objects.values.contains(where: { $0.values[unique] == object.values[unique] }) {
      object.values[unique] = .null
    }
    for reference in model.entity(object.entity).references {
      if let destination = object.values[reference.property]?.reference, objects[destination] == nil || !hasRoom(destination, reference) {
        object.values[reference.property] = .null
      }
      release(reference, object.values[reference.property])
    }
    objects[id] = object
    for reference in model.entity(object.entity).references { pair(id, reference) }
  }

  /// Adds or removes a link.
  ///
  /// - Parameter ofInserted: Whether one of an object that this save inserts.
  mutating func changeLink(_ random: inout SimulationRandom, ofInserted: Bool = false) {
    guard let relationship = random.element(of: model.linkRelationships), version.entities[relationship.id] != nil else { return }
    let links = objects.filter { $0.value.entity == relationship.id }.keys.sorted()
    if random.chance(hasManyLinks ? 0.1 : 0.3), let id = random.element(of: links) {
      remove(id)
      return
    }
    // Several devices often choose the same ones, and sometimes one that this save inserts.
    let count = random.chance(hasManyLinks ? 0.9 : 0.3) ? 2 : Int.max
    let inserted = ofInserted || random.chance(hasManyLinks ? 0.15 : 0.25) ? objects.keys.filter { original[$0] == nil } : []
    func end(_ entity: Int) -> RecordID? {
      let all = objects(of: entity)
      let new = inserted.isEmpty ? [] : all.filter(inserted.contains)
      return random.element(of: new.isEmpty ? all.prefix(random.chance(0.7) ? 1 : count) : new[...])
    }
    guard let source = end(relationship.source), let destination = end(relationship.destination) else { return }
    let link = Link(relationship.id, from: source, to: destination, isSymmetric: relationship.isSymmetric)
    let id = hashing.id(of: link)
    if objects[id] != nil {
      remove(id)
    } else if hasRoom(for: link, relationship) {
      objects[id] = SyncedObject(entity: link.relationship, link.values)
    }
  }

  private mutating func remove(_ link: RecordID) {
    objects[link] = nil
    impliedRemovals.remove(link)
  }

  /// The objects that can have a one-to-one relationship.
  private var claimingObjects: [RecordID: SyncedObject] {
    plainObjects.filter { model.entity($0.value.entity).references.contains(where: \.isExclusive) }
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

  /// Returns a value that no other object has, of few ones.
  private func freeValue(of unique: PropertyID, _ random: inout SimulationRandom) -> FieldValue {
    let value = FieldValue.text("value \(random.number(below: 6))")
    return objects.values.contains { $0.values[unique] == value } ? .null : value
  }

  /// Returns a new value for an attribute. Numbers of odd attributes are real ones.
  private static func value(
    of attribute: PropertyID, _ rule: MergeRule?, _ former: FieldValue, _ random: inout SimulationRandom
  ) -> FieldValue {
    guard let rule, rule != .firstWriter else { return value(&random) }
    if rule == .custom {
      if random.chance(0.05) { return .null }
      return .integer(SimulatedModel.bits(former) ^ 1 << Int64(random.number(below: 12)))
    }
    if random.chance(0.07) { return .null }
    if rule == .union { return .integer(1 << Int64(random.number(below: 12))) }
    let isReal = attribute.value % 2 == 1
    if rule != .counter {
      let number = random.number(below: 40) - 20
      return isReal ? .real(random.chance(0.1) ? Double.nan.bitPattern : (Double(number) / 2).bitPattern) : .integer(Int64(number))
    }
    // Counters can overflow.
    let amount = random.number(below: 20) - 5
    if !isReal, random.chance(0.02) { return .integer(.max) }
    switch former {
    case .integer(let former): return .integer(former &+ Int64(amount))
    case .real(let former): return .real((Double(bitPattern: former) + Double(amount) / 2).bitPattern)
    default: return isReal ? .real((Double(amount) / 2).bitPattern) : .integer(Int64(amount))
    }
  }

  /// Returns a large value, often one that other objects have too.
  private static func asset(_ random: inout SimulationRandom) -> FieldValue {
    if random.chance(0.15) { return .null }
    let number = random.number(below: random.chance(0.3) ? 4 : 1_000_000)
    return .asset(AssetReference(digest: Digest(UInt64(number), 0, 0, 0), size: 50 + Int64(number % 300)))
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
