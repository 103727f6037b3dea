/// Numbers the entities, slots and relationships of a valid model.
struct EntityNumbering {
  private let model: ManagedObjectModel
  private var order: [EntityDescription] = []
  private var parents: [Int?] = []
  private var roots: [Int] = []
  private var ends: [Int] = []
  private let composites: CompositeNumbering
  private let inverses: ModelInverses

  init(_ model: ManagedObjectModel, inverses: ModelInverses) {
    self.model = model
    self.inverses = inverses
    composites = CompositeNumbering(model)
    var children: [String: [EntityDescription]] = [:]
    var rootEntities: [EntityDescription] = []
    for entity in model.entities {
      if let parent = entity.superentityName { children[parent, default: []].append(entity) } else { rootEntities.append(entity) }
    }
    // An explicit stack, because hierarchies can be deep.
    var stack: [(entity: EntityDescription, parent: Int?)] = rootEntities.sorted { $0.name > $1.name }.map { ($0, nil) }
    while let (entity, parent) = stack.popLast() {
      let number = order.count
      order.append(entity)
      parents.append(parent)
      roots.append(parent.map { roots[$0] } ?? number)
      for child in (children[entity.name] ?? []).sorted(by: { $0.name > $1.name }) { stack.append((child, number)) }
    }
    ends = Array(1...max(order.count, 1)).prefix(order.count).map { $0 }
    for number in order.indices.reversed() {
      if let parent = parents[number] { ends[parent] = max(ends[parent], ends[number]) }
    }
  }

  func compile() -> ([CompiledEntity], [CompiledRelationship]) {
    let numbers = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1.name, $0) })
    // The number of each declared relationship, and its slot or to-many index.
    var ids: [RelationshipKey: Int] = [:]
    var slotCounts: [Int] = []
    var toManyCounts: [Int] = []
    var indexes: [Int] = []
    var declared: [(entity: Int, description: RelationshipDescription)] = []
    for (number, entity) in order.enumerated() {
      var slotCount = parents[number].map { slotCounts[$0] } ?? 0
      var toManyCount = parents[number].map { toManyCounts[$0] } ?? 0
      for property in entity.properties {
        switch property {
        case .attribute(let attribute): slotCount += composites.columnCount(of: attribute)
        case .relationship(let relationship):
          ids[RelationshipKey(entity: number, name: relationship.name)] = declared.count
          declared.append((number, relationship))
          indexes.append(relationship.isToMany ? toManyCount : slotCount)
          if relationship.isToMany { toManyCount += 1 } else { slotCount += 1 }
        case .fetchedProperty: break
        }
      }
      slotCounts.append(slotCount)
      toManyCounts.append(toManyCount)
    }
    let relationships = declared.enumerated().map { id, item in
      let destination = numbers[item.description.destinationEntityName] ?? item.entity
      func number(_ key: ModelInverses.Key) -> Int? { numbers[key.entity].flatMap { ids[RelationshipKey(entity: $0, name: key.name)] } }
      let (inverseID, followedInverseID): (Int?, Int?) =
        switch inverses.inverse(of: item.description, in: order[item.entity].name).inverse {
        case .none: (nil, nil)
        case .mutual(let key): (number(key), nil)
        case .oneSided(let key): (nil, number(key))
        }
      return CompiledRelationship(
        id: id, relationshipDescription: item.description, sourceEntity: item.entity, destinationEntity: destination, index: indexes[id],
        inverseID: inverseID, followedInverseID: followedInverseID)
    }
    var entities: [CompiledEntity] = []
    for (number, entity) in order.enumerated() {
      let parent = parents[number].map { entities[$0] }
      var slots = parent?.slots ?? []
      var toMany = parent?.toManyRelationships ?? []
      var fetched = parent?.fetchedProperties ?? []
      var bundles = parent?.composites ?? []
      for property in entity.properties {
        switch property {
        case .attribute(let attribute): composites.append(attribute, of: number, to: &slots, &bundles)
        case .relationship(let description):
          guard let id = ids[RelationshipKey(entity: number, name: description.name)] else { continue }
          let relationship = relationships[id]
          if relationship.isToMany {
            toMany.append(relationship)
          } else {
            slots.append(
              CompiledSlot(
                index: slots.count, name: relationship.name, kind: relationship.isTransient ? .none : .reference, declaringEntity: number,
                attribute: nil, relationship: relationship, isOptional: relationship.isOptional, isTransient: relationship.isTransient,
                defaultValue: .null, checker: nil))
          }
        case .fetchedProperty(let property): fetched.append(property)
        }
      }
      let slotsByName = Dictionary(slots.map { ($0.name, $0.index) }, uniquingKeysWith: { first, _ in first })
      let own = entity.uniquenessConstraints.map { $0.compactMap { slotsByName[$0] } }
      entities.append(
        CompiledEntity(
          number: number, entityDescription: entity, parent: parents[number], root: roots[number], subtree: number..<ends[number],
          slots: slots,
          toManyRelationships: toMany, fetchedProperties: fetched, composites: bundles,
          uniquenessConstraints: (parent?.uniquenessConstraints ?? []) + own))
    }
    return (entities, relationships)
  }

  private struct RelationshipKey: Hashable {
    let entity: Int
    let name: String
  }
}

extension CompiledComposite {
  /// Adds the default values of required parts, unless the value specifies them. A composite without a value stays null.
  ///
  /// - Parameters:
  ///   - values: The slots of the parts.
  ///   - names: The names of the parts that the value specifies.
  ///   - entity: The entity of the slots.
  package func addDefaults(to values: inout [Int: Slot], given names: some Collection<String>, of entity: CompiledEntity) {
    guard !slotsWithDefaults.isEmpty, slots.contains(where: { !(values[$0] ?? .null).isNull }) else { return }
    for slot in slotsWithDefaults where (values[slot] ?? .null).isNull {
      let part = entity.slots[slot].name.dropFirst(name.count + 1).prefix { $0 != "." }
      if !names.contains(String(part)) { values[slot] = entity.slots[slot].defaultValue }
    }
  }
}

/// Assigns slots to attributes, including the parts of composites.
struct CompositeNumbering {
  private let composites: [String: CompositeDescription]

  init(_ model: ManagedObjectModel) {
    composites = Dictionary(model.composites.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  func columnCount(of attribute: AttributeDescription) -> Int {
    parts(of: attribute).map { $0.reduce(0) { $0 + columnCount(of: $1) } } ?? 1
  }

  private func parts(of attribute: AttributeDescription) -> [AttributeDescription]? {
    attribute.compositeName.flatMap { composites[$0]?.elements }
  }

  /// Appends the slots of an attribute, and its composites.
  func append(_ attribute: AttributeDescription, of entity: Int, to slots: inout [CompiledSlot], _ bundles: inout [CompiledComposite]) {
    guard let parts = parts(of: attribute) else {
      slots.append(
        CompiledSlot(
          index: slots.count, name: attribute.name, kind: attribute.isTransient ? .none : attribute.type.slotKind, declaringEntity: entity,
          attribute: attribute, relationship: nil, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
          defaultValue: attribute.defaultValue, checker: AttributeChecker(attribute)))
      return
    }
    let start = slots.count
    var required: [Int] = []
    for part in parts {
      var copy = part
      copy.name = "\(attribute.name).\(part.name)"
      copy.isTransient = attribute.isTransient
      if attribute.renamingIdentifier != nil || part.renamingIdentifier != nil {
        copy.renamingIdentifier = "\(attribute.renamingIdentifier ?? attribute.name).\(part.renamingIdentifier ?? part.name)"
      }
      // A part is required only if the composite has a value, which the composite checks.
      copy.isOptional = attribute.isOptional || part.isOptional
      if !part.isOptional, part.type != .composite { required.append(slots.count) }
      append(copy, of: entity, to: &slots, &bundles)
      if !part.isOptional, part.type == .composite, let nested = bundles.last { required += nested.requiredSlots }
    }
    bundles.append(
      CompiledComposite(
        name: attribute.name, declaringEntity: entity, attribute: attribute, partNames: parts.map(\.name), slots: start..<slots.count,
        requiredSlots: required, slotsWithDefaults: required.filter { !slots[$0].defaultValue.isNull }))
  }
}
