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
