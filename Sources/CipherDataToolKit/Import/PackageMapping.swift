import Foundation
package import ObjectModel

/// Converts packages of Debian's package index to input objects of the Debian archive's model.
package struct PackageMapping {
  private let package: CompiledEntity
  private let section: CompiledEntity
  private let maintainer: CompiledEntity
  private let tag: CompiledEntity
  private let alternative: CompiledEntity
  private let relationKinds: [CompiledEntity]
  private let slots: [String: Int]
  private let sectionName: Int
  private let tagName: Int
  private let maintainerName: Int
  private let maintainerEmail: Int
  private let alternativeSlots: (name: Int, comparison: Int, version: Int)
  private let toSection: CompiledRelationship
  private let toMaintainer: CompiledRelationship
  private let toTags: CompiledRelationship
  private let toRelations: CompiledRelationship
  private let toAlternatives: [CompiledRelationship]
  /// The addresses seen so far. A maintainer has the first name in the file, so that importing the file again changes nothing.
  private var namedMaintainers: Set<String> = []

  /// Looks up the entities and properties in a model.
  ///
  /// - Throws: ``ToolError`` if the model is not that of the Debian archive.
  package init(_ model: CompiledModel) throws {
    let lookup = Lookup(model: model)
    package = try lookup.entity("Package")
    section = try lookup.entity("Section")
    maintainer = try lookup.entity("Maintainer")
    tag = try lookup.entity("Tag")
    alternative = try lookup.entity("Alternative")
    relationKinds = try RelationKind.allCases.map { try lookup.entity($0.entityName) }
    var slots: [String: Int] = [:]
    for (name, kind) in [
      ("name", SlotKind.text), ("version", .text), ("architecture", .text), ("priority", .text), ("essential", .int),
      ("installedSize", .int), ("downloadSize", .int), ("summary", .text), ("homepage", .text), ("sha256", .bytes),
    ] { slots[name] = try lookup.slot(name, kind, of: package) }
    self.slots = slots
    sectionName = try lookup.slot("name", .text, of: section)
    tagName = try lookup.slot("name", .text, of: tag)
    maintainerName = try lookup.slot("name", .text, of: maintainer)
    maintainerEmail = try lookup.slot("email", .text, of: maintainer)
    alternativeSlots = (
      try lookup.slot("packageName", .text, of: alternative), try lookup.slot("comparison", .text, of: alternative),
      try lookup.slot("version", .text, of: alternative)
    )
    toSection = try lookup.relationship("section", isToMany: false, of: package)
    toMaintainer = try lookup.relationship("maintainer", isToMany: false, of: package)
    toTags = try lookup.relationship("tags", isToMany: true, of: package)
    toRelations = try lookup.relationship("relations", isToMany: true, of: package)
    toAlternatives = try relationKinds.map { try lookup.relationship("alternatives", isToMany: true, of: $0) }
  }

  private struct Lookup {
    let model: CompiledModel

    func missing(_ what: String) -> ToolError {
      ToolError(.badData, "The format deb822 needs a store with the DebianArchive model; this one has no \(what).")
    }

    func entity(_ name: String) throws -> CompiledEntity {
      guard let entity = model.entity(named: name) else { throw missing("entity \(name)") }
      return entity
    }

    func slot(_ name: String, _ kind: SlotKind, of entity: CompiledEntity) throws -> Int {
      guard case .attribute(let slot) = entity.property(named: name), slot.kind == kind else {
        throw missing("attribute \(entity.name).\(name)")
      }
      return slot.index
    }

    func relationship(_ name: String, isToMany: Bool, of entity: CompiledEntity) throws -> CompiledRelationship {
      switch entity.property(named: name) {
      case .toOne(let relationship) where !isToMany: return relationship
      case .toMany(let relationship) where isToMany: return relationship
      default: throw missing("relationship \(entity.name).\(name)")
      }
    }
  }

  /// Returns a package as an input object.
  package mutating func object(_ record: PackageRecord, line: Int) -> ImportObject {
    var object = ImportObject(entity: package, line: line)
    func set(_ name: String, _ value: Slot) {
      if let slot = slots[name] { object.values.append((slot, value)) }
    }
    set("name", .text(record.name))
    set("version", .text(record.version))
    set("architecture", .text(record.architecture))
    set("priority", Self.text(record.priority))
    set("essential", .int(record.essential ? 1 : 0))
    set("installedSize", record.installedSize.map(Slot.int) ?? .null)
    set("downloadSize", record.downloadSize.map(Slot.int) ?? .null)
    set("summary", Self.text(record.summary))
    set("homepage", Self.text(record.homepage))
    set("sha256", record.sha256.map { .bytes(Data($0)) } ?? .null)
    object.toOne.append((toSection, record.section.map { name in named(section, sectionName, name, line) }))
    object.toOne.append((toMaintainer, record.maintainer.map { self.object($0, line: line) }))
    object.toMany.append((toTags, record.tags.map { named(tag, tagName, $0, line) }))
    object.toMany.append((toRelations, record.relations.map { self.object($0, line: line) }))
    return object
  }

  private static func text(_ value: String?) -> Slot { value.map(Slot.text) ?? .null }

  private func named(_ entity: CompiledEntity, _ slot: Int, _ name: String, _ line: Int) -> ImportObject {
    var object = ImportObject(entity: entity, line: line)
    object.values = [(slot, .text(name))]
    return object
  }

  private mutating func object(_ record: MaintainerRecord, line: Int) -> ImportObject {
    var object = ImportObject(entity: maintainer, line: line)
    object.values = [(maintainerEmail, .text(record.email)), (maintainerName, Self.text(record.name))]
    if !namedMaintainers.insert(record.email).inserted { object.role = .reference }
    return object
  }

  private func object(_ record: RelationRecord, line: Int) -> ImportObject {
    var object = ImportObject(entity: relationKinds[record.kind.rawValue], line: line)
    let alternatives = record.alternatives.map { record in
      var object = ImportObject(entity: alternative, line: line)
      object.values = [
        (alternativeSlots.name, .text(record.packageName)), (alternativeSlots.comparison, Self.text(record.comparison)),
        (alternativeSlots.version, Self.text(record.version)),
      ]
      return object
    }
    object.toMany = [(toAlternatives[record.kind.rawValue], alternatives)]
    return object
  }
}
