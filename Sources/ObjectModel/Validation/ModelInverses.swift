/// Resolves the inverses of the relationships of a model.
///
/// Two relationships that name each other are kept in sync from both sides. Like Core Data, a model can also name an inverse that does not
/// refer back: setting the relationship then sets its inverse, but not the reverse.
struct ModelInverses {
  struct Key: Hashable {
    let entity: String
    let name: String
  }
  enum Inverse: Equatable {
    case none
    /// Both sides are kept in sync.
    case mutual(Key)
    /// Changes of the relationship change its inverse, but not the reverse.
    case oneSided(Key)
  }

  private var entities: [String: EntityDescription] = [:]
  private var relationships: [Key: RelationshipDescription] = [:]
  /// The number of relationships that name a relationship as their inverse.
  private var claims: [Key: Int] = [:]
  /// To-one relationships without an inverse, by the only to-many relationship that names them as its inverse. Core Data stores both in one
  /// column.
  private var adopters: [Key: Key] = [:]

  init(_ model: ManagedObjectModel) {
    for entity in model.entities where entities[entity.name] == nil {
      entities[entity.name] = entity
      for relationship in entity.relationships {
        let key = Key(entity: entity.name, name: relationship.name)
        if relationships[key] == nil { relationships[key] = relationship }
      }
    }
    for relationship in relationships.values {
      if let found = named(by: relationship) { claims[found, default: 0] += 1 }
    }
    for (key, relationship) in relationships where relationship.isToMany {
      guard let found = named(by: relationship), claims[found] == 1, let other = relationships[found], !other.isToMany,
        other.inverseName == nil, other.destinationEntityName == key.entity, found.entity == relationship.destinationEntityName,
        other.isTransient == relationship.isTransient
      else { continue }
      adopters[found] = key
    }
  }

  /// Returns the declaration of the inverse that a relationship names, which its destination may inherit.
  private func named(by relationship: RelationshipDescription) -> Key? {
    guard let name = relationship.inverseName else { return nil }
    return ancestry(of: relationship.destinationEntityName).lazy.map { Key(entity: $0, name: name) }.first { relationships[$0] != nil }
  }

  /// Returns an entity and its superentities, nearest first.
  private func ancestry(of name: String) -> [String] {
    var result: [String] = []
    var next: String? = name
    // A cycle, which is reported elsewhere, ends here.
    while let entity = next.flatMap({ entities[$0] }), result.count <= ModelValidation.maximumDepth {
      result.append(entity.name)
      next = entity.superentityName
    }
    return result
  }

  /// Returns the inverse of a declared relationship, and a warning about the one that it names.
  func inverse(
    of relationship: RelationshipDescription, in entity: String
  ) -> (inverse: Inverse, warning: (reason: String, substitute: String)?) {
    let own = Key(entity: entity, name: relationship.name)
    guard let name = relationship.inverseName else { return (adopters[own].map { .mutual($0) } ?? .none, nil) }
    let destination = relationship.destinationEntityName
    guard let found = named(by: relationship), let other = relationships[found] else {
      return (.none, ("the inverse '\(name)' is not a relationship of '\(destination)'", "the relationship has no inverse"))
    }
    if found.entity == destination, other.destinationEntityName == entity, other.inverseName == relationship.name,
      other.isTransient == relationship.isTransient
    {
      return (.mutual(found), nil)
    }
    if adopters[found] == own {
      return (.mutual(found), ("the inverse '\(name)' names no inverse", "'\(relationship.name)' is used as its inverse"))
    }
    guard ancestry(of: entity).contains(other.destinationEntityName) else {
      return (
        .none,
        ("the inverse '\(name)' leads to '\(other.destinationEntityName)', not back to '\(entity)'", "the relationship has no inverse")
      )
    }
    let reason =
      if other.inverseName == relationship.name, other.isTransient != relationship.isTransient {
        "the relationship and its inverse '\(name)' are not both transient or both stored"
      } else {
        "the inverse '\(name)' has \(other.inverseName.map { "'\($0)'" } ?? "none") as its own inverse, not '\(relationship.name)'"
      }
    return (.oneSided(found), (reason, "setting '\(relationship.name)' sets '\(name)', and they are stored separately"))
  }
}

// MARK: - Checks of relationships

extension ModelValidation {
  /// Returns the errors of a relationship, which the entity at a position declares.
  func relationshipProblems(of relationship: RelationshipDescription, in source: Int) -> [String] {
    var problems = countProblems(of: relationship)
    if number(ofEntity: relationship.destinationEntityName) == nil {
      problems.append(
        relationship.destinationEntityName.isEmpty
          ? "the relationship has no destination; name an entity"
          : "the destination '\(relationship.destinationEntityName)' is not in the model; add it or name another entity")
    }
    return problems
  }

  /// Returns warnings about a relationship, which the entity at a position declares, for definitions that Core Data accepts.
  func relationshipWarnings(
    of relationship: RelationshipDescription, in source: Int
  ) -> [(reason: String, substitute: String?)] {
    var warnings: [(reason: String, substitute: String?)] = []
    if relationship.isToMany, relationship.maxCount > 0, relationship.minCount > relationship.maxCount {
      warnings.append(("minCount is greater than maxCount, so no number of objects is valid", nil))
    }
    // A missing destination is reported as an error.
    if number(ofEntity: relationship.destinationEntityName) != nil,
      let warning = inverses.inverse(of: relationship, in: model.entities[source].name).warning
    {
      warnings.append((warning.reason, warning.substitute))
    }
    return warnings
  }

  private func countProblems(of relationship: RelationshipDescription) -> [String] {
    var problems: [String] = []
    let (least, most) = (relationship.minCount, relationship.maxCount)
    if least < 0 || most < 0 { problems.append("the counts may not be negative") }
    if relationship.isToMany {
      if most == 1 {
        problems.append("a to-many relationship to at most one object is a to-one relationship; make it one or raise maxCount")
      }
    } else {
      if most != 1 { problems.append("a to-one relationship has a maxCount of 1, not \(most)") }
      if least > 1 { problems.append("a to-one relationship has a minCount of 0 or 1, not \(least)") }
    }
    return problems
  }
}
