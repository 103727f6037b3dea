/// The computation of a derived attribute: a path from the object over relationships to a value, and an operation on the value.
public struct CompiledDerivation: Sendable {
  /// The number of the entity that declares the attribute. The derivation applies to this entity and its subentities.
  public let entity: Int
  /// The slot of the derived attribute.
  public let slot: CompiledSlot
  /// The operation on the value.
  public let operation: DerivationOperation
  /// The relationships from the object to the value. For an aggregate operation, one of them is to-many.
  public let steps: [CompiledRelationship]
  /// The slot at the end of the path, in the last relationship's destination or in the object itself; nil for `@count` and `now()`.
  public let source: CompiledSlot?
  /// The predicate, in format language, for the members of the to-many relationship to include; nil for all.
  public let filter: String?
  /// The expression and filter, preceded by those of derived attributes that it uses. Equal strings mean equal computations.
  package let identity: String

  /// Whether the path contains no relationships.
  package var isLocal: Bool { steps.isEmpty }
  /// Whether the value, including derived attributes that it uses, depends on this object only.
  package let isOfOneObject: Bool
  /// The position of the relationship whose members the filter selects.
  package var filteredStep: Int? { filter == nil ? nil : steps.firstIndex(where: \.isToMany) }

  /// The type of the derived attribute.
  package var type: AttributeType { slot.attributeType ?? .undefined }
}

/// Compiles the derivations of a valid model.
struct DerivationCompiler {
  let entities: [CompiledEntity]
  private var result: [CompiledDerivation] = []
  private var positions: [Key: Int] = [:]

  private struct Key: Hashable {
    let entity: Int
    let slot: Int
  }

  /// Returns all derivations, in order of dependency. Derivations that depend on one object only come first, since filters may use them.
  static func derivations(of entities: [CompiledEntity]) -> [CompiledDerivation] {
    guard entities.contains(where: \.hasDerivedSlots) else { return [] }
    var compiler = DerivationCompiler(entities: entities)
    for entity in entities {
      for slot in entity.slots where slot.isDerived && slot.declaringEntity == entity.number { compiler.add(slot) }
    }
    return compiler.result.filter(\.isOfOneObject) + compiler.result.filter { !$0.isOfOneObject }
  }

  private init(entities: [CompiledEntity]) { self.entities = entities }

  private mutating func add(_ first: CompiledSlot) {
    // A list instead of recursion, because chains can be long. Cycles, which a valid model does not have, end the loop too.
    var chain: [(slot: CompiledSlot, expression: DerivationExpression, steps: [CompiledRelationship], source: CompiledSlot?)] = []
    var next: CompiledSlot? = first
    while let slot = next {
      next = nil
      let key = Key(entity: slot.declaringEntity, slot: slot.index)
      guard positions[key] == nil, !chain.contains(where: { $0.slot === slot }), let text = slot.attribute?.derivationExpression,
        let expression = DerivationExpression(text)
      else { break }
      var (steps, source): ([CompiledRelationship], CompiledSlot?) = ([], nil)
      var entity = entities[slot.declaringEntity]
      for (index, name) in expression.path.enumerated() {
        switch entity.property(named: name) {
        case .toOne(let relationship), .toMany(let relationship):
          steps.append(relationship)
          entity = entities[relationship.destinationEntity]
          continue
        case .attribute(let slot): source = slot
        case .composite:
          if case .attribute(let part) = entity.property(named: expression.path[index...].joined(separator: ".")) { source = part }
        case .fetched, nil: break
        }
        break
      }
      chain.append((slot, expression, steps, source))
      if let source, source.isDerived { next = source }
    }
    for item in chain.reversed() {
      let entity = item.slot.declaringEntity
      let filter = item.slot.attribute?.derivationFilter
      var isOfOneObject = item.steps.isEmpty
      var identity = "\(entities[entity].name).\(item.slot.name): \(item.slot.attribute?.derivationExpression ?? "")"
      if let filter { identity += " where \(filter)" }
      if let source = item.source, let position = positions[Key(entity: source.declaringEntity, slot: source.index)] {
        identity = result[position].identity + "; " + identity
        isOfOneObject = isOfOneObject && result[position].isOfOneObject
      }
      positions[Key(entity: entity, slot: item.slot.index)] = result.count
      result.append(
        CompiledDerivation(
          entity: entity, slot: item.slot, operation: item.expression.operation, steps: item.steps, source: item.source, filter: filter,
          identity: identity, isOfOneObject: isOfOneObject))
    }
  }
}
