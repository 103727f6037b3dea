// ModelValidation+Relationships: destinations, inverses and counts.

extension ModelValidation {
  /// The mistakes of a relationship that the entity at a position declares.
  func relationshipProblems(of relationship: RelationshipDescription, in source: Int) -> [String] {
    var problems = countProblems(of: relationship)
    guard let destination = number(ofEntity: relationship.destinationEntityName) else {
      problems.append(
        relationship.destinationEntityName.isEmpty
          ? "the relationship has no destination; name an entity"
          : "the destination '\(relationship.destinationEntityName)' is not in the model; add it or name another entity")
      return problems
    }
    if let inverse = relationship.inverseName {
      problems += inverseProblems(of: relationship, inverseName: inverse, source: source, destination: destination)
    }
    return problems
  }

  private func countProblems(of relationship: RelationshipDescription) -> [String] {
    var problems: [String] = []
    let (least, most) = (relationship.minCount, relationship.maxCount)
    if least < 0 || most < 0 { problems.append("the counts may not be negative") }
    if relationship.isToMany {
      if most == 1 {
        problems.append("a to-many relationship to at most one object is a to-one relationship; make it one or raise maxCount")
      }
      if most > 0, least > most { problems.append("minCount is greater than maxCount") }
    } else {
      if most != 1 { problems.append("a to-one relationship has a maxCount of 1, not \(most)") }
      if least > 1 { problems.append("a to-one relationship has a minCount of 0 or 1, not \(least)") }
    }
    return problems
  }

  private func inverseProblems(of relationship: RelationshipDescription, inverseName: String, source: Int, destination: Int) -> [String] {
    let entity = model.entities[source].name
    guard let (property, declarer) = property(inverseName, of: destination) else {
      return ["the inverse '\(inverseName)' is not a property of '\(relationship.destinationEntityName)'"]
    }
    guard case .relationship(let inverse) = property else { return ["the inverse '\(inverseName)' is not a relationship"] }
    var problems: [String] = []
    // An inverse that is inherited, or that leads to another entity of the tree, would let objects without the relationship into it.
    if declarer != destination {
      problems.append(
        "the inverse '\(inverseName)' is declared by '\(model.entities[declarer].name)'; make that entity the destination")
    } else if inverse.destinationEntityName != entity {
      problems.append("the inverse '\(inverseName)' leads to '\(inverse.destinationEntityName)', not back to '\(entity)'")
    } else if inverse.inverseName != relationship.name {
      let other = inverse.inverseName.map { "'\($0)'" } ?? "none"
      problems.append("the inverse '\(inverseName)' has \(other) as its own inverse, not '\(relationship.name)'")
    }
    if relationship.isTransient != inverse.isTransient {
      problems.append("the relationship and its inverse '\(inverseName)' must both be transient or both be stored")
    }
    return problems
  }
}
