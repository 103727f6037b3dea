public import Foundation
@_spi(Generated) import ObjectModel
import ObjectQuery

/// A property of an entity.
public class NSPropertyDescription: NSObject, NSCopying {
  /// The entity that declares the property; an empty entity if there is none.
  public var entity: NSEntityDescription { owner ?? NSEntityDescription() }
  private weak var owner: NSEntityDescription?
  /// The model of the property.
  final var model: NSManagedObjectModel? { owner?.model }

  /// Adds the property to an entity.
  final func join(_ entity: NSEntityDescription) { owner = entity }

  /// The property's name.
  public var name = ""
  /// Whether the property may have no value.
  public var isOptional = true
  /// Whether the property is not stored.
  public var isTransient = false
  /// Whether an index of the entity begins with the property.
  ///
  /// Setting it to true adds an index of the property to an entity that has none. Core Data replaced this property by the entity's indexes.
  public final var isIndexed: Bool {
    get { isIndexRequested || owner?.indexes.contains { $0.elements.first?.propertyName == name } ?? false }
    set {
      isIndexRequested = newValue
      if !newValue { owner?.indexes.removeAll { $0.elements.map(\.propertyName) == [name] } }
    }
  }
  private(set) final var isIndexRequested = false
  /// Whether the model marks the property for Spotlight.
  public var isIndexedBySpotlight = false
  /// The user info of the model.
  public var userInfo: [AnyHashable: Any]?
  /// The property's name in an earlier version of the model.
  public var renamingIdentifier: String?
  /// A string that changes the version hash without any other change.
  public var versionHashModifier: String?

  /// Creates a property without a name.
  public override init() {}

  /// Returns a copy that belongs to no entity.
  public func copy(with zone: NSZone? = nil) -> Any { Self.make(value, of: nil) }

  var value: PropertyDescription { .attribute(AttributeDescription(name: name, type: .undefined)) }

  var notes: [String: String] { (userInfo ?? [:]).reduce(into: [:]) { notes, note in notes["\(note.key)"] = "\(note.value)" } }

  /// - Parameters:
  ///   - property: The property as a value.
  ///   - entity: The entity of the property; nil for none.
  ///   - composites: The model's composites.
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
  /// The type of the values.
  public var attributeType = NSAttributeType.undefinedAttributeType
  /// The value of the attribute in new objects.
  public var defaultValue: Any?
  /// Whether large values are stored in external files.
  public var allowsExternalBinaryDataStorage = false
  /// The name of the transformer of a transformable attribute.
  public var valueTransformerName: String?
  /// The name of the class of the values.
  public var attributeValueClassName: String?
  /// Whether the history preserves the value of a deleted object.
  public var preservesValueInHistoryOnDeletion = false
  /// Whether CloudKit encrypts the value. The store is always encrypted.
  public var allowsCloudEncryption = false
  private let original: AttributeDescription

  /// Creates an attribute without a name and a type.
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

/// An attribute that the store derives from others.
public final class NSDerivedAttributeDescription: NSAttributeDescription {
  /// The expression that derives the value.
  public var derivationExpression: NSExpression?

  /// Creates a derived attribute without a name and a type.
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
  /// The entity of the relationship's objects.
  public var destinationEntity: NSEntityDescription? {
    get { setDestination ?? destinationName.flatMap { model?.entitiesByName[$0] } }
    set { setDestination = newValue }
  }
  /// The inverse relationship.
  public var inverseRelationship: NSRelationshipDescription? {
    get { setInverse ?? inverseName.flatMap { destinationEntity?.relationshipsByName[$0] } }
    set { setInverse = newValue }
  }
  /// The maximum number of objects: 1 for a to-one relationship, 0 for no limit.
  public var maxCount = 0
  /// The minimum number of objects.
  public var minCount = 0
  /// Whether the objects are ordered.
  public var isOrdered = false
  /// The effect of a deletion on the relationship's objects.
  public var deleteRule = NSDeleteRule.nullifyDeleteRule
  /// Whether the relationship can have several objects.
  public var isToMany: Bool { maxCount != 1 }

  private var destinationName: String?
  private var inverseName: String?
  private weak var setDestination: NSEntityDescription?
  private weak var setInverse: NSRelationshipDescription?
  private let original: RelationshipDescription

  /// Creates a relationship without a name.
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

/// Converts default values of attributes between Core Data's and the model's representation.
enum DefaultValue {
  /// Returns the initial value of an attribute as a Swift value; nil if it has none.
  static func value(of attribute: AttributeDescription) -> Any? {
    // If the transformer cannot read a default, an application could not have set it.
    (try? AttributeConversion.untypedValue(of: attribute.defaultValue, attribute)) ?? nil
  }

  /// Returns a value as stored in models. A value of another type is kept, and reported when the model is used.
  static func slot(of value: Any?, type: AttributeType) -> Slot {
    guard let value = AttributeConversion.unwrapped(value) else { return .null }
    let number = value as? NSNumber
    switch type.traits.number {
    case .integer: if let number { return type == .boolean ? Slot(number.boolValue) : .int(number.int64Value) }
    case .double: if let number { return Slot(number.doubleValue) }
    case .single: if let number { return Slot(number.floatValue) }
    case .decimal: if let number = (value as? Decimal) ?? number?.decimalValue { return Slot(number) }
    case nil: break
    }
    guard let value = value as? any AttributeValue else { return .null }
    return value.slot
  }
}

/// An attribute whose value is a dictionary of named elements. Predicates and sort descriptors refer to the elements by key paths such as
/// `home.city`.
public final class NSCompositeAttributeDescription: NSAttributeDescription {
  /// The elements: attributes and other composites.
  public var elements: [NSAttributeDescription] = []
  /// The name of the composite type in the model that was read.
  private let storedKind: String?
  /// The prefix for generated names of composite types: the entity, or the enclosing composite.
  private var enclosingKind: String?

  /// Creates an empty composite without a name.
  public override init() {
    storedKind = nil
    super.init()
    attributeType = .compositeAttributeType
  }

  init(_ attribute: AttributeDescription, _ composites: [CompositeDescription]) {
    storedKind = attribute.compositeName
    super.init(attribute)
    // A model that was not validated may contain cycles.
    let others = composites.filter { $0.name != storedKind }
    let parts = composites.first { $0.name == storedKind }?.elements ?? []
    elements = parts.compactMap { NSPropertyDescription.make(.attribute($0), of: nil, others) as? NSAttributeDescription }
  }

  /// Returns a copy that belongs to no entity.
  public override func copy(with zone: NSZone? = nil) -> Any {
    var known: [CompositeDescription] = []
    note(in: &known)
    return Self.make(value, of: nil, known)
  }

  private var kind: String { storedKind ?? "\(enclosingKind ?? entity.name ?? "")_\(name)" }

  override var value: PropertyDescription {
    guard case .attribute(var attribute) = super.value else { return super.value }
    attribute.compositeName = kind
    return .attribute(attribute)
  }

  /// Adds the composite's definition to a model's composites.
  func note(in composites: inout [CompositeDescription]) {
    for case let part as NSCompositeAttributeDescription in elements {
      part.enclosingKind = kind
      part.note(in: &composites)
    }
    let parts = elements.compactMap { if case .attribute(let attribute) = $0.value { attribute } else { nil } }
    if let place = composites.firstIndex(where: { $0.name == kind }) {
      composites[place].elements = parts
    } else {
      composites.append(CompositeDescription(name: kind, elements: parts))
    }
  }
}

/// A named computed value in dictionary results.
public final class NSExpressionDescription: NSPropertyDescription {
  /// The expression to evaluate.
  public var expression: NSExpression?
  /// The type of the values; ``NSAttributeType/undefinedAttributeType`` for the expression's own type.
  public var expressionResultType = NSAttributeType.undefinedAttributeType
  /// The type of the values, by its short name.
  public var resultType: NSAttributeDescription.AttributeType {
    get { NSAttributeDescription.AttributeType(rawValue: expressionResultType.rawValue) }
    set { expressionResultType = NSAttributeType(rawValue: newValue.rawValue) ?? .undefinedAttributeType }
  }

  /// Creates a description without a name.
  public override init() {}

  /// Returns a copy that belongs to no entity.
  public override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSExpressionDescription()
    (copy.name, copy.expression, copy.expressionResultType) = (name, expression, expressionResultType)
    return copy
  }

  func property() throws -> FetchProperty {
    guard let expression else { throw FetchRequestError.missingExpression(name) }
    return .expression(
      ExpressionDescription(
        name: name, expression: try expression.outcome.get(),
        resultType: expressionResultType == .undefinedAttributeType ? nil : expressionResultType.type))
  }
}

/// A property that is what a request finds, which may name the object by `$FETCH_SOURCE`.
public final class NSFetchedPropertyDescription: NSPropertyDescription {
  /// The fetch request. Only its entity and predicate are used.
  public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?
  private let original: FetchedPropertyDescription

  /// Creates a fetched property without a name.
  public override init() { original = FetchedPropertyDescription(name: "", destination: "") }

  init(_ property: FetchedPropertyDescription) {
    original = property
    super.init()
    name = property.name
    isOptional = property.isOptional
    userInfo = property.userInfo
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: property.destinationEntityName)
    request.predicate = property.predicateFormat.map { NSPredicate(format: $0) }
    fetchRequest = request
  }

  override var value: PropertyDescription {
    var property = original
    property.name = name
    property.isOptional = isOptional
    property.userInfo = notes
    property.destinationEntityName = fetchRequest?.entityName ?? ""
    property.predicateFormat = fetchRequest?.predicate?.predicateFormat
    return .fetchedProperty(property)
  }
}
