public import Foundation

/// Finds probable mistakes in a model file: unknown attributes and elements, attributes without a type, and relationships without an
/// inverse.
///
/// The reader preserves unknown parts, so that files of later editor versions are written without loss. A misspelled name would be
/// preserved as well, without an effect; this check reports it.
public enum ModelFileLint {
  /// A finding with its position.
  public struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a finding.
    public enum Kind: Sendable, Hashable {
      /// An unknown attribute of an element.
      case unknownAttribute
      /// An unknown element in its parent.
      case unknownElement
      /// An entity's attribute without a type.
      case missingType
      /// A relationship without an inverse.
      case missingInverse
      /// An invalid value of an attribute, which Core Data accepts. Another value is used instead.
      case unusableValue
      /// A part of the model without effect, or with less effect than it suggests, such as an index over a to-many relationship. Core Data
      /// accepts it.
      case unusablePart
    }
    /// The kind of the finding.
    public let kind: Kind
    /// The path of the file; nil for data in memory.
    public let path: String?
    /// The line, from 1.
    public let line: Int
    /// The column in the line, from 1.
    public let column: Int
    /// A message that says what is wrong and what to do, without the substitute.
    package let problem: String
    /// The value or behavior that is used instead; nil if there is none.
    var substitute: String?
    /// A message that says what is wrong, and what to do or what is used instead.
    public var reason: String { substitute.map { "\(problem); \($0)" } ?? problem }

    /// The finding as `path:line:column: reason`.
    public var description: String { "\(location): \(reason)" }
    /// The finding as the error of a strict reading, in which nothing is substituted.
    var error: ModelFileError { ModelFileError(.badValue, path: path, line: line, column: column, problem) }
    /// The position in the file.
    package var location: ModelFileLocation { ModelFileLocation(path: path, line: line, column: column) }
  }

  /// Returns the findings in a model, or in the current version in a bundle of versions, ordered by line. A strict reading, as by
  /// ``ManagedObjectModel/init(contentsOf:strict:)``, throws the first one.
  ///
  /// For a version in a bundle, the findings include renaming identifiers that match no name in the other versions.
  ///
  /// - Parameter url: An `.xcdatamodeld` or `.xcdatamodel` bundle, or the `contents` file of one.
  /// - Throws: ``ModelFileError`` if the file cannot be read.
  public static func findings(inModelAt url: URL) throws(ModelFileError) -> [Finding] {
    let file = try ModelFiles.contents(ofModelAt: url)
    return try findings(
      in: ModelFiles.tree(of: ModelFiles.data(at: file), path: file.path), path: file.path, others: ModelFiles.otherVersions(of: file))
  }

  /// Returns the findings in the data of a `contents` file.
  ///
  /// - Throws: ``ModelFileError`` if the data is not XML.
  public static func findings(in data: Data, path: String? = nil) throws(ModelFileError) -> [Finding] {
    try findings(in: ModelFiles.tree(of: data, path: path), path: path)
  }

  /// Returns the findings in the tree of a file.
  ///
  /// - Parameter others: The other versions of the model.
  static func findings(in root: XMLNode, path: String?, others: [ManagedObjectModel] = []) throws(ModelFileError) -> [Finding] {
    var findings: [Finding] = []
    inspect(at: root, path, &findings)
    return inOrder(findings + (try unusable(in: root, path, others: others)))
  }

  private static func inOrder(_ findings: [Finding]) -> [Finding] {
    findings.enumerated().sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }.map(\.element)
  }

  /// Returns the unusable values and parts of a model, or of the current version in a bundle of versions, ordered by line. The model can be
  /// read nevertheless, as in Core Data, and each finding says what is used instead. These are a subset of ``findings(inModelAt:)``.
  ///
  /// ```swift
  /// for warning in try ModelFileLint.unusableParts(ofModelAt: url) { print("warning:", warning) }
  /// ```
  ///
  /// - Parameter url: An `.xcdatamodeld` or `.xcdatamodel` bundle, or the `contents` file of one.
  /// - Throws: ``ModelFileError`` if the file cannot be read.
  public static func unusableParts(ofModelAt url: URL) throws(ModelFileError) -> [Finding] {
    let file = try ModelFiles.contents(ofModelAt: url)
    return try unusable(in: ModelFiles.tree(of: ModelFiles.data(at: file), path: file.path), file.path)
  }

  /// Returns the unusable values and parts of a model.
  @_optimize(none) private static func unusable(
    in root: XMLNode, _ path: String?, others: [ManagedObjectModel] = []
  ) throws(ModelFileError) -> [Finding] {
    let (model, values) = try DataModelReader.reading(of: root, path: path)
    let locations = ModelFileLocations(root, path: path)
    let parts = (model.validationWarnings() + model.renamingIssues(among: others)).map { issue in
      let location = locations.location(entity: issue.entityName, property: issue.propertyName)
      return Finding(
        kind: .unusablePart, path: path, line: location.line, column: location.column, problem: issue.withoutSubstitute.description,
        substitute: issue.substitute)
    }
    return inOrder(values + parts)
  }

  /// The known attributes and child elements of an element.
  private struct Form {
    let attributes: [String]
    var elements: [String] = []
  }

  /// Additional attributes that some editors write.
  private static let ofEditors = [
    "name", "iOSVersion", "macOSVersion", "tvOSVersion", "watchOSVersion", "visionOSVersion",
  ]

  private static let forms: [String: Form] = [
    "model": Form(
      attributes: ModelXMLField<ManagedObjectModel>.all.map(\.name) + ofEditors,
      elements: ["entity", "composite", "configuration", "fetchRequest", "userInfo", "elements"]),
    "entity": Form(
      attributes: ModelXMLField<EntityDescription>.all.map(\.name),
      elements: [
        "attribute", "relationship", "fetchedProperty", "fetchIndex", "compoundIndexes", "uniquenessConstraints", "userInfo",
      ]),
    "composite": Form(attributes: ModelXMLField<CompositeDescription>.all.map(\.name), elements: ["attribute", "userInfo"]),
    "attribute": Form(attributes: ModelXMLField<AttributeDescription>.all.map(\.name), elements: ["userInfo"]),
    "relationship": Form(attributes: ModelXMLField<RelationshipDescription>.all.map(\.name), elements: ["userInfo"]),
    "fetchedProperty": Form(
      attributes: ModelXMLField<FetchedPropertyDescription>.all.map(\.name), elements: ["fetchRequest", "userInfo"]),
    "fetchIndex": Form(attributes: ModelXMLField<FetchIndexDescription>.all.map(\.name), elements: ["fetchIndexElement"]),
    "fetchIndexElement": Form(attributes: ModelXMLField<FetchIndexElement>.all.map(\.name)),
    "fetchRequest": Form(attributes: ModelXMLField<FetchRequestTemplate>.all.map(\.name)),
    "configuration": Form(attributes: ModelXMLField<ModelConfiguration>.all.map(\.name), elements: ["memberEntity"]),
  ]

  @_optimize(none) private static func inspect(at node: XMLNode, _ path: String?, _ findings: inout [Finding]) {
    // Groups are checked when they are read; the editor's layout is not checked.
    guard let form = forms[node.name] else { return }
    let what = node.attributes["name"].map { "the \(node.name) '\($0)'" } ?? "the \(node.name)"
    func report(_ kind: Finding.Kind, _ node: XMLNode, _ reason: String) {
      findings.append(Finding(kind: kind, path: path, line: node.line, column: node.column, problem: reason))
    }
    for name in node.attributes.keys.sorted() where !form.attributes.contains(name) {
      report(.unknownAttribute, node, "\(what) has '\(name)', which is not a known name" + advice(name, form.attributes))
    }
    if node.name == "attribute", node.attributes["attributeType"] == nil, node.attributes["transient"] != "YES" {
      report(.missingType, node, "\(what) has no attributeType; add one, such as String")
    }
    if node.name == "relationship", node.attributes["inverseName"] == nil, node.attributes["transient"] != "YES" {
      report(.missingInverse, node, "\(what) has no inverse, so the other side is not updated; declare one")
    }
    for child in node.children {
      if !form.elements.contains(child.name) {
        report(
          .unknownElement, child, "\(what) has an element '\(child.name)', which is not a known name" + advice(child.name, form.elements))
      }
      inspect(at: child, path, &findings)
    }
  }

  private static func advice(_ name: String, _ names: [String]) -> String {
    let known = SimilarName.of(name, among: names) ?? namesInFiles[name].flatMap { names.contains($0) ? $0 : nil }
    return known.map { "; did you mean '\($0)'?" } ?? ""
  }

  /// The names in model files of properties that have another name in Swift.
  private static let namesInFiles = [
    "preservesValueInHistoryOnDeletion": "preserveAfterDeletion", "renamingIdentifier": "elementID", "isOptional": "optional",
    "isTransient": "transient", "isDerived": "derived", "isOrdered": "ordered", "isToMany": "toMany",
    "deleteRule": "deletionRule", "destination": "destinationEntity", "inverse": "inverseName", "type": "attributeType",
    "defaultValue": "defaultValueString", "superentity": "parentEntity", "superentityName": "parentEntity",
    "managedObjectClassName": "representedClassName", "codeGeneration": "codeGenerationType", "predicateFormat": "predicateString",
    "valueTransformer": "valueTransformerName",
  ]
}

/// A position in a model file.
package struct ModelFileLocation: Sendable, Hashable, CustomStringConvertible {
  /// The path of the file; nil for data in memory.
  package let path: String?
  /// The line, from 1.
  package let line: Int
  /// The column, from 1.
  package let column: Int

  /// The position as `path:line:column`, which Xcode and `swift build` recognize.
  package var description: String { "\(path.map { "\($0):" } ?? "")\(line):\(column)" }
}

/// The positions of a model file's elements by the names that they declare, for errors and warnings about the model.
package struct ModelFileLocations: Sendable {
  /// The name of an entity or composite (nil for the model), and the name of its part (nil for the owner itself).
  private struct Key: Hashable {
    let owner: String?
    let name: String?
  }

  private var locations: [Key: ModelFileLocation] = [:]
  private let root: ModelFileLocation

  /// Reads a model file, or the current version in a bundle of versions.
  ///
  /// - Parameter url: An `.xcdatamodeld` or `.xcdatamodel` bundle, or the `contents` file of one.
  /// - Throws: ``ModelFileError`` if the file cannot be read.
  package init(ofModelAt url: URL) throws(ModelFileError) {
    let file = try ModelFiles.contents(ofModelAt: url)
    try self.init(ModelFiles.data(at: file), path: file.path)
  }

  /// Reads the data of a `contents` file.
  ///
  /// - Throws: ``ModelFileError`` if the data is not XML.
  package init(_ data: Data, path: String? = nil) throws(ModelFileError) {
    self.init(try ModelFiles.tree(of: data, path: path), path: path)
  }

  /// Collects the positions of the elements of a tree.
  @_optimize(none) init(_ tree: XMLNode, path: String?) {
    root = ModelFileLocation(path: path, line: tree.line, column: tree.column)
    for node in tree.children {
      let isOwner = node.name == "entity" || node.name == "composite"
      // Issues refer to an element with a missing name by the empty name.
      guard let name = node.attributes["name"] ?? (isOwner ? "" : nil) else { continue }
      add(node, isOwner ? Key(owner: name, name: nil) : Key(owner: nil, name: name))
      guard isOwner else { continue }
      for child in node.children {
        let isProperty = ["attribute", "relationship", "fetchedProperty"].contains(child.name)
        if let part = child.attributes["name"] ?? (isProperty ? "" : nil) { add(child, Key(owner: name, name: part)) }
      }
    }
  }

  private mutating func add(_ node: XMLNode, _ key: Key) {
    // Duplicate names are reported by the model's validation; the first element keeps its position.
    guard locations[key] == nil else { return }
    locations[key] = ModelFileLocation(path: root.path, line: node.line, column: node.column)
  }

  /// Returns the position of a property, else of its entity, else of the model.
  ///
  /// - Parameters:
  ///   - entity: An entity or a composite; nil for the model's configurations and templates.
  ///   - property: The name of a property, an index, a configuration or a template.
  @_optimize(none) package func location(entity: String?, property: String?) -> ModelFileLocation {
    if let property {
      // Parts of composites have dotted names.
      for name in [property, String(property.prefix { $0 != "." })] {
        if let found = locations[Key(owner: entity, name: name)] { return found }
      }
      // Issues of composites have no entity.
      if entity == nil, let found = locations[Key(owner: property, name: nil)] { return found }
    }
    return entity.flatMap { locations[Key(owner: $0, name: nil)] } ?? root
  }

  /// Returns whether the file contains an entity or a composite with a name.
  package func describes(_ entity: String) -> Bool { locations[Key(owner: entity, name: nil)] != nil }
}
