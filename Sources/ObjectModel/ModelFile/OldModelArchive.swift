import Foundation

/// Converts a model in Xcode 3 format, the file `elements`, to the tree of a `contents` file. Used for models that no later Xcode has
/// saved.
///
/// The file is an archive of the editor's objects: a package of entities, whose properties have settings in stereotypes: groups of named
/// values such as `XD_PAttK_attributeType`.
struct OldModelArchive {
  private let archive: BinaryArchive

  /// Returns the tree of a file's data, as in a `contents` file.
  @_optimize(none) static func tree(of data: Data, path: String?) throws(ModelFileError) -> XMLNode {
    guard data.count <= XMLBounds().bytes else {
      throw ModelFileError(.tooLarge, path: path, "the file has \(data.count) bytes; the reader takes \(XMLBounds().bytes)")
    }
    let archive = BinaryArchive(data)
    if let archive, archive.className(archive.root) == "NSManagedObjectModel" { throw ModelFiles.compiled(path) }
    guard let archive, archive.className(archive.root) == "XDPMModel" else {
      throw ModelFileError(
        .malformed, path: path, "the file is not a model of Xcode 3, or it is damaged; bring it back from version control")
    }
    return OldModelArchive(archive: archive).model()
  }

  @_optimize(none) private func model() -> XMLNode {
    var node = XMLNode(name: "model", attributes: [:], line: 1)
    let fields = archive.fields(archive.root)
    let version = fields["_modelVersionIdentifier"]
    let versions = [archive.text(version)].compactMap(\.self) + archive.elements(version).compactMap { archive.text($0) }
    if !versions.isEmpty { node.attributes["userDefinedModelVersionIdentifier"] = versions.joined(separator: ",") }
    var requests: [XMLNode] = []
    for (_, entity) in archive.entries(archive.fields(fields["_xd_rootPackage"])["XDBucketForClassesstorage"])
    where archive.className(entity) == "XDPMEntity" {
      node.children.append(self.entity(entity, &requests))
    }
    node.children += requests
    for (name, members) in archive.entries(fields["_configurationsByName"]) {
      var configuration = XMLNode(name: "configuration", attributes: ["name": name], line: 1)
      let names = archive.elements(members).compactMap { archive.text($0) ?? self.name(of: $0) }.sorted()
      configuration.children = names.map { XMLNode(name: "memberEntity", attributes: ["name": $0], line: 1) }
      node.children.append(configuration)
    }
    return node
  }

  private func name(of object: BinaryArchive.Value?) -> String? { archive.text(archive.fields(object)["_name"]) }

  /// Returns the settings of an entity or property by name, from all its stereotypes.
  private func settings(of object: BinaryArchive.Value) -> [String: BinaryArchive.Value] {
    var settings: [String: BinaryArchive.Value] = [:]
    for (_, stereotype) in archive.entries(archive.fields(object)["XDBucketForStereotypesstorage"]) {
      for (name, setting) in archive.entries(archive.fields(stereotype)["XDBucketForOwnedAttributesstorage"]) {
        settings[name] = archive.fields(setting)["_default"]
      }
    }
    return settings
  }

  @_optimize(none) private func entity(_ entity: BinaryArchive.Value, _ requests: inout [XMLNode]) -> XMLNode {
    let (fields, settings) = (archive.fields(entity), settings(of: entity))
    var node = XMLNode(name: "entity", attributes: [:], line: 1)
    node.attributes["name"] = name(of: entity)
    node.attributes["representedClassName"] = archive.text(settings["XD_PSK_entityClassName"])
    node.attributes["parentEntity"] =
      archive.elements(fields["XDBucketForGeneralizationsstorage"]).lazy.compactMap { name(of: archive.fields($0)["_general"]) }.first
    if archive.flag(settings["XD_PSK_isAbstract"]) || archive.flag(fields["_isAbstract"]) { node.attributes["isAbstract"] = "YES" }
    node.attributes["elementID"] = archive.text(settings["XD_PSK_elementID"])
    node.attributes["versionHashModifier"] = archive.text(settings["XD_PSK_versionHashModifier"])
    let properties = archive.entries(fields["XDBucketForOwnedAttributesstorage"])
    node.children += properties.filter { archive.className($0.value) == "XDPMAttribute" }.map { attribute($0.value) }
    node.children += properties.filter { archive.className($0.value) == "XDPMRelationship" }.map { relationship($0.value) }
    node.children += userInfo(settings["XD_PSK_userInfo"])
    for request in archive.elements(settings["XD_PSK_fetchRequestsArray"]) {
      let fields = archive.fields(request)
      guard let name = archive.text(fields["_name"]) else { continue }
      var node = XMLNode(name: "fetchRequest", attributes: ["name": name], line: 1)
      node.attributes["entity"] = self.name(of: fields["_entity"]) ?? self.name(of: entity)
      node.attributes["predicateString"] = archive.text(fields["_predicateString"])
      requests.append(node)
    }
    return node
  }

  private func property(_ element: String, _ property: BinaryArchive.Value, _ settings: [String: BinaryArchive.Value]) -> XMLNode {
    var node = XMLNode(name: element, attributes: [:], line: 1)
    node.attributes["name"] = name(of: property)
    if archive.flag(settings["XD_PPSK_isOptional"]) { node.attributes["optional"] = "YES" }
    if archive.flag(settings["XD_PPSK_isTransient"]) { node.attributes["transient"] = "YES" }
    node.attributes["elementID"] = archive.text(settings["XD_PPSK_elementID"])
    node.attributes["versionHashModifier"] = archive.text(settings["XD_PPSK_versionHashModifier"])
    node.children = userInfo(settings["XD_PPSK_userInfo"])
    return node
  }

  @_optimize(none) private func attribute(_ attribute: BinaryArchive.Value) -> XMLNode {
    let settings = settings(of: attribute)
    var node = property("attribute", attribute, settings)
    node.attributes["attributeType"] = archive.number(settings["XD_PAttK_attributeType"]).flatMap(Self.typeName)
    for (name, setting) in [
      ("defaultValueString", "defaultValueAsString"), ("minValueString", "minValueString"), ("maxValueString", "maxValueString"),
      ("regularExpressionString", "regularExpressionString"), ("valueTransformerName", "valueTransformerName"),
    ] {
      node.attributes[name] = archive.text(settings["XD_PAttK_" + setting])
    }
    if archive.flag(settings["XD_PPSK_isIndexed"]) { node.attributes["indexed"] = "YES" }
    if archive.flag(settings["XD_PAttK_allowsExternalBinaryDataStorage"]) { node.attributes["allowsExternalBinaryDataStorage"] = "YES" }
    return node
  }

  /// Returns the name of a type; nil for an undefined and an unknown one.
  private static func typeName(_ number: Int) -> String? {
    guard number > 0, let type = UInt(exactly: number).flatMap(AttributeType.init(coreDataNumber:)) else { return nil }
    return type.rawValue
  }

  @_optimize(none) private func relationship(_ relationship: BinaryArchive.Value) -> XMLNode {
    let settings = settings(of: relationship)
    var node = property("relationship", relationship, settings)
    let most = archive.number(settings["XD_PRK_maxCount"])
    let isToMany = archive.flag(settings["XD_PRK_isToMany"]) || most.map { $0 != 1 } ?? false
    if isToMany {
      node.attributes["toMany"] = "YES"
      if let most, most != 0 { node.attributes["maxCount"] = "\(most)" }
      if let least = archive.number(settings["XD_PRK_minCount"]), least != 0 { node.attributes["minCount"] = "\(least)" }
      if archive.flag(settings["XD_PRK_ordered"]) { node.attributes["ordered"] = "YES" }
    } else {
      node.attributes["minCount"] = archive.number(settings["XD_PRK_minCount"]).map { "\($0)" }
      node.attributes["maxCount"] = "1"
    }
    let rule = archive.number(settings["XD_PRK_deleteRule"]).flatMap(UInt.init(exactly:)).flatMap(DeleteRule.init(coreDataNumber:))
    node.attributes["deletionRule"] = (rule ?? .nullify).rawValue
    node.attributes["destinationEntity"] = name(of: settings["XD_PRK_destination"])
    if let inverse = name(of: settings["XD_PRK_inverseRelationship"]) {
      node.attributes["inverseName"] = inverse
      node.attributes["inverseEntity"] = node.attributes["destinationEntity"]
    }
    return node
  }

  /// Returns the user info entries with string values. Others belong to services of the editor.
  private func userInfo(_ value: BinaryArchive.Value?) -> [XMLNode] {
    let entries = archive.entries(value).compactMap { key, value in archive.text(value).map { ["key": key, "value": $0] } }
    guard !entries.isEmpty else { return [] }
    var node = XMLNode(name: "userInfo", attributes: [:], line: 1)
    node.children = entries.map { XMLNode(name: "entry", attributes: $0, line: 1) }
    return [node]
  }
}
