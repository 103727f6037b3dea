import Foundation

/// Converts the tree of a `contents` file to a model. Unknown parts are preserved.
struct DataModelReader {
  let path: String?
  private let unusable = UnusableValues()

  /// Returns the model of a file's data. If the reading is strict, each finding of the lint is an error.
  static func model(of data: Data, path: String?, strict: Bool = false) throws(ModelFileError) -> ManagedObjectModel {
    let root = try ModelFiles.tree(of: data, path: path)
    if strict, let first = try ModelFileLint.findings(in: root, path: path).first { throw first.error }
    return try DataModelReader(path: path).model(root)
  }

  /// Returns the model of a file's tree, and findings for the values that were replaced.
  static func reading(
    of root: XMLNode, path: String?
  ) throws(ModelFileError) -> (model: ManagedObjectModel, unusable: [ModelFileLint.Finding]) {
    let reader = DataModelReader(path: path)
    return (try reader.model(root), reader.unusable.findings)
  }

  /// Collects findings while elements are read.
  private final class UnusableValues {
    var findings: [ModelFileLint.Finding] = []
  }

  @_optimize(none) private func model(_ node: XMLNode) throws(ModelFileError) -> ManagedObjectModel {
    guard node.name == "model" else {
      throw ModelFileError(.notAModel, path: path, line: node.line, column: node.column, "the root element is '\(node.name)', not 'model'")
    }
    var model = ManagedObjectModel()
    model.preserved = try read(ModelXMLField<ManagedObjectModel>.all, node, into: &model)
    let standard = ModelXMLField<ManagedObjectModel>.all.filter { ModelXMLField<ManagedObjectModel>.standardNames.contains($0.name) }
    if !standard.allSatisfy({ node.attributes[$0.name] == $0.text(ManagedObjectModel()) }) {
      for field in standard { model.preserved.attributes[field.name] = node.attributes[field.name] }
    }
    model.entities.reserveCapacity(node.children.count)
    for child in node.children {
      switch child.name {
      case "entity": model.entities.append(try entity(child))
      case "composite": model.composites.append(try composite(child))
      case "configuration": model.configurations.append(try configuration(child))
      case "fetchRequest":
        var template = FetchRequestTemplate(name: "", entityName: "")
        template.preserved = try read(ModelXMLField<FetchRequestTemplate>.all, child, into: &template)
        template.preserved.elements = child.children.map(\.element)
        model.fetchRequestTemplates.append(template)
      case "userInfo": takeUserInfo(child, &model.userInfo, &model.preserved)
      default: model.preserved.elements.append(child.element)
      }
    }
    model.preserved.putGroupsFirst()
    return model
  }

  @_optimize(none) private func entity(_ node: XMLNode) throws(ModelFileError) -> EntityDescription {
    var entity = EntityDescription(name: "")
    entity.preserved = try read(ModelXMLField<EntityDescription>.all, node, into: &entity)
    entity.properties.reserveCapacity(node.children.count)
    var constraints: [PreservedXML.Element] = []
    var compounds: [PreservedXML.Element] = []
    for child in node.children {
      switch child.name {
      case "attribute": entity.properties.append(.attribute(try attribute(child)))
      case "relationship": entity.properties.append(.relationship(try relationship(child)))
      case "fetchedProperty": entity.properties.append(.fetchedProperty(try fetchedProperty(child)))
      case "fetchIndex": entity.indexes.append(try index(child))
      case "compoundIndexes": compounds.append(child.element)
      case "uniquenessConstraints": constraints.append(child.element)
      case "userInfo": takeUserInfo(child, &entity.userInfo, &entity.preserved)
      default: entity.preserved.elements.append(child.element)
      }
    }
    entity.uniquenessConstraints = ModelXMLGroups.constraints(constraints)
    if constraints != ModelXMLGroups.elements(constraints: entity.uniquenessConstraints) {
      entity.preserved.elements += constraints
    }
    entity.compoundIndexes = ModelXMLGroups.compoundIndexes(compounds)
    if compounds != ModelXMLGroups.elements(compoundIndexes: entity.compoundIndexes) { entity.preserved.elements += compounds }
    entity.preserved.putGroupsFirst()
    return entity
  }

  @_optimize(none) private func composite(_ node: XMLNode) throws(ModelFileError) -> CompositeDescription {
    var composite = CompositeDescription(name: "")
    composite.preserved = try read(ModelXMLField<CompositeDescription>.all, node, into: &composite)
    for child in node.children {
      switch child.name {
      case "attribute": composite.elements.append(try attribute(child))
      case "userInfo": takeUserInfo(child, &composite.userInfo, &composite.preserved)
      default: composite.preserved.elements.append(child.element)
      }
    }
    composite.preserved.putGroupsFirst()
    return composite
  }

  private func attribute(_ node: XMLNode) throws(ModelFileError) -> AttributeDescription {
    var attribute = AttributeDescription(name: "", type: .undefined)
    attribute.preserved = try read(ModelXMLField<AttributeDescription>.all, node, into: &attribute)
    // If the attribute is missing, the type is not scalar, provided that the type has a choice.
    if node.attributes["usesScalarValueType"] == nil { attribute.usesScalarValueType = !attribute.type.traits.coreData.hasScalar }
    takeChildren(node, &attribute.userInfo, &attribute.preserved)
    checkDerivation(of: node, &attribute)
    return attribute
  }

  /// Checks that an attribute is derived if the file says so. As in Core Data, an expression alone is a remainder of a formerly derived
  /// attribute.
  @_optimize(none) private func checkDerivation(of node: XMLNode, _ attribute: inout AttributeDescription) {
    let isDerived = node.attributes["derived"].flatMap(SlotText.boolean) ?? false
    guard isDerived != (attribute.derivationExpression != nil) else { return }
    let name = attribute.name
    if isDerived {
      // That the expression is empty is reported already.
      guard node.attributes["derivationExpression"] == nil else { return }
      return report("in attribute '\(name)', 'derived' needs a 'derivationExpression'", instead: "the attribute is not derived", at: node)
    }
    report("in attribute '\(name)', 'derivationExpression' needs 'derived=\"YES\"'", instead: "the attribute is not derived", at: node)
    attribute.derivationExpression = nil
    attribute.derivationFilter = nil
    for key in ["derivationExpression", "derivationFilter"] { attribute.preserved.attributes[key] = node.attributes[key] }
  }

  private func report(_ reason: String, instead substitute: String, at node: XMLNode) {
    unusable.findings.append(
      ModelFileLint.Finding(
        kind: .unusableValue, path: path, line: node.line, column: node.column, problem: reason, substitute: substitute))
  }

  private func relationship(_ node: XMLNode) throws(ModelFileError) -> RelationshipDescription {
    var relationship = RelationshipDescription(name: "", destination: "", isOptional: false)
    relationship.preserved = try read(ModelXMLField<RelationshipDescription>.all, node, into: &relationship)
    takeChildren(node, &relationship.userInfo, &relationship.preserved)
    return relationship
  }

  @_optimize(none) private func fetchedProperty(_ node: XMLNode) throws(ModelFileError) -> FetchedPropertyDescription {
    var property = FetchedPropertyDescription(name: "", destination: "")
    property.isOptional = false
    property.preserved = try read(ModelXMLField<FetchedPropertyDescription>.all, node, into: &property)
    takeChildren(node, &property.userInfo, &property.preserved)
    let requests = property.preserved.elements.named("fetchRequest")
    property.preserved.elements.removeAll { $0.name == "fetchRequest" }
    ModelXMLGroups.take(requests: requests, into: &property)
    if requests != ModelXMLGroups.elements(requestOf: property) { property.preserved.elements += requests }
    property.preserved.putGroupsFirst()
    return property
  }

  @_optimize(none) private func index(_ node: XMLNode) throws(ModelFileError) -> FetchIndexDescription {
    var index = FetchIndexDescription(name: "", elements: [])
    index.preserved = try read(ModelXMLField<FetchIndexDescription>.all, node, into: &index)
    for child in node.children {
      guard child.name == "fetchIndexElement" else {
        index.preserved.elements.append(child.element)
        continue
      }
      var element = FetchIndexElement(property: "")
      element.propertyName = nil
      element.preserved = try read(ModelXMLField<FetchIndexElement>.all, child, into: &element)
      element.preserved.elements = child.children.map(\.element)
      index.elements.append(element)
    }
    return index
  }

  @_optimize(none) private func configuration(_ node: XMLNode) throws(ModelFileError) -> ModelConfiguration {
    var configuration = ModelConfiguration(name: "", entityNames: [])
    configuration.preserved = try read(ModelXMLField<ModelConfiguration>.all, node, into: &configuration)
    let elements = node.children.map(\.element)
    let members = elements.named("memberEntity")
    configuration.entityNames = ModelXMLGroups.members(members)
    configuration.preserved.elements = elements.filter { $0.name != "memberEntity" }
    if members != ModelXMLGroups.elements(members: configuration.entityNames) { configuration.preserved.elements += members }
    configuration.preserved.putGroupsFirst()
    return configuration
  }

  private func takeChildren(_ node: XMLNode, _ userInfo: inout [String: String], _ preserved: inout PreservedXML) {
    for child in node.children {
      if child.name == "userInfo" { takeUserInfo(child, &userInfo, &preserved) } else { preserved.elements.append(child.element) }
    }
    preserved.putGroupsFirst()
  }

  private func takeUserInfo(_ node: XMLNode, _ userInfo: inout [String: String], _ preserved: inout PreservedXML) {
    let element = node.element
    userInfo.merge(ModelXMLGroups.userInfo([element])) { $1 }
    if !ModelXMLGroups.isPlain(userInfo: element) { preserved.elements.append(element) }
  }

  /// Reads the attributes of an element into a description. Returns those without meaning or with another spelling.
  @_optimize(none) private func read<Description>(
    _ fields: [ModelXMLField<Description>], _ node: XMLNode, into description: inout Description
  ) throws(ModelFileError) -> PreservedXML {
    var rest = node.attributes
    for field in fields {
      guard let text = node.attributes[field.name] else { continue }
      do { try field.take(&description, text) } catch {
        let name = node.attributes["name"].map { " '\($0)'" } ?? ""
        let reason = "in \(node.name)\(name), \(error.reason)"
        guard let substitute = error.substitute else {
          throw ModelFileError(.badValue, path: path, line: node.line, column: node.column, reason)
        }
        report(reason, instead: substitute, at: node)
      }
    }
    for field in fields where rest[field.name] != nil {
      if field.text(description) == rest[field.name] { rest[field.name] = nil }
    }
    var preserved = PreservedXML()
    preserved.attributes = rest
    return preserved
  }
}

extension PreservedXML {
  /// Sorts the preserved elements in the order in which they are written, so that a written file reads as an equal value.
  @_optimize(none) fileprivate mutating func putGroupsFirst() {
    func rank(_ element: Element) -> Int {
      switch element.name {
      case "compoundIndexes": 0
      case "uniquenessConstraints", "fetchRequest", "memberEntity": 1
      case "userInfo": 2
      default: 3
      }
    }
    elements = (0...3).flatMap { group in elements.filter { rank($0) == group } }
  }
}

/// Parts of a model file that consist of several elements: their meaning and canonical form.
enum ModelXMLGroups {
  static func constraints(_ elements: [PreservedXML.Element]) -> [[String]] {
    lists(elements, of: "uniquenessConstraint", of: "constraint")
  }

  static func elements(constraints: [[String]]) -> [PreservedXML.Element] {
    Self.elements(constraints, "uniquenessConstraints", of: "uniquenessConstraint", of: "constraint")
  }

  static func compoundIndexes(_ elements: [PreservedXML.Element]) -> [[String]] { lists(elements, of: "compoundIndex", of: "index") }

  static func elements(compoundIndexes: [[String]]) -> [PreservedXML.Element] {
    elements(compoundIndexes, "compoundIndexes", of: "compoundIndex", of: "index")
  }

  private static func lists(_ elements: [PreservedXML.Element], of list: String, of item: String) -> [[String]] {
    elements.flatMap { $0.children.named(list) }.map { $0.children.named(item).map { $0.attributes["value"] ?? "" } }
  }

  private static func elements(_ lists: [[String]], _ name: String, of list: String, of item: String) -> [PreservedXML.Element] {
    guard !lists.isEmpty else { return [] }
    let children = lists.map { values in
      PreservedXML.Element(name: list, children: values.map { PreservedXML.Element(name: item, attributes: ["value": $0]) })
    }
    return [PreservedXML.Element(name: name, children: children)]
  }

  static func members(_ elements: [PreservedXML.Element]) -> [String] { elements.map { $0.attributes["name"] ?? "" } }

  static func elements(members: [String]) -> [PreservedXML.Element] {
    members.map { PreservedXML.Element(name: "memberEntity", attributes: ["name": $0]) }
  }

  static func userInfo(_ elements: [PreservedXML.Element]) -> [String: String] {
    var result: [String: String] = [:]
    for entry in elements.flatMap({ $0.children.named("entry") }) {
      if let key = entry.attributes["key"] { result[key] = entry.attributes["value"] ?? "" }
    }
    return result
  }

  static func elements(userInfo: [String: String]) -> [PreservedXML.Element] {
    guard !userInfo.isEmpty else { return [] }
    let entries = userInfo.sorted { $0.key < $1.key }
    return [
      PreservedXML.Element(
        name: "userInfo",
        children: entries.map { PreservedXML.Element(name: "entry", attributes: ["key": $0.key, "value": $0.value]) })
    ]
  }

  /// Returns whether an element contains nothing but distinct keys with values.
  static func isPlain(userInfo element: PreservedXML.Element) -> Bool {
    let count = element.children.reduce(into: Set<String>()) { $0.insert($1.attributes["key"] ?? "") }.count
    return element.attributes.isEmpty && element.text.isEmpty && !element.children.isEmpty && count == element.children.count
      && element.children.allSatisfy {
        $0.name == "entry" && Set($0.attributes.keys) == ["key", "value"] && $0.children.isEmpty && $0.text.isEmpty
      }
  }

  static func take(requests: [PreservedXML.Element], into property: inout FetchedPropertyDescription) {
    property.destinationEntityName = requests.first?.attributes["entity"] ?? ""
    property.predicateFormat = requests.first?.attributes["predicateString"]
  }

  static func elements(requestOf property: FetchedPropertyDescription) -> [PreservedXML.Element] {
    var attributes = ["name": "fetchedPropertyFetchRequest", "entity": property.destinationEntityName]
    attributes["predicateString"] = property.predicateFormat
    return [PreservedXML.Element(name: "fetchRequest", attributes: attributes)]
  }
}
