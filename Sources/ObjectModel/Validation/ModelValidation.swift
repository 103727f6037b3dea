/// Validates a model against all rules. The only place that validates models.
struct ModelValidation {
  /// The maximum number of entities, limited by the 16 bits in object references.
  static let maximumEntities = 65_535
  /// The maximum inheritance depth. Each level copies the properties of the levels above.
  static let maximumDepth = 64
  /// The maximum total number of properties, counting inherited ones per entity. Bounds the memory of a compiled model.
  static let maximumProperties = 500_000

  let model: ManagedObjectModel
  private(set) var issues: [ModelIssue] = []
  /// Definitions that Core Data accepts, but that have no effect.
  private(set) var warnings: [ModelIssue] = []
  /// The model to compile: without the parts that have no effect.
  private(set) var usable: ManagedObjectModel
  let inverses: ModelInverses
  /// The positions of entities in `model.entities`, by name.
  private var numbers: [String: Int] = [:]
  /// The own properties of each entity, by name.
  private var ownProperties: [[String: PropertyDescription]] = []
  /// The superentities of each entity, nearest first; empty if the chain contains a cycle or is too deep.
  private var ancestors: [[Int]] = []

  init(checking model: ManagedObjectModel) {
    self.model = model
    usable = model
    inverses = ModelInverses(model)
    run()
  }

  private mutating func run() {
    if model.entities.count > Self.maximumEntities {
      report(nil, nil, "the model has \(model.entities.count) entities; \(Self.maximumEntities) is the most")
      return
    }
    for (number, entity) in model.entities.enumerated() {
      if let problem = ModelNames.problem(ofEntity: entity.name) { report(entity.name, nil, problem) }
      if numbers[entity.name] == nil { numbers[entity.name] = number } else { report(entity.name, nil, "two entities have this name") }
    }
    ownProperties = model.entities.map { Dictionary($0.properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }) }
    checkComposites()
    checkInheritance()
    var total = 0
    var columnCounts: [String: Int] = [:]
    let sizes = model.entities.map { entity in
      entity.properties.reduce(0) { size, property in
        guard case .attribute(let attribute) = property else { return size + 1 }
        return size + columnCount(of: attribute, known: &columnCounts)
      }
    }
    for number in model.entities.indices {
      total += ([number] + ancestors[number]).reduce(0) { $0 + sizes[$1] }
      checkProperties(of: number)
      checkDeletionRule(of: number)
      checkIndexes(of: number)
      checkConstraints(of: number)
    }
    checkDerivations()
    if total > Self.maximumProperties {
      report(nil, nil, "the entities have \(total) properties, inherited ones included; \(Self.maximumProperties) is the most")
    }
    checkConfigurations()
    checkTemplates()
  }

  mutating func report(_ entity: String?, _ property: String?, _ reason: String) {
    issues.append(ModelIssue(entityName: entity, propertyName: property, reason: reason))
  }

  /// Records a warning, and what is used instead.
  mutating func warn(_ entity: String?, _ property: String?, _ reason: String, instead substitute: String? = nil) {
    warnings.append(ModelIssue(entityName: entity, propertyName: property, reason: reason, instead: substitute))
  }

  // MARK: Lookup

  /// Returns the position of the entity with a name; nil if there is none.
  func number(ofEntity name: String) -> Int? { numbers[name] }

  /// Returns a property of an entity, which may be inherited, and the entity that declares it.
  func property(_ name: String, of number: Int) -> (property: PropertyDescription, declarer: Int)? {
    for declarer in [number] + ancestors[number] {
      if let property = ownProperties[declarer][name] { return (property, declarer) }
    }
    guard let dot = name.firstIndex(of: "."), case (.attribute(let attribute), let declarer)? = property(String(name[..<dot]), of: number),
      var part = self.part(name[name.index(after: dot)...], of: attribute)
    else { return nil }
    part.isTransient = attribute.isTransient
    return (.attribute(part), declarer)
  }

  // MARK: Entities

  private mutating func checkInheritance() {
    let parents = model.entities.map { $0.superentityName.flatMap { numbers[$0] } }
    let hierarchyPositions = Self.hierarchyPositions(parents: parents)
    for (number, entity) in model.entities.enumerated() {
      if let parent = entity.superentityName, parents[number] == nil {
        report(entity.name, nil, "the superentity '\(parent)' is not in the model; add it or remove the reference")
      }
      var chain: [Int] = []
      switch hierarchyPositions[number] {
      case .inCycle: report(entity.name, nil, "the entity inherits from itself; break the cycle of superentities")
      case .belowCycle: break
      case .level(let level) where level > Self.maximumDepth:
        report(entity.name, nil, "the entity inherits over \(level) levels; \(Self.maximumDepth) is the most")
      case .level:
        var next = parents[number]
        while let parent = next {
          chain.append(parent)
          next = parents[parent]
        }
      }
      ancestors.append(chain)
    }
  }

  /// The position of an entity in its inheritance tree.
  private enum HierarchyPosition {
    case level(Int)
    case inCycle
    case belowCycle
  }

  /// Returns the positions of all entities, visiting each once.
  private static func hierarchyPositions(parents: [Int?]) -> [HierarchyPosition] {
    var hierarchyPositions = [HierarchyPosition?](repeating: nil, count: parents.count)
    var walk: [Int] = []
    var positions: [Int: Int] = [:]
    for start in parents.indices where hierarchyPositions[start] == nil {
      walk.removeAll(keepingCapacity: true)
      positions.removeAll(keepingCapacity: true)
      var next: Int? = start
      while let number = next, hierarchyPositions[number] == nil, positions[number] == nil {
        positions[number] = walk.count
        walk.append(number)
        next = parents[number]
      }
      // The walk ended at a root, at an entity with a known position, or at itself.
      var above = next.map { hierarchyPositions[$0] } ?? .level(-1)
      if let number = next, let first = positions[number] {
        for member in walk[first...] { hierarchyPositions[member] = .inCycle }
        walk.removeSubrange(first...)
        above = .inCycle
      }
      for number in walk.reversed() {
        if case .level(let level)? = above { above = .level(level + 1) } else { above = .belowCycle }
        hierarchyPositions[number] = above
      }
    }
    return hierarchyPositions.map { $0 ?? .belowCycle }
  }

  private mutating func checkProperties(of number: Int) {
    let entity = model.entities[number]
    var seen: Set<String> = []
    for property in entity.properties {
      let name = property.name
      if let problem = ModelNames.problem(ofProperty: name) { report(entity.name, name, problem) }
      if !seen.insert(name).inserted { report(entity.name, name, "two properties of the entity have this name") }
      for ancestor in ancestors[number] where ownProperties[ancestor][name] != nil {
        report(entity.name, name, "the property is inherited from '\(model.entities[ancestor].name)' already; choose another name")
        break
      }
      switch property {
      case .attribute(let attribute):
        for reason in AttributeRules.problems(of: attribute) { report(entity.name, name, reason) }
        for reason in AttributeRules.warnings(of: attribute) { warn(entity.name, name, reason) }
        if let reason = compositeProblem(of: attribute) { report(entity.name, name, reason) }
      case .relationship(let relationship):
        for reason in relationshipProblems(of: relationship, in: number) { report(entity.name, name, reason) }
        for (reason, substitute) in relationshipWarnings(of: relationship, in: number) {
          warn(entity.name, name, reason, instead: substitute)
        }
      case .fetchedProperty(let fetched):
        if numbers[fetched.destinationEntityName] == nil {
          warn(
            entity.name, name,
            "the fetched property's entity '\(fetched.destinationEntityName)' is not in the model, so it has no objects and reading it fails"
          )
        }
      }
    }
  }

  // MARK: Indexes and constraints

  private mutating func checkIndexes(of number: Int) {
    let entity = model.entities[number]
    var names: Set<String> = []
    var unusable: Set<Int> = []
    for (position, index) in entity.indexes.enumerated() {
      let isFirst = names.insert(index.name).inserted
      var reasons = indexProblems(of: index, in: number)
      if !isFirst { reasons.append("two indexes of the entity have this name") }
      // Core Data has no full-text indexes, so their mistakes are errors rather than warnings.
      let isFullText = index.elements.contains { $0.kind == .fullText }
      if isFullText { checkFullText(index, of: number) }
      for reason in reasons {
        let indexName = index.name.isEmpty ? nil : index.name
        if isFullText {
          report(entity.name, indexName, reason)
        } else {
          warn(entity.name, indexName, reason, instead: "the index is left out")
        }
      }
      if !reasons.isEmpty { unusable.insert(position) }
      for element in index.elements where element.collation != .binary && !isText(element, of: number) {
        report(
          entity.name, index.name,
          "the index's collation '\(element.collation.rawValue)' is for Binary elements over String and URI attributes only")
      }
    }
    if !unusable.isEmpty {
      usable.entities[number].indexes = entity.indexes.enumerated().filter { !unusable.contains($0.offset) }.map(\.element)
    }
    let compounds = entity.compoundIndexes.filter { names in
      let reason = names.compactMap { name in columnProblem(name, of: number).map { "the index's property '\(name)' \($0)" } }.first
      if let reason { warn(entity.name, nil, reason, instead: "the index is left out") }
      return reason == nil
    }
    if compounds.count < entity.compoundIndexes.count { usable.entities[number].compoundIndexes = compounds }
  }

  /// Returns the reasons why no store can build an index.
  private func indexProblems(of index: FetchIndexDescription, in number: Int) -> [String] {
    var reasons: [String] = []
    if index.name.isEmpty { reasons.append("an index needs a name") }
    if ModelNames.hasControlCharacters(index.name) { reasons.append("the index's name has a control character") }
    if index.elements.isEmpty { reasons.append("the index has no elements; add a property") }
    if Set(index.elements.map(\.kind)).count > 1 {
      let kinds = Set(index.elements.map(\.kind.rawValue)).sorted().joined(separator: " and ")
      reasons.append("the index mixes \(kinds) elements; all must be of one kind")
    }
    for element in index.elements {
      switch (element.propertyName, element.expression) {
      case (nil, nil): reasons.append("an element of the index has neither a property nor an expression")
      case (.some, .some): reasons.append("an element of the index has both a property and an expression; choose one")
      case (let name?, nil):
        if let reason = columnProblem(name, of: number) { reasons.append("the index's property '\(name)' \(reason)") }
      case (nil, .some): break
      }
    }
    return reasons
  }

  private mutating func checkFullText(_ index: FetchIndexDescription, of number: Int) {
    let entity = model.entities[number].name
    if index.partialIndexPredicate != nil {
      report(entity, index.name, "a full-text index has the words of all objects; remove its predicate")
    }
    var names: Set<String> = []
    for element in index.elements where element.kind == .fullText {
      guard let name = element.propertyName else {
        if element.expression != nil {
          report(entity, index.name, "a full-text index is over attributes; name one instead of the expression")
        }
        continue
      }
      if !element.isAscending { report(entity, index.name, "the words of '\(name)' have no order; leave 'descending' out") }
      if !names.insert(name).inserted { report(entity, index.name, "the full-text index names '\(name)' twice") }
      if columnProblem(name, of: number) == nil, !isText(name, of: number) {
        report(entity, index.name, "the full-text index's property '\(name)' is no String or URI attribute, so it has no words")
      }
    }
  }

  private func isText(_ name: String, of number: Int) -> Bool {
    guard case .attribute(let attribute)? = property(name, of: number)?.0 else { return false }
    return attribute.type.slotKind == .text
  }

  private func isText(_ element: FetchIndexElement, of number: Int) -> Bool {
    guard element.kind == .binary, let name = element.propertyName else { return false }
    return isText(name, of: number)
  }

  /// Reports an unknown rule as an error, because another one loses changes or restores deleted objects.
  private mutating func checkDeletionRule(of number: Int) {
    let entity = model.entities[number]
    guard let text = entity.userInfo[SyncDeletionRule.userInfoKey], entity.syncDeletionRule == nil else { return }
    let names = SyncDeletionRule.allCases.map(\.rawValue)
    let advice = SimilarName.of(text, among: names).map { "did you mean '\($0)'?" } ?? "the rules are \(names.joined(separator: ", "))"
    report(
      entity.name, nil, "'\(SyncDeletionRule.userInfoKey)' in the user info is '\(text)', which is not a deletion rule; \(advice)")
  }

  private mutating func checkConstraints(of number: Int) {
    let entity = model.entities[number]
    let constraints = entity.uniquenessConstraints.filter { !$0.isEmpty }.map { names in
      var seen: Set<String> = []
      return names.filter { seen.insert($0).inserted }
    }
    if constraints != entity.uniquenessConstraints { usable.entities[number].uniquenessConstraints = constraints }
    for constraint in entity.uniquenessConstraints {
      if constraint.isEmpty { warn(entity.name, nil, "a uniqueness constraint has no properties", instead: "it is left out") }
      if Set(constraint).count != constraint.count {
        warn(
          entity.name, nil, "the uniqueness constraint (\(constraint.joined(separator: ", "))) names a property twice",
          instead: "it counts once")
      }
      for name in constraint {
        if let reason = columnProblem(name, of: number) {
          report(entity.name, name, "a uniqueness constraint's property \(reason)")
        } else if case .attribute(let attribute)? = property(name, of: number)?.0, !isUniquelyDerivable(attribute, of: number) {
          report(
            entity.name, name,
            "a uniqueness constraint's property is derived from more than its own object's stored values; constrain what it derives from")
        }
      }
    }
  }

  /// Returns why a property has no column for an index or constraint; nil if it has one.
  private func columnProblem(_ name: String, of number: Int) -> String? {
    guard let (property, _) = property(name, of: number) else { return "is not one of the entity" }
    switch property {
    case .fetchedProperty: return "is a fetched property, which has no column"
    case .relationship(let relationship):
      if relationship.isToMany { return "is a to-many relationship; only attributes and to-one relationships have a column" }
      return relationship.isTransient ? "is transient and has no column" : nil
    case .attribute(let attribute) where attribute.type == .composite:
      return "is a composite, which has no column; name one of its elements, such as '\(name).part'"
    case .attribute(let attribute): return attribute.isTransient ? "is transient and has no column" : nil
    }
  }

  // MARK: Configurations and templates

  private mutating func checkConfigurations() {
    var names: Set<String> = []
    for (position, configuration) in model.configurations.enumerated() {
      let name = configuration.name
      if name.isEmpty { report(nil, nil, "a configuration needs a name") }
      if !names.insert(name).inserted { report(nil, name, "two configurations have this name") }
      var members: Set<String> = []
      let entityNames = configuration.entityNames.filter { member in
        if numbers[member] == nil {
          warn(nil, name, "the configuration's entity '\(member)' is not in the model", instead: "it is left out")
          return false
        }
        if members.insert(member).inserted { return true }
        warn(nil, name, "the configuration names the entity '\(member)' twice", instead: "it counts once")
        return false
      }
      if entityNames.count < configuration.entityNames.count { usable.configurations[position].entityNames = entityNames }
    }
  }

  private mutating func checkTemplates() {
    var names: Set<String> = []
    for template in model.fetchRequestTemplates {
      if template.name.isEmpty { report(nil, nil, "a fetch request template needs a name") }
      if !names.insert(template.name).inserted { report(nil, template.name, "two fetch request templates have this name") }
      if numbers[template.entityName] == nil {
        warn(nil, template.name, "the fetch request template's entity '\(template.entityName)' is not in the model, so executing it fails")
      }
      if template.fetchLimit < 0 || template.fetchBatchSize < 0 {
        report(nil, template.name, "the fetch request template's limit and batch size may not be negative")
      }
    }
  }
}

/// The rules for names of entities and properties.
enum ModelNames {
  /// Methods without arguments of Core Data's managed objects and of `NSObject`. Core Data rejects properties with these names.
  static let reservedPropertyNames: Set<String> = [
    // ManagedObject
    "objectID", "entity", "managedObjectContext", "hasChanges", "hasPersistentChangedValues", "isInserted", "isUpdated", "isDeleted",
    "isFault", "faultingState", "changedValues", "changedValuesForCurrentEvent", "awakeFromInsert", "awakeFromFetch", "willSave", "didSave",
    "prepareForDeletion", "willTurnIntoFault", "didTurnIntoFault",
    // NSObject
    "description", "debugDescription", "hash", "class", "superclass", "self", "init", "copy", "mutableCopy", "zone", "isProxy", "retain",
    "release", "autorelease", "retainCount", "dealloc", "observationInfo",
  ]

  /// Returns why an entity name is invalid; nil if it is valid.
  static func problem(ofEntity name: String) -> String? {
    if name.isEmpty { return "an entity needs a name" }
    return hasControlCharacters(name) ? "the entity's name has a control character; remove it" : nil
  }

  /// Returns why a property name is invalid; nil if it is valid. SQL keywords, quotes, spaces and letters of all scripts are valid.
  static func problem(ofProperty name: String) -> String? {
    if name.isEmpty { return "a property needs a name" }
    if hasControlCharacters(name) { return "the property's name has a control character; remove it" }
    if name.utf8.contains(UInt8(ascii: ".")) { return "a property's name may not contain a dot, which separates the parts of key paths" }
    if name.utf8.first == UInt8(ascii: "@") { return "a property's name may not begin with @, which begins the functions of key paths" }
    if reservedPropertyNames.contains(name) { return "'\(name)' is a member of every managed object; choose another name" }
    return nil
  }

  static func hasControlCharacters(_ name: String) -> Bool {
    name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0.value == 0xFFFE || $0.value == 0xFFFF }
  }
}
