// NSEntityDescription: an entity as an object.
public import Foundation
package import ObjectModel

/// An entity: a name, a class and properties. One that a model gave out is a copy: changes of it concern the model when it is set there again.
public final class NSEntityDescription: NSObject, NSFetchRequestResult {
  /// The model that gave the entity out.
  public private(set) var managedObjectModel: NSManagedObjectModel?
  /// The entity's name.
  public var name: String?
  /// The name of the class of its objects.
  public var managedObjectClassName: String? = "NSManagedObject"
  /// Whether there are objects of the entities below it only.
  public var isAbstract = false
  /// Its attributes, relationships and fetched properties.
  public var properties: [NSPropertyDescription] = []
  /// The entities below it.
  public var subentities: [NSEntityDescription] = []
  /// Names of attributes, no two objects with the same values of which may be stored.
  public var uniquenessConstraints: [[Any]] = []
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

  package init(_ entity: EntityDescription, of model: NSManagedObjectModel?) {
    original = entity
    managedObjectModel = model
    name = entity.name
    managedObjectClassName = entity.managedObjectClassName ?? "NSManagedObject"
    isAbstract = entity.isAbstract
    superentityName = entity.superentityName
    uniquenessConstraints = entity.uniquenessConstraints
    userInfo = entity.userInfo
    renamingIdentifier = entity.renamingIdentifier
    versionHashModifier = entity.versionHashModifier
    super.init()
    properties = entity.properties.map { NSPropertyDescription.make($0, of: self) }
  }

  /// The entity above it.
  public var superentity: NSEntityDescription? { superentityName.flatMap { managedObjectModel?.entitiesByName[$0] } }

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

  /// Whether it is another entity or lies below it.
  public func isKindOf(entity other: NSEntityDescription) -> Bool {
    name == other.name || (superentity?.isKindOf(entity: other) ?? false)
  }

  /// Its relationships to an entity.
  public func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
    relationshipsByName.values.filter { $0.destinationEntity?.name == entity.name }.sorted { $0.name < $1.name }
  }

  /// Entities are equal where their names and properties are.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSEntityDescription)?.value == value }
  /// The hash of the name.
  public override var hash: Int { (name ?? "").hashValue }

  // MARK: As values

  /// The entity as a value, without those below it.
  package var value: EntityDescription {
    var entity = original
    entity.name = name ?? ""
    entity.isAbstract = isAbstract
    entity.managedObjectClassName = managedObjectClassName == "NSManagedObject" ? nil : managedObjectClassName
    entity.properties = properties.map(\.value)
    entity.superentityName = superentityName
    entity.uniquenessConstraints = uniquenessConstraints.map { $0.compactMap { ($0 as? String) ?? ($0 as? NSPropertyDescription)?.name } }
    entity.userInfo = (userInfo ?? [:]).reduce(into: [:]) { notes, note in notes["\(note.key)"] = "\(note.value)" }
    entity.renamingIdentifier = renamingIdentifier
    entity.versionHashModifier = versionHashModifier
    return entity
  }

  /// Entities and those below them as values, each once.
  static func flattened(_ entities: [NSEntityDescription]) -> [EntityDescription] {
    for entity in entities {
      for lower in entity.subentities { lower.superentityName = entity.name }
    }
    var seen: Set<ObjectIdentifier> = []
    var waiting = entities
    var values: [EntityDescription] = []
    while !waiting.isEmpty {
      let entity = waiting.removeFirst()
      guard seen.insert(ObjectIdentifier(entity)).inserted else { continue }
      for lower in entity.subentities { lower.superentityName = entity.name }
      waiting += entity.subentities
      values.append(entity.value)
    }
    return values
  }
}
