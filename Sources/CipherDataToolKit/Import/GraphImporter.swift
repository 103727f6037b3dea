import Foundation
package import ObjectContext
@_spi(Generated) package import ObjectModel
package import ObjectQuery
import ObjectStore

/// An importer that finds existing objects, updates what differs, and inserts what is missing. It keeps only identifiers in memory between
/// batches.
///
/// Run it within one transaction of the store, so that either the whole input is stored or nothing.
package final class GraphImporter {
  /// The numbers of records and objects that an import processed.
  package struct Summary: Sendable, Hashable {
    /// Records read and stored.
    package var records = 0
    /// Objects inserted, including nested ones.
    package var inserted = 0
    /// Objects with a changed value or relationship.
    package var updated = 0
    /// Nested objects that were replaced.
    package var deleted = 0
    /// By entity, the objects that were found by their values and keep their stable IDs, although the input has others.
    package var keptStableIDs: [String: Int] = [:]
    /// Whether stable IDs of the input were ignored, because the objects of the store have none.
    package var ignoresStableIDs = false
  }

  package internal(set) var summary = Summary()
  /// Called for skipped lines; `nil` if an invalid line ends the import.
  package var skip: ((InputError) -> Void)?
  let context: ManagedObjectContext
  let model: CompiledModel
  let identities: IdentityTable
  let plan: ExportPlan
  private let batchSize: Int
  /// The number of input bytes above which a batch is saved. Large values could exhaust memory long before the batch has enough objects.
  package static let maximumBatchBytes = 8 << 20
  private var batch: [ImportObject] = []
  private var batchBytes = 0
  /// The objects of the batch by their keys, retained until the batch is saved.
  var found: [IdentityKey: ManagedObject] = [:]
  /// The objects with identifiers. The dictionary grows by 40 bytes and the identifier for each.
  var named: [String: ManagedObjectID] = [:]
  /// The objects of the batch with identifiers, which have no permanent IDs yet.
  var namedInBatch: [String: ManagedObject] = [:]
  /// The new objects of the batch with the stable IDs that the input assigns, if the store has stable IDs.
  var identifiedInBatch: [UUID: ManagedObject] = [:]
  /// The objects of the batch that were found by their values, by the stable IDs that the input gives them.
  var foundByValues: [UUID: ManagedObject] = [:]
  /// The objects of the batch that were inserted because the input refers to their keys.
  var insertedByKey: [ManagedObject] = []
  /// The same objects of earlier batches. Their own lines can still assign stable IDs to them.
  private var awaitingStableIDs: Set<ManagedObjectID> = []
  let usesStableIDs: Bool
  /// The numbers of the relationships whose members are nested in their owners.
  let owningRelationships: Set<Int>
  var changed: Set<ManagedObject> = []
  /// Other objects that must be retained until the batch is saved.
  var held: [ManagedObject] = []

  /// Creates an importer into a context, which must not be used elsewhere.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  package init(into context: ManagedObjectContext, batchSize: Int = 1000) throws {
    self.context = context
    model = context.persistentStoreCoordinator.compiledModel
    identities = IdentityTable(model)
    plan = ExportPlan(model)
    usesStableIDs = try context.hasStableIDs
    owningRelationships = Set(plan.owners.values.map(\.id))
    self.batchSize = batchSize
  }

  /// Adds the next object.
  ///
  /// - Parameter size: The number of bytes in the input, or 0 if it is small.
  /// - Throws: ``InputError`` about this object or an earlier one, or errors of saving.
  package func add(_ object: ImportObject, size: Int = 0) throws {
    summary.records += 1
    batch.append(object)
    batchBytes += size
    if batch.count >= batchSize || batchBytes >= Self.maximumBatchBytes { try flush() }
  }

  /// Saves the current batch.
  ///
  /// If the batch cannot be saved, its objects are saved one by one, so that the error contains the line number.
  package func flush() throws {
    guard !batch.isEmpty else { return }
    let objects = batch
    batch.removeAll(keepingCapacity: true)
    batchBytes = 0
    let before = summary
    do {
      try save(objects)
      return
    } catch  where Self.isOfInput(error) {
      releaseObjects()
      summary = before
    }
    for object in objects {
      let before = summary
      do {
        try save([object])
      } catch  where Self.isOfInput(error) {
        releaseObjects()
        summary = before
        guard let skip else { throw Self.inputError(error, of: object) }
        summary.records -= 1
        skip(Self.inputError(error, of: object))
      }
    }
  }

  /// Returns whether an error is about the input and not about the store.
  private static func isOfInput(_ error: any Error) -> Bool {
    if let error = error as? StoreError {
      switch error.code {
      case .constraintConflict, .invalidRequest: return true
      default: return false
      }
    }
    return error is InputError || error is ValidationError
  }

  /// Returns an error with the line number of its record.
  private static func inputError(_ error: any Error, of object: ImportObject) -> InputError {
    switch error {
    case let error as InputError: error
    case let error as ValidationError:
      InputError(
        line: object.line, entity: (error.errors.first ?? error).entityName ?? object.entity.name, key: (error.errors.first ?? error).key,
        (error.errors.first ?? error).reason)
    case let error as StoreError: InputError(line: object.line, entity: error.entityName ?? object.entity.name, error.message)
    default: InputError(line: object.line, entity: object.entity.name, String(describing: error))
    }
  }

  private func save(_ objects: [ImportObject]) throws {
    try findObjects(objects)
    for object in objects { _ = try resolve(object) }
    if let error = context.pendingError { throw error }
    summary.updated += changed.reduce(0) { $0 + ($1.isUpdated ? 1 : 0) }
    try context.save()
    for (name, object) in namedInBatch { named[name] = object.objectID }
    try assignStableIDs()
    releaseObjects()
  }

  /// Assigns the stable IDs of the input to new objects. Objects that existed before keep theirs.
  private func assignStableIDs() throws {
    awaitingStableIDs.formUnion(insertedByKey.map(\.objectID))
    for (id, object) in foundByValues where awaitingStableIDs.remove(object.objectID) != nil { identifiedInBatch[id] = object }
    try context.assignStableIDs(identifiedInBatch)
    let known = try context.stableIDs(of: Array(foundByValues.values))
    for ((id, object), known) in zip(foundByValues, known) where id != known {
      summary.keptStableIDs[object.compiledEntity.name, default: 0] += 1
    }
  }

  /// Releases all managed objects, saved or not.
  private func releaseObjects() {
    found = [:]
    namedInBatch = [:]
    identifiedInBatch = [:]
    foundByValues = [:]
    insertedByKey = []
    changed = []
    held = []
    context.reset()
  }

  // MARK: Finding

  /// Finds the objects of the batch by their keys, with one fetch per constraint for every few hundred objects.
  private func findObjects(_ objects: [ImportObject]) throws {
    var wanted: [IdentityConstraint: Set<IdentityKey>] = [:]
    // An explicit stack, because nesting can be deep.
    var stack = objects
    while let object = stack.popLast() {
      if object.reference == nil, let key = identities.attributeKey(of: object) {
        wanted[key.constraint, default: []].insert(key)
      }
      for (_, destination) in object.toOne { if let destination { stack.append(destination) } }
      for (_, members) in object.toMany { stack.append(contentsOf: members) }
    }
    for (constraint, keys) in wanted { try find(constraint, keys.map(\.values)) }
  }

  private func find(_ constraint: IdentityConstraint, _ keys: [[Slot]]) throws {
    let entity = model.entities[constraint.entity]
    // For a compound constraint, fetch by the most selective property, and compare the others here.
    let distinct = constraint.slots.indices.map { index in Set(keys.map { $0[index] }) }
    guard let position = distinct.indices.max(by: { distinct[$0].count < distinct[$1].count }) else { return }
    let slot = entity.slots[constraint.slots[position]]
    guard let type = slot.attributeType else { return }
    let constants = distinct[position].map { FetchConstant($0, type: type) }
    for start in stride(from: 0, to: constants.count, by: 500) {
      let chunk = Array(constants[start..<min(start + 500, constants.count)])
      let predicate = FetchPredicate.comparison(
        FetchComparison(left: .keyPath([slot.name]), op: .in, right: .constant(.list(chunk))))
      var request = FetchRequest<ManagedObject>(entityName: entity.name, predicate: predicate)
      request.includesPendingChanges = false
      for object in try context.fetch(request) {
        if let key = IdentityKey(constraint, value: { object.slotValue($0) }) { found[key] = object }
      }
    }
  }
}

extension FetchConstant {
  /// Creates a constant of a predicate from a stored value.
  package init(_ slot: Slot, type: AttributeType) {
    let type = type.traits.resolvedType
    switch slot {
    case .null: self = .null
    case .int(let value): self = type == .boolean ? .bool(value != 0) : .int(value)
    case .real(let value): self = type == .date ? .date(.init(timeIntervalSinceReferenceDate: value)) : .real(value)
    case .text(let value): self = .string(value)
    case .bytes(let data):
      switch type {
      case .uuid: self = UUID(slot: slot).map(FetchConstant.uuid) ?? .data(data)
      case .decimal: self = DecimalCoding.decode(data).map(FetchConstant.decimal) ?? .data(data)
      default: self = .data(data)
      }
    }
  }
}

// MARK: - Fingerprints for comparison

extension GraphImporter {
  /// Returns a managed object as bytes: all values and the objects it refers to, except for the relationship to its owner.
  func fingerprint(_ managed: ManagedObject, besides owner: CompiledRelationship) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try append(managed, owner, depth: 0, to: &bytes)
    return bytes
  }

  /// Returns the bytes that an input object would have after insertion.
  func fingerprint(_ object: ImportObject, besides owner: CompiledRelationship) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try append(object, owner, depth: 0, to: &bytes)
    return bytes
  }

  private static let deepest = 64

  private func append(_ managed: ManagedObject, _ owner: CompiledRelationship, depth: Int, to bytes: inout [UInt8]) throws {
    let entity = managed.compiledEntity
    if let key = identities.key(of: managed) {
      key.append(to: &bytes)
      return
    }
    bytes.append(5)
    Fingerprint.append(UInt64(entity.number), to: &bytes)
    for slot in entity.slots where slot.attribute != nil && !slot.isTransient {
      Fingerprint.append(managed.slotValue(slot.index), to: &bytes)
    }
    guard depth < Self.deepest else { return }
    for relationship in plan.nested(in: entity) where relationship.id != owner.inverseID {
      if relationship.isToMany {
        var members: [[UInt8]] = []
        for member in managed.toManyArray(relationship.index, as: ManagedObject.self) {
          var memberBytes: [UInt8] = []
          try append(member, relationship, depth: depth + 1, to: &memberBytes)
          members.append(memberBytes)
        }
        append(members, relationship, to: &bytes)
      } else if let destination: ManagedObject = managed.toOne(relationship.index) {
        bytes.append(7)
        try append(destination, relationship, depth: depth + 1, to: &bytes)
      } else {
        bytes.append(0)
      }
    }
  }

  private func append(_ object: ImportObject, _ owner: CompiledRelationship, depth: Int, to bytes: inout [UInt8]) throws {
    let entity = object.entity
    if let key = identities.attributeKey(of: object) {
      key.append(to: &bytes)
      return
    }
    if let name = object.reference {
      // For an object with an identifier, compare the managed object.
      if let managed = try namedInBatch[name] ?? named[name].map({ try context.existingObject(with: $0) }) {
        held.append(managed)
        try append(managed, owner, depth: depth, to: &bytes)
      }
      return
    }
    if object.isBare, let managed = try identifiedObject(for: object) {
      try append(managed, owner, depth: depth, to: &bytes)
      return
    }
    bytes.append(5)
    Fingerprint.append(UInt64(entity.number), to: &bytes)
    for slot in entity.slots where slot.attribute != nil && !slot.isTransient {
      Fingerprint.append(object.value(slot.index) ?? slot.defaultValue, to: &bytes)
    }
    guard depth < Self.deepest else { return }
    for relationship in plan.nested(in: entity) where relationship.id != owner.inverseID {
      if relationship.isToMany {
        var members: [[UInt8]] = []
        for member in object.toMany.first(where: { $0.relationship.id == relationship.id })?.members ?? [] {
          var memberBytes: [UInt8] = []
          try append(member, relationship, depth: depth + 1, to: &memberBytes)
          members.append(memberBytes)
        }
        append(members, relationship, to: &bytes)
      } else if let destination = object.toOne.first(where: { $0.relationship.id == relationship.id })?.destination {
        bytes.append(7)
        try append(destination, relationship, depth: depth + 1, to: &bytes)
      } else {
        bytes.append(0)
      }
    }
  }

  private func append(_ members: [[UInt8]], _ relationship: CompiledRelationship, to bytes: inout [UInt8]) {
    bytes.append(8)
    Fingerprint.append(UInt64(members.count), to: &bytes)
    let sorted = relationship.isOrdered ? members : members.sorted { $0.lexicographicallyPrecedes($1) }
    for member in sorted {
      Fingerprint.append(UInt64(member.count), to: &bytes)
      bytes.append(contentsOf: member)
    }
  }
}
