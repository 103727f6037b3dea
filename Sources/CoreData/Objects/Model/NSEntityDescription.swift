public import Foundation
package import ObjectModel

/// An entity: a name, a class and properties. Changes have no effect once a coordinator uses its model.
public final class NSEntityDescription: NSObject, NSCopying, NSFetchRequestResult {
  /// The model of the entity, which is not retained; an empty model if it belongs to none.
  public var managedObjectModel: NSManagedObjectModel { model ?? NSManagedObjectModel() }
  /// The model of the entity, if any.
  package private(set) weak var model: NSManagedObjectModel?
  /// The entity's name.
  public var name: String?
  /// The name of the class of the entity's objects.
  public var managedObjectClassName: String! = "NSManagedObject"
  /// Whether only the subentities have objects.
  public var isAbstract = false
  /// The entity's attributes, relationships and fetched properties.
  public var properties: [NSPropertyDescription] = []
  /// The direct subentities.
  public var subentities: [NSEntityDescription] = []
  /// The uniqueness constraints, each an array of attribute names.
  public var uniquenessConstraints: [[Any]] = []
  /// The entity's indexes.
  public var indexes: [NSFetchIndexDescription] = []
  /// The expression for an object's display name in search results, if any.
  public var coreSpotlightDisplayNameExpression: NSExpression?
  /// The user info of the model.
  public var userInfo: [AnyHashable: Any]?
  /// The entity's name in an earlier version of the model.
  public var renamingIdentifier: String?
  /// A string that changes the version hash without any other change.
  public var versionHashModifier: String?
  private var superentityName: String?
  /// The value from which the description was created, including everything that has no counterpart here.
  private let original: EntityDescription

  /// Creates an entity without a name.
  public override init() { original = EntityDescription(name: "") }

  /// - Parameters:
  ///   - entity: The entity as a value.
  ///   - model: The model of the entity; nil for none.
  ///   - composites: The model's composites.
  package init(_ entity: EntityDescription, of model: NSManagedObjectModel?, _ composites: [CompositeDescription] = []) {
    original = entity
    self.model = model
    name = entity.name
    managedObjectClassName = Self.shownClassName(of: entity)
    isAbstract = entity.isAbstract
    superentityName = entity.superentityName
    uniquenessConstraints = entity.uniquenessConstraints
    userInfo = entity.userInfo
    renamingIdentifier = entity.renamingIdentifier
    versionHashModifier = entity.versionHashModifier
    super.init()
    properties = entity.properties.map { NSPropertyDescription.make($0, of: self, composites) }
    indexes = entity.indexes.map { NSFetchIndexDescription($0, of: self) }
    coreSpotlightDisplayNameExpression = entity.coreSpotlightDisplayNameExpression.map { NSExpression(format: $0) }
  }

  /// The superentity.
  public var superentity: NSEntityDescription? { superentityName.flatMap { model?.entitiesByName[$0] } }

  /// The attributes by name, including inherited ones.
  public var attributesByName: [String: NSAttributeDescription] { byName(NSAttributeDescription.self) }
  /// The relationships by name, including inherited ones.
  public var relationshipsByName: [String: NSRelationshipDescription] { byName(NSRelationshipDescription.self) }
  /// The properties by name, including inherited ones.
  public var propertiesByName: [String: NSPropertyDescription] { byName(NSPropertyDescription.self) }

  private func byName<Property: NSPropertyDescription>(_ type: Property.Type) -> [String: Property] {
    let own = properties.compactMap { $0 as? Property }.map { ($0.name, $0) }
    return (superentity?.byName(type) ?? [:]).merging(own) { _, new in new }
  }

  /// The subentities by name.
  public var subentitiesByName: [String: NSEntityDescription] {
    Dictionary(subentities.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  /// The hash that identifies the entity's version.
  public var versionHash: Data { model?.entityVersionHashesByName[name ?? ""] ?? Data() }

  /// Returns whether the entity is another entity or one of its subentities.
  public func isKindOf(entity other: NSEntityDescription) -> Bool {
    name == other.name || (superentity?.isKindOf(entity: other) ?? false)
  }

  /// Returns the entity's relationships to a destination entity.
  public func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
    relationshipsByName.values.filter { $0.destinationEntity?.name == entity.name }.sorted { $0.name < $1.name }
  }

  /// Returns whether both entities have the same name and properties.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSEntityDescription else { return false }
    return other === self || other.name == name && other.value == value
  }
  /// A hash of the name.
  public override var hash: Int { (name ?? "").hashValue }

  /// Returns the entity with copies of its properties and subentities, for use in a new model.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSEntityDescription(value, of: nil, composites)
    copy.subentities = subentities.compactMap { $0.copy() as? NSEntityDescription }
    return copy
  }

  /// Returns the class's name as `NSStringFromClass` returns it if the program contains the class; otherwise the model's name for it.
  private static func shownClassName(of entity: EntityDescription) -> String {
    guard let name = entity.managedObjectClassName else { return "NSManagedObject" }
    return EntityClassRegistry.type(named: name).map { NSStringFromClass($0) } ?? name
  }

  // MARK: Values

  /// The entity as a value, without its subentities.
  package var value: EntityDescription {
    var entity = original
    entity.name = name ?? ""
    entity.isAbstract = isAbstract
    if managedObjectClassName != Self.shownClassName(of: original) {
      entity.managedObjectClassName = managedObjectClassName == "NSManagedObject" ? nil : managedObjectClassName
    }
    entity.properties = properties.map(\.value)
    entity.indexes = indexes.map(\.value)
    for property in properties where property.isIndexRequested && property is NSAttributeDescription && !property.isTransient {
      if entity.indexes.contains(where: { $0.elements.first?.propertyName == property.name }) { continue }
      entity.indexes.append(FetchIndexDescription(name: "by_\(property.name)", elements: [FetchIndexElement(property: property.name)]))
    }
    entity.coreSpotlightDisplayNameExpression = coreSpotlightDisplayNameExpression?.description
    entity.superentityName = superentityName
    // A constraint without properties is ignored.
    entity.uniquenessConstraints = uniquenessConstraints.map { $0.compactMap { ($0 as? String) ?? ($0 as? NSPropertyDescription)?.name } }
      .filter { !$0.isEmpty }
    entity.userInfo = (userInfo ?? [:]).reduce(into: [:]) { notes, note in notes["\(note.key)"] = "\(note.value)" }
    entity.renamingIdentifier = renamingIdentifier
    entity.versionHashModifier = versionHashModifier
    return entity
  }

  /// The composites of the entity's properties.
  private var composites: [CompositeDescription] {
    var known: [CompositeDescription] = []
    collectComposites(in: &known)
    return known
  }

  /// Adds the definitions of the entity's composites to a model's.
  func collectComposites(in composites: inout [CompositeDescription]) {
    for case let property as NSCompositeAttributeDescription in properties {
      property.join(self)
      property.note(in: &composites)
    }
  }

  /// Returns the entities of a model, each with its subentities.
  static func make(_ value: ManagedObjectModel, of model: NSManagedObjectModel) -> [NSEntityDescription] {
    let made = value.entities.map { NSEntityDescription($0, of: model, value.composites) }
    let byName = Dictionary(made.map { ($0.name ?? "", $0) }) { first, _ in first }
    for entity in made { entity.superentityName.flatMap { byName[$0] }?.subentities.append(entity) }
    return made
  }

  /// Adds the entity to a model.
  func join(_ model: NSManagedObjectModel) {
    self.model = model
    for property in properties { property.join(self) }
  }

  /// Returns the entities and their subentities, each once.
  static func flattened(_ entities: [NSEntityDescription]) -> [NSEntityDescription] {
    for entity in entities {
      for lower in entity.subentities { lower.superentityName = entity.name }
    }
    var seen: Set<ObjectIdentifier> = []
    var waiting = entities[...]
    var found: [NSEntityDescription] = []
    while let entity = waiting.popFirst() {
      guard seen.insert(ObjectIdentifier(entity)).inserted else { continue }
      for lower in entity.subentities { lower.superentityName = entity.name }
      waiting += entity.subentities
      found.append(entity)
    }
    return found
  }
}
