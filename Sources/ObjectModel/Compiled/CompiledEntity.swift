// CompiledEntity: an entity frozen into slots and numbers.

/// An entity of a ``CompiledModel``: inherited and own properties numbered.
///
/// Attributes and to-one relationships have *slots*: an inherited property has the same slot number all the way down the hierarchy. To-many
/// relationships are numbered likewise by their *to-many index*.
public final class CompiledEntity: Sendable {
  /// The entity's number in its model, in pre-order of the inheritance trees.
  public let number: Int
  /// The entity's name.
  public let name: String
  /// The description it was compiled from.
  public let entityDescription: EntityDescription
  /// The number of the superentity; nil for a root.
  public let parent: Int?
  /// The number of the root of its tree.
  public let root: Int
  /// The numbers of the entity and all entities below it.
  public let subtree: Range<Int>
  /// Whether it has no objects of its own.
  public let isAbstract: Bool
  /// Attributes and to-one relationships, inherited first.
  public let slots: [CompiledSlot]
  /// The kinds of the slots: what reading and writing values asks most.
  package let kinds: [SlotKind]
  /// The slots whose values may be large: binary and transformable attributes.
  package let largeSlots: [Int]
  /// The slots of to-one relationships.
  package let referenceSlots: [Int]
  /// How many slots hold texts or bytes.
  package let textSlotCount: Int
  /// What most saves check of values.
  package let quickRules: QuickRules
  /// To-many relationships, inherited first.
  public let toManyRelationships: [CompiledRelationship]
  /// Fetched properties, inherited first.
  public let fetchedProperties: [FetchedPropertyDescription]
  /// Every uniqueness constraint that applies, inherited ones included, as slot numbers.
  public let uniquenessConstraints: [[Int]]
  /// Whether any slot is transient.
  public let hasTransientSlots: Bool
  /// Whether the store computes the value of any slot.
  public let hasDerivedSlots: Bool
  /// The slots that start with a value.
  public let slotsWithDefaults: [Int]
  /// The slots that start with a value and are kept in memory only.
  package let transientSlotsWithDefaults: [Int]
  /// A number for the names, types and numbers of the entity's properties: code with literal slot numbers fits entities of the same fingerprint.
  public let layoutFingerprint: UInt64
  /// Composite attributes and their composite parts, inherited first. Their other parts are ``slots`` with dotted names, such as `home.city`.
  public let composites: [CompiledComposite]
  private let propertiesByName: [String: CompiledProperty]

  init(
    number: Int, entityDescription: EntityDescription, parent: Int?, root: Int, subtree: Range<Int>, slots: [CompiledSlot],
    toManyRelationships: [CompiledRelationship], fetchedProperties: [FetchedPropertyDescription], composites: [CompiledComposite],
    uniquenessConstraints: [[Int]]
  ) {
    self.number = number
    name = entityDescription.name
    self.entityDescription = entityDescription
    self.parent = parent
    self.root = root
    self.subtree = subtree
    isAbstract = entityDescription.isAbstract
    self.slots = slots
    kinds = slots.map(\.kind)
    largeSlots = slots.filter { $0.kind == .bytes && ($0.attributeType == .binary || $0.attributeType == .transformable) }.map(\.index)
    referenceSlots = slots.filter { $0.kind == .reference }.map(\.index)
    textSlotCount = slots.count { $0.kind == .text || $0.kind == .bytes }
    quickRules = QuickRules(slots, toManyRelationships, hasComposites: !composites.isEmpty)
    self.toManyRelationships = toManyRelationships
    self.fetchedProperties = fetchedProperties
    self.composites = composites
    self.uniquenessConstraints = uniquenessConstraints
    hasTransientSlots = slots.contains { $0.isTransient }
    hasDerivedSlots = slots.contains { $0.isDerived }
    slotsWithDefaults = slots.filter { !$0.defaultValue.isNull }.map(\.index)
    transientSlotsWithDefaults = slots.filter { $0.isTransient && !$0.defaultValue.isNull }.map(\.index)
    layoutFingerprint = Self.fingerprint(slots, toManyRelationships)
    var names: [String: CompiledProperty] = [:]
    for slot in slots { names[slot.name] = slot.relationship.map { .toOne($0) } ?? .attribute(slot) }
    for relationship in toManyRelationships { names[relationship.name] = .toMany(relationship) }
    for composite in composites { names[composite.name] = .composite(composite) }
    for property in fetchedProperties { names[property.name] = .fetched(property) }
    propertiesByName = names
  }

  /// FNV-1a over what typed classes rely on; it guards against mistakes, not against malice.
  private static func fingerprint(_ slots: [CompiledSlot], _ toMany: [CompiledRelationship]) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ text: String) {
      for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      // A byte that no UTF-8 text has ends each part.
      hash = (hash ^ 0xFF) &* 0x100_0000_01B3
    }
    for slot in slots {
      add(slot.name)
      add(slot.attributeType?.rawValue ?? "->")
      add(slot.isTransient ? "transient" : "")
    }
    for relationship in toMany {
      add(relationship.name)
      add(relationship.isOrdered ? "->> ordered" : "->>")
    }
    return hash
  }

  /// The property of a name, inherited ones included; nil when there is none. Parts of composites have dotted names, such as `home.city`.
  public func property(named name: String) -> CompiledProperty? { propertiesByName[name] }

  /// The names of all properties, inherited ones and the parts of composites included.
  public var propertyNames: [String] {
    slots.map(\.name) + composites.map(\.name) + toManyRelationships.map(\.name) + fetchedProperties.map(\.name)
  }

  /// All relationships, to-one and to-many.
  public var relationships: [CompiledRelationship] { slots.compactMap(\.relationship) + toManyRelationships }

  /// Whether the entity is another or lies below it.
  public func isKind(of other: CompiledEntity) -> Bool { other.subtree.contains(number) }
}

/// A property of a ``CompiledEntity``.
public enum CompiledProperty: Sendable {
  /// An attribute with its slot.
  case attribute(CompiledSlot)
  /// A to-one relationship; its ``CompiledRelationship/index`` is its slot.
  case toOne(CompiledRelationship)
  /// A to-many relationship; its ``CompiledRelationship/index`` is its to-many index.
  case toMany(CompiledRelationship)
  /// A composite attribute, or a part of one that is a composite itself.
  case composite(CompiledComposite)
  /// A fetched property.
  case fetched(FetchedPropertyDescription)
}

/// A composite attribute with the slots of its parts.
public final class CompiledComposite: Sendable {
  /// The attribute's name; dotted for a composite within a composite.
  public let name: String
  /// The number of the entity that declares the attribute.
  public let declaringEntity: Int
  /// The attribute.
  public let attribute: AttributeDescription
  /// The names of the parts, in order; the property of a part is named by ``name``, a dot and its own name.
  public let partNames: [String]
  /// The slots of all parts, those of composite parts included. They follow each other.
  public let slots: Range<Int>
  /// The slots that must have a value when any of ``slots`` has one, those of required composite parts included.
  public let requiredSlots: [Int]
  /// Those of ``requiredSlots`` that have a default value: they get it with the first value of the composite.
  package let slotsWithDefaults: [Int]

  init(
    name: String, declaringEntity: Int, attribute: AttributeDescription, partNames: [String], slots: Range<Int>, requiredSlots: [Int],
    slotsWithDefaults: [Int]
  ) {
    self.slotsWithDefaults = slotsWithDefaults
    self.name = name
    self.declaringEntity = declaringEntity
    self.attribute = attribute
    self.partNames = partNames
    self.slots = slots
    self.requiredSlots = requiredSlots
  }
}

/// An attribute or to-one relationship with its number. A class, so that loops over an entity's slots copy one word each.
public final class CompiledSlot: Sendable {
  /// The slot number.
  public let index: Int
  /// The property's name.
  public let name: String
  /// How its value is held.
  public let kind: SlotKind
  /// The number of the entity that declares the property.
  public let declaringEntity: Int
  /// The attribute; nil for a to-one relationship.
  public let attribute: AttributeDescription?
  /// The type of the attribute; nil for a to-one relationship.
  public let attributeType: AttributeType?
  /// The to-one relationship; nil for an attribute.
  public let relationship: CompiledRelationship?
  /// Whether it may have no value when saved.
  public let isOptional: Bool
  /// Whether it is kept in memory only.
  public let isTransient: Bool
  /// The value that a new object starts with.
  public let defaultValue: Slot
  /// The attribute's prepared checks; nil for a to-one relationship.
  public let checker: AttributeChecker?
  /// Whether the store computes the value.
  public let isDerived: Bool

  init(
    index: Int, name: String, kind: SlotKind, declaringEntity: Int, attribute: AttributeDescription?, relationship: CompiledRelationship?,
    isOptional: Bool, isTransient: Bool, defaultValue: Slot, checker: AttributeChecker?
  ) {
    self.index = index
    self.name = name
    self.kind = kind
    self.declaringEntity = declaringEntity
    self.attribute = attribute
    attributeType = attribute?.type
    self.relationship = relationship
    self.isOptional = isOptional
    self.isTransient = isTransient
    self.defaultValue = defaultValue
    self.checker = checker
    isDerived = attribute?.derivationExpression != nil
  }
}

/// A relationship with its numbers. Subentities share their superentity's relationships.
public final class CompiledRelationship: Sendable {
  /// The relationship's number in its model; one for each declaration.
  public let id: Int
  /// The relationship's name.
  public let name: String
  /// The description it was compiled from.
  public let relationshipDescription: RelationshipDescription
  /// The number of the entity that declares it.
  public let sourceEntity: Int
  /// The number of the entity it refers to.
  public let destinationEntity: Int
  /// The slot number of a to-one, the to-many index of a to-many relationship.
  public let index: Int
  /// Whether it refers to many objects.
  public let isToMany: Bool
  /// Whether the members have an order.
  public let isOrdered: Bool
  /// Whether it may be empty when saved.
  public let isOptional: Bool
  /// Whether it is kept in memory only.
  public let isTransient: Bool
  /// What deleting the source does.
  public let deleteRule: DeleteRule
  /// The number of the relationship back; nil when there is none.
  public let inverseID: Int?
  /// The number of a named inverse that does not lead back: changes of this relationship change it, and not the other way round. Each is stored for itself. Nil
  /// when there is none.
  package let followedInverseID: Int?

  init(
    id: Int, relationshipDescription: RelationshipDescription, sourceEntity: Int, destinationEntity: Int, index: Int, inverseID: Int?,
    followedInverseID: Int?
  ) {
    self.id = id
    name = relationshipDescription.name
    self.relationshipDescription = relationshipDescription
    self.sourceEntity = sourceEntity
    self.destinationEntity = destinationEntity
    self.index = index
    isToMany = relationshipDescription.isToMany
    isOrdered = relationshipDescription.isOrdered && relationshipDescription.isToMany
    isOptional = relationshipDescription.isOptional
    isTransient = relationshipDescription.isTransient
    deleteRule = relationshipDescription.deleteRule
    self.inverseID = inverseID
    self.followedInverseID = followedInverseID
  }
}
