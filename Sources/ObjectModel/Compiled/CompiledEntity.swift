/// An entity of a ``CompiledModel``, with numbered inherited and own properties.
///
/// Attributes and to-one relationships have *slots*. An inherited property has the same slot number throughout the hierarchy. To-many
/// relationships are numbered in the same way by their *to-many index*.
public final class CompiledEntity: Sendable {
  /// The entity's number in its model, in pre-order of the inheritance trees.
  public let number: Int
  /// The entity's name.
  public let name: String
  /// The description from which the entity was compiled.
  public let entityDescription: EntityDescription
  /// The number of the superentity; nil for a root.
  public let parent: Int?
  /// The number of the root of its inheritance tree.
  public let root: Int
  /// The numbers of the entity and all its direct and indirect subentities.
  public let subtree: Range<Int>
  /// Whether the entity is abstract and has no objects of its own.
  public let isAbstract: Bool
  /// Attributes and to-one relationships, inherited first.
  public let slots: [CompiledSlot]
  /// The kinds of the slots, in an array of their own for fast access to values.
  package let kinds: [SlotKind]
  /// The slots whose values may be large: binary and transformable attributes.
  package let largeSlots: [Int]
  /// The slots of to-one relationships.
  package let referenceSlots: [Int]
  /// The number of slots that hold text or bytes.
  package let textSlotCount: Int
  /// The validation rules as bit masks, for the fast check in saves.
  package let fastValidationRules: FastValidationRules
  /// To-many relationships, inherited first.
  public let toManyRelationships: [CompiledRelationship]
  /// Fetched properties, inherited first.
  public let fetchedProperties: [FetchedPropertyDescription]
  /// The uniqueness constraints that apply, including inherited ones, as slot numbers.
  public let uniquenessConstraints: [[Int]]
  /// Whether any slot is transient.
  public let hasTransientSlots: Bool
  /// Whether the store computes the value of a slot.
  public let hasDerivedSlots: Bool
  /// The slots with a default value.
  public let slotsWithDefaults: [Int]
  /// The transient slots with a default value.
  package let transientSlotsWithDefaults: [Int]
  /// A fingerprint of the names, types and numbers of the entity's properties. Code with literal slot numbers works with any entity of the
  /// same fingerprint.
  public let layoutFingerprint: UInt64
  /// Composite attributes and their composite parts, inherited first. Their other parts are ``slots`` with dotted names, such as
  /// `home.city`.
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
    largeSlots = slots.filter(\.canBeLarge).map(\.index)
    referenceSlots = slots.filter { $0.kind == .reference }.map(\.index)
    textSlotCount = slots.count { $0.kind == .text || $0.kind == .bytes }
    fastValidationRules = FastValidationRules(slots, toManyRelationships, hasComposites: !composites.isEmpty)
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

  /// Returns the FNV-1a hash of everything on which typed classes depend. It protects against mistakes, not against attacks.
  private static func fingerprint(_ slots: [CompiledSlot], _ toMany: [CompiledRelationship]) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ text: String) {
      for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      // A byte that does not occur in UTF-8 ends each part.
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

  /// Returns the property with a name, including inherited ones; nil if there is none. Parts of composites have dotted names, such as
  /// `home.city`.
  public func property(named name: String) -> CompiledProperty? { propertiesByName[name] }

  /// The names of all properties, including inherited ones and parts of composites.
  public var propertyNames: [String] {
    slots.map(\.name) + composites.map(\.name) + toManyRelationships.map(\.name) + fetchedProperties.map(\.name)
  }

  /// All relationships, to-one and to-many.
  public var relationships: [CompiledRelationship] { slots.compactMap(\.relationship) + toManyRelationships }

  /// Returns whether the entity is another entity or one of its subentities.
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
  /// A composite attribute, or a composite part of one.
  case composite(CompiledComposite)
  /// A fetched property.
  case fetched(FetchedPropertyDescription)
}

/// A composite attribute with the slots of its parts.
public final class CompiledComposite: Sendable {
  /// The attribute's name; dotted for a nested composite.
  public let name: String
  /// The number of the entity that declares the attribute.
  public let declaringEntity: Int
  /// The attribute's description.
  public let attribute: AttributeDescription
  /// The names of the parts, in order. The property name of a part is ``name``, a dot and the part's name.
  public let partNames: [String]
  /// The contiguous slots of all parts, including those of nested composites.
  public let slots: Range<Int>
  /// The slots that require a value if any of ``slots`` has one, including those of required nested composites.
  public let requiredSlots: [Int]
  /// The ``requiredSlots`` with a default value. They receive it with the first value of the composite.
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

/// An attribute or to-one relationship with its number. A class, so that loops over an entity's slots copy one word per slot.
public final class CompiledSlot: Sendable {
  /// The slot number.
  public let index: Int
  /// The property's name.
  public let name: String
  /// The storage form of its value.
  public let kind: SlotKind
  /// The number of the entity that declares the property.
  public let declaringEntity: Int
  /// The attribute's description; nil for a to-one relationship.
  public let attribute: AttributeDescription?
  /// The type of the attribute; nil for a to-one relationship.
  public let attributeType: AttributeType?
  /// The to-one relationship; nil for an attribute.
  public let relationship: CompiledRelationship?
  /// Whether the value may be null when saved.
  public let isOptional: Bool
  /// Whether the value exists in memory only.
  public let isTransient: Bool
  /// The value of a new object.
  public let defaultValue: Slot
  /// The attribute's validation; nil for a to-one relationship.
  public let checker: AttributeChecker?
  /// Whether the store computes the value.
  public let isDerived: Bool
  /// Whether stored values can be large, so that they can be read separately and stored in files.
  package var canBeLarge: Bool { kind == .bytes && attributeType?.traits.canBeLarge ?? false }

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
  /// The relationship's number in its model. Each declaration has one number.
  public let id: Int
  /// The relationship's name.
  public let name: String
  /// The description from which the relationship was compiled.
  public let relationshipDescription: RelationshipDescription
  /// The number of the entity that declares it.
  public let sourceEntity: Int
  /// The number of the destination entity.
  public let destinationEntity: Int
  /// The slot number of a to-one relationship, or the to-many index of a to-many relationship.
  public let index: Int
  /// Whether the relationship is to-many.
  public let isToMany: Bool
  /// Whether the members are ordered.
  public let isOrdered: Bool
  /// Whether the relationship may be empty when saved.
  public let isOptional: Bool
  /// Whether the relationship exists in memory only.
  public let isTransient: Bool
  /// The effect of deleting the source.
  public let deleteRule: DeleteRule
  /// The effect of ``deleteRule`` on the members.
  package let deleteEffect: DeleteEffect
  /// The number of the mutual inverse; nil if there is none.
  public let inverseID: Int?
  /// The number of a one-sided inverse: changes of this relationship change the inverse, but not the reverse, and both are stored
  /// separately. Nil if there is none.
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
    deleteEffect = deleteRule.effect
    self.inverseID = inverseID
    self.followedInverseID = followedInverseID
  }
}

/// The validation rules of an entity's slots as bit masks, for a fast check that finds most objects valid. Errors are determined by a full
/// validation.
package struct FastValidationRules: Sendable {
  /// Whether the masks cover all rules: the entity has 1 to 64 slots, and no rules other than those of its slots.
  package let isComplete: Bool
  /// The slots that require a value.
  package private(set) var required: UInt64 = 0
  /// The slots whose numbers must be finite.
  package private(set) var finite: UInt64 = 0
  /// The slots of required to-one relationships, whose destination must not be deleted.
  package private(set) var destinations: UInt64 = 0
  /// The slots whose values require their ``CompiledSlot/checker``.
  package private(set) var checked: UInt64 = 0

  init(_ slots: [CompiledSlot], _ toMany: [CompiledRelationship], hasComposites: Bool) {
    let hasMemberRules = toMany.contains { $0.relationshipDescription.minCount > 0 || $0.relationshipDescription.maxCount > 0 }
    let hasTransients = slots.contains(where: \.isTransient)
    isComplete = !slots.isEmpty && slots.count <= 64 && !hasMemberRules && !hasTransients && !hasComposites
    guard isComplete else { return }
    for slot in slots where slot.relationship.map({ !$0.isOptional }) ?? false { destinations |= 1 << UInt64(slot.index) }
    for slot in slots where slot.relationship == nil && !slot.isDerived {
      let bit = UInt64(1) << UInt64(slot.index)
      if !slot.isOptional { required |= bit }
      if slot.kind == .real { finite |= bit }
      if slot.attribute.map({ !$0.validation.isEmpty }) ?? true || !(slot.attributeType?.traits.isImpliedByKind ?? false) { checked |= bit }
    }
  }
}
