// NSEntityDescription: an entity as an object.
public import Foundation
package import ObjectModel

/// An entity: a name, a class and properties. Once a coordinator uses its model, changes of it are not heeded.
public final class NSEntityDescription: NSObject, NSCopying, NSFetchRequestResult {
  /// The model that the entity is of, which it does not hold; an empty one where it is of none.
  public var managedObjectModel: NSManagedObjectModel { model ?? NSManagedObjectModel() }
  /// The model that the entity is of.
  package private(set) weak var model: NSManagedObjectModel?
  /// The entity's name.
  public var name: String?
  /// The name of the class of its objects.
  public var managedObjectClassName: String! = "NSManagedObject"
  /// Whether there are objects of the entities below it only.
  public var isAbstract = false
  /// Its attributes, relationships and fetched properties.
  public var properties: [NSPropertyDescription] = []
  /// The entities below it.
  public var subentities: [NSEntityDescription] = []
  /// Names of attributes, no two objects with the same values of which may be stored.
  public var uniquenessConstraints: [[Any]] = []
  /// Its indexes.
  public var indexes: [NSFetchIndexDescription] = []
  /// What names an object where it is shown to be searched; nil for nothing.
  public var coreSpotlightDisplayNameExpression: NSExpression?
  /// Its notes.
  public var userInfo: [AnyHashable: Any]?
  /// The name that it had in an older version of the model.
  public var renamingIdentifier: String?
  /// What makes it another version without a change.
  public var versionHashModifier: String?
  private var superentityName: String?
  /// What the description was made of, with all that has no name here.
  private let original: EntityDescription

  /// An entity without a name.
  public override init() { original = EntityDescription(name: "") }

  /// - Parameters:
  ///   - entity: The entity as a value.
  ///   - model: The model that has it; nil for none.
  ///   - composites: The composites that the model knows.
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

  /// The entity above it.
  public var superentity: NSEntityDescription? { superentityName.flatMap { model?.entitiesByName[$0] } }

  /// Its attributes by their names, inherited ones included.
  public var attributesByName: [String: NSAttributeDescription] { byName(NSAttributeDescription.self) }
  /// Its relationships by their names, inherited ones included.
  public var relationshipsByName: [String: NSRelationshipDescription] { byName(NSRelationshipDescription.self) }
  /// Its properties by their names, inherited ones included.
  public var propertiesByName: [String: NSPropertyDescription] { byName(NSPropertyDescription.self) }

  private func byName<Property: NSPropertyDescription>(_ type: Property.Type) -> [String: Property] {
    let own = properties.compactMap { $0 as? Property }.map { ($0.name, $0) }
    return (superentity?.byName(type) ?? [:]).merging(own) { _, new in new }
  }

  /// The entities below it by their names.
  public var subentitiesByName: [String: NSEntityDescription] {
    Dictionary(subentities.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  /// What tells versions of the entity apart.
  public var versionHash: Data { model?.entityVersionHashesByName[name ?? ""] ?? Data() }

  /// Whether it is another entity or lies below it.
  public func isKindOf(entity other: NSEntityDescription) -> Bool {
    name == other.name || (superentity?.isKindOf(entity: other) ?? false)
  }

  /// Its relationships to an entity.
  public func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
    relationshipsByName.values.filter { $0.destinationEntity?.name == entity.name }.sorted { $0.name < $1.name }
  }

  /// Entities are equal where their names and properties are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSEntityDescription else { return false }
    return other === self || other.name == name && other.value == value
  }
  /// The hash of the name.
  public override var hash: Int { (name ?? "").hashValue }

  /// The entity with copies of its properties and of the entities below it, for a model that is being made.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSEntityDescription(value, of: nil, composites)
    copy.subentities = subentities.compactMap { $0.copy() as? NSEntityDescription }
    return copy
  }

  /// The class's name as `NSStringFromClass` has it, where the program has the class, and otherwise as the model has it.
  private static func shownClassName(of entity: EntityDescription) -> String {
    guard let name = entity.managedObjectClassName else { return "NSManagedObject" }
    return EntityClassRegistry.type(named: name).map { NSStringFromClass($0) } ?? name
  }

  // MARK: As values

  /// The entity as a value, without those below it.
  package var value: EntityDescription {
    var entity = original
    entity.name = name ?? ""
    entity.isAbstract = isAbstract
    if managedObjectClassName != Self.shownClassName(of: original) {
      entity.managedObjectClassName = managedObjectClassName == "NSManagedObject" ? nil : managedObjectClassName
    }
    entity.properties = properties.map(\.value)
    entity.indexes = indexes.map(\.value)
    for property in properties where property.wantsIndex && property is NSAttributeDescription && !property.isTransient {
      if entity.indexes.contains(where: { $0.elements.first?.propertyName == property.name }) { continue }
      entity.indexes.append(FetchIndexDescription(name: "by_\(property.name)", elements: [FetchIndexElement(property: property.name)]))
    }
    entity.coreSpotlightDisplayNameExpression = coreSpotlightDisplayNameExpression?.description
    entity.superentityName = superentityName
    // One without properties says nothing.
    entity.uniquenessConstraints = uniquenessConstraints.map { $0.compactMap { ($0 as? String) ?? ($0 as? NSPropertyDescription)?.name } }
      .filter { !$0.isEmpty }
    entity.userInfo = (userInfo ?? [:]).reduce(into: [:]) { notes, note in notes["\(note.key)"] = "\(note.value)" }
    entity.renamingIdentifier = renamingIdentifier
    entity.versionHashModifier = versionHashModifier
    return entity
  }

  /// The composites that its properties are.
  private var composites: [CompositeDescription] {
    var known: [CompositeDescription] = []
    noteComposites(in: &known)
    return known
  }

  /// Writes what the parts of its composites are among a model's.
  func noteComposites(in composites: inout [CompositeDescription]) {
    for case let property as NSCompositeAttributeDescription in properties {
      property.join(self)
      property.note(in: &composites)
    }
  }

  /// Entities of a model, each with those below it.
  static func make(_ value: ManagedObjectModel, of model: NSManagedObjectModel) -> [NSEntityDescription] {
    let made = value.entities.map { NSEntityDescription($0, of: model, value.composites) }
    let byName = Dictionary(made.map { ($0.name ?? "", $0) }) { first, _ in first }
    for entity in made { entity.superentityName.flatMap { byName[$0] }?.subentities.append(entity) }
    return made
  }

  /// The entity becomes one of a model.
  func join(_ model: NSManagedObjectModel) {
    self.model = model
    for property in properties { property.join(self) }
  }

  /// Entities and those below them, each once.
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
