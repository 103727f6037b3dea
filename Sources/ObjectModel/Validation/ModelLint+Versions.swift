extension ModelLint {
  /// Returns the findings in the current version of a bundle, and in the relations of its versions.
  public static func findings(in bundle: VersionedModel) -> [ModelIssue] { findings(in: bundle, includesFile: true) }

  /// Returns the findings in a model, without those that ``ModelFileLint`` reports for its file.
  package static func advice(in model: ManagedObjectModel) -> [ModelIssue] { findings(in: model, includesFile: false) }

  /// Returns the findings in a bundle, without those that ``ModelFileLint`` reports for the file of its current version.
  package static func advice(in bundle: VersionedModel) -> [ModelIssue] { findings(in: bundle, includesFile: false) }

  @_optimize(none) private static func findings(in bundle: VersionedModel, includesFile: Bool) -> [ModelIssue] {
    var findings = bundle.current.map { Self.findings(in: $0, includesFile: includesFile) } ?? []
    guard bundle.versions.count > 1 else { return findings }
    for version in bundle.versions where includesFile || version.name != bundle.currentVersionName {
      let others = bundle.versions.filter { $0.name != version.name }.map(\.model)
      findings += version.model.renamingIssues(among: others).map {
        ModelIssue(entityName: $0.entityName, propertyName: $0.propertyName, reason: "in the version '\(version.name)', \($0.reason)")
      }
    }
    for (index, version) in bundle.versions.enumerated() {
      guard
        let twin = bundle.versions[..<index].first(where: { $0.model.versionHashesByEntityName == version.model.versionHashesByEntityName })
      else { continue }
      findings.append(
        ModelIssue(
          reason: "stores cannot distinguish the version '\(version.name)' from '\(twin.name)': their stored properties are equal"))
    }
    return findings
  }
}

extension ManagedObjectModel {
  /// Returns the renaming identifiers of a version that match no name in other versions, so that a migration would not carry values over.
  @_optimize(none) package func renamingIssues(among others: [ManagedObjectModel]) -> [ModelIssue] {
    var findings: [ModelIssue] = []
    func report(_ entity: String, _ property: String?, _ identifier: String, _ kind: String, _ names: [String]) {
      let close = SimilarName.of(identifier, among: names.sorted()).map { "did you mean '\($0)'?" } ?? "correct it"
      findings.append(
        ModelIssue(
          entityName: entity, propertyName: property,
          reason: "the renaming identifier '\(identifier)' does not match any \(kind) of another version; \(close)"))
    }
    guard !others.isEmpty else { return findings }
    for entity in entities {
      let sources = [entity.renamingIdentifier ?? entity.name, entity.name]
      let relatives = others.map { other in
        other.entities.filter { sources.contains($0.name) || $0.renamingIdentifier.map(sources.contains) ?? false }
      }
      if let identifier = entity.renamingIdentifier, identifier != entity.name,
        others.contains(where: { other in !other.entities.contains { $0.name == entity.name } }),
        !relatives.joined().contains(where: { leads(identifier, from: entity.name, to: $0.name, $0.renamingIdentifier) })
      {
        report(entity.name, nil, identifier, "entity", others.flatMap(\.entities).map(\.name))
      }
      let properties = relatives.joined().flatMap(\.properties)
      for property in entity.properties {
        guard let identifier = property.renamingIdentifier, identifier != property.name,
          relatives.contains(where: { entities in !entities.flatMap(\.properties).contains { $0.name == property.name } }),
          !properties.contains(where: { leads(identifier, from: property.name, to: $0.name, $0.renamingIdentifier) })
        else { continue }
        report(entity.name, property.name, identifier, "property", properties.map(\.name))
      }
    }
    return findings
  }

  /// Returns whether a renaming identifier matches a name in another version. A copy of the version with the same mistake does not count.
  private func leads(_ identifier: String, from name: String, to other: String, _ otherIdentifier: String?) -> Bool {
    other == identifier || otherIdentifier == identifier && other != name
  }
}
