// NSPropertyDescription: properties of entities as objects.
public import Foundation
import ObjectModel

/// A property of an entity.
public class NSPropertyDescription: NSObject, NSCopying {
  /// The entity that declares it; an empty one where none does.
  public var entity: NSEntityDescription { owner ?? NSEntityDescription() }
  private weak var owner: NSEntityDescription?
  /// The model that it is of.
  final var model: NSManagedObjectModel? { owner?.model }

  /// The property becomes one of an entity.
  final func join(_ entity: NSEntityDescription) { owner = entity }

  /// Its name.
  public var name = ""
  /// Whether it may be without a value.
  public var isOptional = true
  /// Whether no store keeps it.
  public var isTransient = false
  /// Whether an index of its entity begins with it. Setting it to true adds an index of the property alone to an entity that has none; Core Data's own
  /// successor of it are the entity's indexes.
  public final var isIndexed: Bool {
    get { wantsIndex || owner?.indexes.contains { $0.elements.first?.propertyName == name } ?? false }
    set {
      wantsIndex = newValue
      if !newValue { owner?.indexes.removeAll { $0.elements.map(\.propertyName) == [name] } }
    }
  }
  private(set) final var wantsIndex = false
  /// Whether models mark it for Spotlight.
  public var isIndexedBySpotlight = false
  /// Its notes.
  public var userInfo: [AnyHashable: Any]?
  /// The name that it had in an older version of the model.
  public var renamingIdentifier: String?
  /// What makes it another version without a change.
  public var versionHashModifier: String?

  /// A property without a name.
  public override init() {}

  /// The property by itself, as one that no entity has yet.
  public func copy(with zone: NSZone? = nil) -> Any { Self.make(value, of: nil) }

  var value: PropertyDescription { .attribute(AttributeDescription(name: name, type: .undefined)) }

  var notes: [String: String] { (userInfo ?? [:]).reduce(into: [:]) { notes, note in notes["\(note.key)"] = "\(note.value)" } }

  /// - Parameters:
  ///   - property: The property as a value.
  ///   - entity: The entity that has it; nil for none.
  ///   - composites: The composites that the model knows.
  static func make(
    _ property: PropertyDescription, of entity: NSEntityDescription?, _ composites: [CompositeDescription] = []
  ) -> NSPropertyDescription {
    let made: NSPropertyDescription
    switch property {
    case .attribute(let attribute) where attribute.type == .composite: made = NSCompositeAttributeDescription(attribute, composites)
    case .attribute(let attribute) where attribute.derivationExpression != nil: made = NSDerivedAttributeDescription(attribute)
    case .attribute(let attribute): made = NSAttributeDescription(attribute)
    case .relationship(let relationship): made = NSRelationshipDescription(relationship)
    case .fetchedProperty(let fetched): made = NSFetchedPropertyDescription(fetched)
    }
    if let entity { made.join(entity) }
    return made
  }
}

/// An attribute of an entity.
public class NSAttributeDescription: NSPropertyDescription {
  /// The type of its values.
  public var attributeType = NSAttributeType.undefinedAttributeType
  /// What a new object has.
  public var defaultValue: Any?
  /// Whether large values lie in files of their own.
  public var allowsExternalBinaryDataStorage = false
  /// The name of what makes bytes of its values, where it is transformable.
  public var valueTransformerName: String?
  /// The name of the class of its values.
  public var attributeValueClassName: String?
  /// Whether its value stays in the history of an object that is deleted.
  public var preservesValueInHistoryOnDeletion = false
  /// Whether a cloud keeps it encrypted; the store always does.
  public var allowsCloudEncryption = false
  private let original: AttributeDescription

  /// An attribute without a name and a type.
  public override init() { original = AttributeDescription(name: "", type: .undefined) }

  init(_ attribute: AttributeDescription) {
    original = attribute
    super.init()
    name = attribute.name
    attributeType = NSAttributeType(attribute.type)
    isOptional = attribute.isOptional
    isTransient = attribute.isTransient
    defaultValue = DefaultValue.value(of: attribute)
    allowsExternalBinaryDataStorage = attribute.allowsExternalBinaryDataStorage
    valueTransformerName = attribute.valueTransformerName
    attributeValueClassName = attribute.valueClassName
    preservesValueInHistoryOnDeletion = attribute.preservesValueInHistoryOnDeletion
    allowsCloudEncryption = attribute.allowsCloudEncryption
    isIndexedBySpotlight = attribute.isIndexedBySpotlight
    userInfo = attribute.userInfo
    renamingIdentifier = attribute.renamingIdentifier
    versionHashModifier = attribute.versionHashModifier
  }

  override var value: PropertyDescription {
    var attribute = original
    attribute.name = name
    attribute.type = attributeType.type
    attribute.isOptional = isOptional
    attribute.isTransient = isTransient
    attribute.defaultValue = DefaultValue.slot(of: defaultValue, type: attribute.type)
    attribute.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
    attribute.valueTransformerName = valueTransformerName
    attribute.valueClassName = attributeValueClassName
    attribute.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
    attribute.allowsCloudEncryption = allowsCloudEncryption
    attribute.isIndexedBySpotlight = isIndexedBySpotlight
    attribute.userInfo = notes
    attribute.renamingIdentifier = renamingIdentifier
    attribute.versionHashModifier = versionHashModifier
    return .attribute(attribute)
  }
}

/// An attribute that the store computes from others.
public final class NSDerivedAttributeDescription: NSAttributeDescription {
  /// What is computed.
  public var derivationExpression: NSExpression?

  /// A derived attribute without a name and a type.
  public override init() { super.init() }

  override init(_ attribute: AttributeDescription) {
    super.init(attribute)
    derivationExpression = attribute.derivationExpression.map { NSExpression(format: $0) }
  }

  override var value: PropertyDescription {
    guard case .attribute(var attribute) = super.value else { return super.value }
    attribute.derivationExpression = derivationExpression?.description
    return .attribute(attribute)
  }
}

/// A relationship of an entity.
public final class NSRelationshipDescription: NSPropertyDescription {
  /// The entity of the objects that it leads to.
  public var destinationEntity: NSEntityDescription? {
    get { setDestination ?? destinationName.flatMap { model?.entitiesByName[$0] } }
    set { setDestination = newValue }
  }
  /// The relationship back.
  public var inverseRelationship: NSRelationshipDescription? {
    get { setInverse ?? inverseName.flatMap { destinationEntity?.relationshipsByName[$0] } }
    set { setInverse = newValue }
  }
  /// How many objects it leads to at most; 0 for any number, 1 for a to-one relationship.
  public var maxCount = 0
  /// How many objects it leads to at least.
  public var minCount = 0
  /// Whether its objects have an order.
  public var isOrdered = false
  /// What a deletion does to the objects that it leads to.
  public var deleteRule = NSDeleteRule.nullifyDeleteRule
  /// Whether it leads to several objects.
  public var isToMany: Bool { maxCount != 1 }

  private var destinationName: String?
  private var inverseName: String?
  private weak var setDestination: NSEntityDescription?
  private weak var setInverse: NSRelationshipDescription?
  private let original: RelationshipDescription

  /// A relationship without a name.
  public override init() { original = RelationshipDescription(name: "", destination: "") }

  init(_ relationship: RelationshipDescription) {
    original = relationship
    super.init()
    name = relationship.name
    destinationName = relationship.destinationEntityName
    inverseName = relationship.inverseName
    maxCount = relationship.isToMany ? (relationship.maxCount == 1 ? 0 : relationship.maxCount) : 1
    minCount = relationship.minCount
    isOrdered = relationship.isOrdered
    isOptional = relationship.isOptional
    isTransient = relationship.isTransient
    deleteRule = NSDeleteRule(relationship.deleteRule)
    userInfo = relationship.userInfo
    renamingIdentifier = relationship.renamingIdentifier
    versionHashModifier = relationship.versionHashModifier
  }

  override var value: PropertyDescription {
    var relationship = original
    relationship.name = name
    relationship.destinationEntityName = setDestination?.name ?? destinationName ?? ""
    relationship.inverseName = setInverse?.name ?? inverseName
    relationship.isToMany = isToMany
    relationship.maxCount = isToMany ? maxCount : original.maxCount
    relationship.minCount = minCount
    relationship.isOrdered = isOrdered
    relationship.isOptional = isOptional
    relationship.isTransient = isTransient
    relationship.deleteRule = deleteRule.rule
    relationship.userInfo = notes
    relationship.renamingIdentifier = renamingIdentifier
    relationship.versionHashModifier = versionHashModifier
    return .relationship(relationship)
  }
}
