import Foundation
import ObjectModel

/// Generates the source of an enumeration that contains a model and the classes of its entities.
///
/// Elements that only model files use (the editor's layout, user info of other tools) are omitted. The version hashes are the same.
struct ModelEmitter {
  let options: CodeGenerationOptions
  let name: String
  let model: CompiledModel
  let plans: ClassPlans
  let composites: CompositePlans
  /// Names of types that a class of the model shadows; they are qualified by their module.
  let hiddenNames: Set<String>
  /// The versions of the model, if there are several.
  let versions: VersionPlan?

  var classNames: [String] { plans.classNames }

  /// Adds the source.
  ///
  /// - Returns: The modules that the source must import.
  @_optimize(none) func emit(to emitter: inout SwiftEmitter) -> ImportNeeds {
    let modifier = options.modifier
    emitter.line("/// The model, and the classes of its entities.")
    emitter.block("\(modifier)nonisolated enum \(name)") { emitter in
      emitter.line("/// The model.")
      emitter.line("\(modifier)static let managedObjectModel: ManagedObjectModel = makeModel()")
      emitter.line()
      emitter.line("/// The classes of the entities, with the layouts that their properties were generated for.")
      emitter.enclosed("\(modifier)static let classes: ManagedObjectClasses = ManagedObjectClasses(", ")") { emitter in
        let typed = model.entities.filter { classNames[$0.number] != ClassPlans.baseName }
        emitter.line(typed.isEmpty ? "[:]," : "[")
        for entity in typed { emitter.line("  \(SwiftText.literal(entity.name)): \(classNames[entity.number]).self,") }
        if !typed.isEmpty { emitter.line("],") }
        let generated = typed.filter { $0.entityDescription.codeGeneration != .manual }
        emitter.line(generated.isEmpty ? "layouts: [:]," : "layouts: [")
        for entity in generated {
          emitter.line("  \(SwiftText.literal(entity.name)): 0x\(String(entity.layoutFingerprint, radix: 16)),")
        }
        if !generated.isEmpty { emitter.line("],") }
        emitter.line("keyPathNames: makeKeyPathNames")
      }
      emitter.line()
      emitter.line("/// Returns a container with the model and its classes. Call `loadPersistentStores()` to open its stores.")
      if versions != nil {
        emitter.line("///")
        emitter.line("/// Stores of earlier versions migrate version by version, unless their descriptions specify otherwise. Custom")
        emitter.line("/// stages replace steps that cannot be inferred.")
      }
      emitter.block(
        "\(modifier)static func makeContainer(name: \(swift("String")) = \(SwiftText.literal(name)), persistentStoreDescriptions: "
          + "[PersistentStoreDescription] = [], \(versions == nil ? "" : "customMigrationStages: [CustomMigrationStage] = [], ")"
          + "mergePolicy: MergePolicy = .error) throws(ModelValidationError) -> PersistentContainer"
      ) { emitter in
        emitter.enclosed("try PersistentContainer(", ")") { emitter in
          let stages =
            versions == nil
            ? ""
            : "stagedMigrationManager: StagedMigrationManager(\(versionsName).all, label: \(SwiftText.literal(name)), "
              + "customStages: customMigrationStages), "
          emitter.line(
            "name: name, managedObjectModel: managedObjectModel, classes: classes, "
              + "persistentStoreDescriptions: persistentStoreDescriptions, \(stages)mergePolicy: mergePolicy")
        }
      }
      if let versions {
        emitter.line()
        emit(versions, to: &emitter)
      }
      emitter.line()
      emitKeyPaths(to: &emitter)
      emitter.line()
      emitModel(to: &emitter)
      for (number, entity) in model.model.entities.enumerated() {
        emitter.line()
        emit(entity, number: number, to: &emitter)
      }
      emitHelpers(to: &emitter)
    }
    return ImportNeeds(foundationInSignatures: false, foundation: usesData)
  }

  private var usesData: Bool {
    let attributes = model.model.entities.flatMap(\.attributes) + model.model.composites.flatMap(\.elements)
    return attributes.contains { attribute in
      [attribute.defaultValue, attribute.validation.minimum, attribute.validation.maximum].contains {
        if case .bytes? = $0 { true } else { false }
      }
    }
  }

  @_optimize(none) private func emitModel(to emitter: inout SwiftEmitter) {
    let source = model.model
    emitter.block("private static func makeModel() -> ManagedObjectModel") { emitter in
      let entities = source.entities.indices.map { "entity\($0)()" }.joined(separator: ", ")
      let isVar =
        !source.composites.isEmpty || !source.configurations.isEmpty || !source.fetchRequestTemplates.isEmpty
        || !source.versionIdentifiers.isEmpty
        || !source.userInfo.isEmpty
      if !isVar {
        emitter.line("ManagedObjectModel(entities: [\(entities)])")
        return
      }
      emitter.line("var model = ManagedObjectModel(entities: [\(entities)])")
      if !source.versionIdentifiers.isEmpty {
        emitter.line("model.versionIdentifiers = \(strings(source.versionIdentifiers.sorted()))")
      }
      if !source.userInfo.isEmpty { emitter.line("model.userInfo = \(notes(source.userInfo))") }
      for composite in source.composites {
        emitter.enclosed("model.composites.append(composite(\(SwiftText.literal(composite.name)), [", "]))") { emitter in
          for element in composite.elements {
            let lines = made(attributeHead(element), changes(of: element))
            for line in lines.dropLast() { emitter.line(line) }
            emitter.line((lines.last ?? "") + ",")
          }
        }
        guard !composite.userInfo.isEmpty else { continue }
        emitter.line("model.composites[model.composites.count - 1].userInfo = \(notes(composite.userInfo))")
      }
      for configuration in source.configurations {
        emitter.line(
          "model.configurations.append(ModelConfiguration(name: \(SwiftText.literal(configuration.name)), "
            + "entityNames: \(strings(configuration.entityNames))))")
      }
      for template in source.fetchRequestTemplates {
        let predicate = template.predicateFormat.map { ", predicateFormat: \(SwiftText.literal($0))" } ?? ""
        emitter.line(
          "model.fetchRequestTemplates.append(FetchRequestTemplate(name: \(SwiftText.literal(template.name)), "
            + "entityName: \(SwiftText.literal(template.entityName))\(predicate)))")
        let last = "model.fetchRequestTemplates[model.fetchRequestTemplates.count - 1]"
        if template.fetchLimit != 0 { emitter.line("\(last).fetchLimit = \(template.fetchLimit)") }
        if template.fetchBatchSize != 0 { emitter.line("\(last).fetchBatchSize = \(template.fetchBatchSize)") }
        if template.resultType != .objects { emitter.line("\(last).resultType = .\(template.resultType)") }
        for (name, value, standard) in [
          ("includesSubentities", template.includesSubentities, true), ("includesPropertyValues", template.includesPropertyValues, true),
          ("includesPendingChanges", template.includesPendingChanges, true),
          ("returnsObjectsAsFaults", template.returnsObjectsAsFaults, true),
          ("returnsDistinctResults", template.returnsDistinctResults, false),
        ] where value != standard {
          emitter.line("\(last).\(name) = \(value)")
        }
      }
      emitter.line("return model")
    }
  }

  @_optimize(none) private func emit(_ entity: EntityDescription, number: Int, to emitter: inout SwiftEmitter) {
    emitter.block("private static func entity\(number)() -> EntityDescription") { emitter in
      var head = "name: \(SwiftText.literal(entity.name))"
      if let parent = entity.superentityName { head += ", superentity: \(SwiftText.literal(parent))" }
      if entity.isAbstract { head += ", isAbstract: true" }
      if let name = entity.managedObjectClassName { head += ", managedObjectClassName: \(SwiftText.literal(name))" }
      var body = SwiftEmitter.Lines()
      for property in entity.properties { body.append(contentsOf: lines(of: property)) }
      for index in entity.indexes { body.append(line(of: index)) }
      if !entity.uniquenessConstraints.isEmpty {
        body.append("entity.uniquenessConstraints = [\(entity.uniquenessConstraints.map(strings).joined(separator: ", "))]")
      }
      if !entity.compoundIndexes.isEmpty {
        body.append("entity.compoundIndexes = [\(entity.compoundIndexes.map(strings).joined(separator: ", "))]")
      }
      if let text = entity.coreSpotlightDisplayNameExpression {
        body.append("entity.coreSpotlightDisplayNameExpression = \(SwiftText.literal(text))")
      }
      if entity.codeGeneration != .manual {
        body.append("entity.codeGeneration = .\(entity.codeGeneration == .category ? "category" : "classDefinition")")
      }
      if let name = entity.renamingIdentifier { body.append("entity.renamingIdentifier = \(SwiftText.literal(name))") }
      if let text = entity.versionHashModifier { body.append("entity.versionHashModifier = \(SwiftText.literal(text))") }
      if !entity.userInfo.isEmpty { body.append("entity.userInfo = \(notes(entity.userInfo))") }
      if body.isEmpty {
        emitter.line("EntityDescription(\(head))")
        return
      }
      emitter.line("var entity = EntityDescription(\(head))")
      for line in body { emitter.line(line) }
      emitter.line("return entity")
    }
  }

  @_optimize(none) private func lines(of property: PropertyDescription) -> [String] {
    switch property {
    case .attribute(let attribute):
      return added(attributeHead(attribute), changes(of: attribute))
    case .relationship(let relationship):
      let inverse = relationship.inverseName.map(SwiftText.literal) ?? "nil"
      let head =
        "relationship(\(SwiftText.literal(relationship.name)), \(SwiftText.literal(relationship.destinationEntityName)), "
        + "\(inverse), isToMany: \(relationship.isToMany))"
      return added(head, changes(of: relationship))
    case .fetchedProperty(let fetched):
      let predicate = fetched.predicateFormat.map { ", predicateFormat: \(SwiftText.literal($0))" } ?? ""
      return [
        "entity.properties.append(.fetchedProperty(FetchedPropertyDescription(name: \(SwiftText.literal(fetched.name)), "
          + "destination: \(SwiftText.literal(fetched.destinationEntityName))\(predicate))))"
      ]
    }
  }

  private func attributeHead(_ attribute: AttributeDescription) -> String {
    "attribute(\(SwiftText.literal(attribute.name)), .\(attribute.type))"
  }

  private func made(_ head: String, _ changes: [String]) -> [String] {
    changes.isEmpty ? [head] : ["\(head) {"] + changes.map { "  $0.\($0)" } + ["}"]
  }

  private func added(_ head: String, _ changes: [String]) -> [String] {
    if changes.isEmpty { return ["entity.properties.append(\(head))"] }
    var lines = made(head, changes)
    lines[lines.count - 1] += ")"
    return ["entity.properties.append("] + lines.map { "  " + $0 }
  }

  @_optimize(none) private func changes(of attribute: AttributeDescription) -> [String] {
    var changes: [String] = []
    if attribute.isOptional { changes.append("isOptional = true") }
    if attribute.isTransient { changes.append("isTransient = true") }
    if !attribute.defaultValue.isNull { changes.append("defaultValue = \(slot(attribute.defaultValue))") }
    let validation = attribute.validation
    if let value = validation.minimum { changes.append("validation.minimum = \(slot(value))") }
    if let value = validation.maximum { changes.append("validation.maximum = \(slot(value))") }
    if let value = validation.minimumLength { changes.append("validation.minimumLength = \(value)") }
    if let value = validation.maximumLength { changes.append("validation.maximumLength = \(value)") }
    if let value = validation.pattern { changes.append("validation.pattern = \(SwiftText.literal(value))") }
    if let name = attribute.compositeName { changes.append("compositeName = \(SwiftText.literal(name))") }
    if let name = attribute.valueTransformerName { changes.append("valueTransformerName = \(SwiftText.literal(name))") }
    if let name = attribute.valueClassName { changes.append("valueClassName = \(SwiftText.literal(name))") }
    if !attribute.usesScalarValueType { changes.append("usesScalarValueType = false") }
    if attribute.allowsExternalBinaryDataStorage { changes.append("allowsExternalBinaryDataStorage = true") }
    if attribute.allowsCloudEncryption { changes.append("allowsCloudEncryption = true") }
    if attribute.preservesValueInHistoryOnDeletion { changes.append("preservesValueInHistoryOnDeletion = true") }
    if attribute.isIndexedBySpotlight { changes.append("isIndexedBySpotlight = true") }
    if attribute.isIndexed { changes.append("isIndexed = true") }
    if let text = attribute.derivationExpression { changes.append("derivationExpression = \(SwiftText.literal(text))") }
    if let text = attribute.derivationFilter { changes.append("derivationFilter = \(SwiftText.literal(text))") }
    return changes + common(attribute.renamingIdentifier, attribute.versionHashModifier, attribute.userInfo)
  }

  @_optimize(none) private func changes(of relationship: RelationshipDescription) -> [String] {
    var changes: [String] = []
    if !relationship.isOptional { changes.append("isOptional = false") }
    if relationship.isOrdered { changes.append("isOrdered = true") }
    if relationship.isTransient { changes.append("isTransient = true") }
    if relationship.minCount != 0 { changes.append("minCount = \(relationship.minCount)") }
    if relationship.isToMany, relationship.maxCount != 0 { changes.append("maxCount = \(relationship.maxCount)") }
    if relationship.deleteRule != .nullify { changes.append("deleteRule = .\(relationship.deleteRule)") }
    return changes + common(relationship.renamingIdentifier, relationship.versionHashModifier, relationship.userInfo)
  }

  private func common(_ renaming: String?, _ modifier: String?, _ userInfo: [String: String]) -> [String] {
    var changes: [String] = []
    if let renaming { changes.append("renamingIdentifier = \(SwiftText.literal(renaming))") }
    if let modifier { changes.append("versionHashModifier = \(SwiftText.literal(modifier))") }
    if !userInfo.isEmpty { changes.append("userInfo = \(notes(userInfo))") }
    return changes
  }

  @_optimize(none) private func line(of index: FetchIndexDescription) -> String {
    let elements = index.elements.map { element in
      if element.kind == .fullText { return ".fullText(\(SwiftText.literal(element.propertyName ?? "")))" }
      let head =
        element.propertyName.map { "property: \(SwiftText.literal($0))" } ?? "expression: \(SwiftText.literal(element.expression ?? ""))"
      let collation = element.collation == .binary ? "" : ", collation: .\(element.collation.rawValue)"
      let made = "FetchIndexElement(\(head)\(element.isAscending ? "" : ", isAscending: false")\(collation))"
      return element.kind == .rtree ? "rtree(\(made))" : made
    }
    let condition = index.partialIndexPredicate.map { ", partialIndexPredicate: \(SwiftText.literal($0))" } ?? ""
    return "entity.indexes.append(FetchIndexDescription(name: \(SwiftText.literal(index.name)), "
      + "elements: [\(elements.joined(separator: ", "))]\(condition)))"
  }

  @_optimize(none) private func emitHelpers(to emitter: inout SwiftEmitter) {
    emitter.line()
    emitter.block(
      "private static func attribute(_ name: \(swift("String")), _ type: AttributeType, _ change: (inout AttributeDescription) -> Void = { _ in }) "
        + "-> PropertyDescription"
    ) { emitter in
      emitter.line("var attribute = AttributeDescription(name: name, type: type)")
      emitter.line("change(&attribute)")
      emitter.line("return .attribute(attribute)")
    }
    emitter.line()
    emitter.block(
      "private static func relationship(_ name: \(swift("String")), _ destination: \(swift("String")), _ inverse: \(swift("String"))?, "
        + "isToMany: \(swift("Bool")), "
        + "_ change: (inout RelationshipDescription) -> Void = { _ in }) -> PropertyDescription"
    ) { emitter in
      emitter.line("var relationship = RelationshipDescription(name: name, destination: destination, inverse: inverse, isToMany: isToMany)")
      emitter.line("change(&relationship)")
      emitter.line("return .relationship(relationship)")
    }
    if !model.model.composites.isEmpty {
      emitter.line()
      emitter.block(
        "private static func composite(_ name: \(swift("String")), _ parts: [PropertyDescription]) -> CompositeDescription"
      ) { emitter in
        emitter.line("var composite = CompositeDescription(name: name)")
        emitter.line("for case .attribute(let part) in parts { composite.elements.append(part) }")
        emitter.line("return composite")
      }
    }
    guard model.model.entities.contains(where: { $0.indexes.contains { $0.elements.contains { $0.kind == .rtree } } }) else { return }
    emitter.line()
    emitter.block("private static func rtree(_ element: FetchIndexElement) -> FetchIndexElement") { emitter in
      emitter.line("var element = element")
      emitter.line("element.kind = .rtree")
      emitter.line("return element")
    }
  }

  private func slot(_ slot: Slot) -> String { SwiftText.slot(slot, data: hiddenNames.contains("Data") ? "Foundation.Data" : "Data") }

  func swift(_ name: String) -> String { hiddenNames.contains(name) ? "Swift.\(name)" : name }

  private func strings(_ texts: [String]) -> String { "[\(texts.map(SwiftText.literal).joined(separator: ", "))]" }

  private func notes(_ notes: [String: String]) -> String {
    let entries = notes.sorted { $0.key < $1.key }.map { "\(SwiftText.literal($0.key)): \(SwiftText.literal($0.value))" }
    return "[\(entries.joined(separator: ", "))]"
  }
}

extension SwiftEmitter {
  typealias Lines = [String]
}

// MARK: - Names of key paths

extension ModelEmitter {
  /// Adds the function that creates the table of key paths and property names, and one for each class.
  @_optimize(none) func emitKeyPaths(to emitter: inout SwiftEmitter) {
    let typed = model.entities.filter { plans.classNames[$0.number] != ClassPlans.baseName }
    emitter.block("@Sendable private static func makeKeyPathNames() -> KeyPathNames") { emitter in
      if typed.isEmpty, composites.plans.isEmpty {
        emitter.line("KeyPathNames()")
        return
      }
      emitter.line("var names = KeyPathNames()")
      for entity in typed { emitter.line("addKeyPaths\(entity.number)(to: &names)") }
      for (number, plan) in composites.plans.enumerated() where !plan.parts.isEmpty { emitter.line("addParts\(number)(to: &names)") }
      emitter.line("return names")
    }
    for entity in typed {
      emitter.line()
      emitter.block("private static func addKeyPaths\(entity.number)(to names: inout KeyPathNames)") { emitter in
        let name = plans.classNames[entity.number]
        for (identifier, property) in [("objectID", "objectID")] + plans.properties(of: entity, in: model) {
          emitter.line(line(name, identifier, property))
        }
      }
    }
    for (number, plan) in composites.plans.enumerated() where !plan.parts.isEmpty {
      emitter.line()
      emitter.block("private static func addParts\(number)(to names: inout KeyPathNames)") { emitter in
        for (attribute, identifier, _) in plan.parts { emitter.line(line(plan.typeName, identifier, attribute.name)) }
      }
    }
  }

  private func line(_ type: String, _ identifier: String, _ name: String) -> String {
    let member = SwiftText.escaped(identifier)
    return "names.add(\\\(type).\(member), \\\(type)?.?.\(member), \(SwiftText.literal(name)))"
  }
}

// MARK: - Model versions

extension ModelEmitter {
  /// The name of the enumeration of versions, which a class can already have.
  var versionsName: String { plans.ownNames.contains("Versions") ? "ModelVersions" : "Versions" }

  /// Adds an enumeration of the versions. Earlier versions are string literals, which cost no compile time and are parsed when a store is
  /// migrated.
  @_optimize(none) func emit(_ plan: VersionPlan, to emitter: inout SwiftEmitter) {
    let modifier = options.modifier
    emitter.line("/// The versions of the model, for the stages of a migration.")
    emitter.block("\(modifier)nonisolated enum \(versionsName)") { emitter in
      for version in plan.versions {
        let source = version.text.map { "text: \(SwiftText.literal($0))" } ?? "managedObjectModel"
        emitter.line("/// The version \(SwiftText.comment(version.name)).")
        emitter.line(
          "\(modifier)static let \(SwiftText.escaped(version.identifier)): ManagedObjectModelReference = ManagedObjectModelReference(\(source))"
        )
      }
      emitter.line("/// All versions, oldest first.")
      let all = plan.versions.map { SwiftText.escaped($0.identifier) }.joined(separator: ", ")
      emitter.line("\(modifier)static var all: [ManagedObjectModelReference] { [\(all)] }")
    }
  }
}

/// The versions of a model's bundle, oldest first.
struct VersionPlan {
  struct Version {
    /// The name of the version, such as `Library 2`.
    let name: String
    /// The name in Swift, such as `library2`.
    let identifier: String
    /// The text of the version's file without elements that only editors use; `nil` for the version from which the code is generated.
    let text: String?
  }
  let versions: [Version]

  /// Creates the plan of a bundle; `nil` if it has only one version, so that there is nothing to migrate from.
  ///
  /// - Throws: ``ModelFileError`` if a version contains text that cannot be written to a file.
  @_optimize(none) init?(_ bundle: VersionedModel) throws(ModelFileError) {
    guard bundle.versions.count > 1 else { return nil }
    var taken: Set = ["all", "init", "self"]
    var versions: [Version] = []
    for version in bundle.versions {
      let isCurrent = version.name == bundle.currentVersionName
      let text = isCurrent ? nil : String(decoding: try version.model.xmlData(), as: UTF8.self)
      let plain = Self.camelCase(version.name)
      var (identifier, copy) = (plain, 2)
      while !taken.insert(identifier).inserted { (identifier, copy) = ("\(plain)_\(copy)", copy + 1) }
      versions.append(Version(name: version.name, identifier: identifier, text: text))
    }
    self.versions = versions
  }

  /// Returns a name in camel case: `library2` for `Library 2`.
  private static func camelCase(_ name: String) -> String {
    let words = name.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    let joined = words.enumerated().map {
      $0 == 0 ? $1.prefix(1).lowercased() + $1.dropFirst() : $1.prefix(1).uppercased() + $1.dropFirst()
    }
    return SwiftText.plainIdentifier(joined.joined())
  }
}
