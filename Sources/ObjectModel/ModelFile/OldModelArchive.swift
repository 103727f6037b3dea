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

/// A keyed archive in a binary property list, read with limits on all sizes. Archived objects are not instantiated: they are records of
/// named values that refer to each other by number.
struct BinaryArchive {
  indirect enum Value {
    case null
    case flag(Bool)
    case number(Int64)
    case real(Double)
    case text(String)
    case data(Data)
    /// A reference to another object of the archive.
    case reference(Int)
    case list([Value])
    case record([String: Value])
  }
  static let maximumObjects = 400_000
  /// The maximum total number of values. Shared values count each time.
  static let maximumValues = 4_000_000

  private let objects: [Value]
  let root: Value

  /// Reads an archive; nil if the data is not one, or exceeds the limits.
  @_optimize(none) init?(_ data: Data) {
    guard var reader = PropertyListReader(data), case .record(let archive)? = reader.top(depth: 1),
      case .list(let objects)? = archive["$objects"],
      case .record(let top)? = archive["$top"], let root = top["root"]
    else { return nil }
    self.objects = objects
    self.root = root
  }

  /// Returns the object that a value refers to, or the value itself.
  func resolved(_ value: Value?) -> Value {
    guard let value else { return .null }
    guard case .reference(let number) = value else { return value }
    guard objects.indices.contains(number) else { return .null }
    if case .text("$null") = objects[number], number == 0 { return .null }
    return objects[number]
  }

  /// Returns the named values of an object; empty for other values.
  func fields(_ value: Value?) -> [String: Value] { if case .record(let fields) = resolved(value) { fields } else { [:] } }

  /// Returns a string, which may be an archived object; nil for other values.
  func text(_ value: Value?) -> String? {
    switch resolved(value) {
    case .text(let text): text
    case .record(let fields): if case .text(let text) = resolved(fields["NS.string"]) { text } else { nil }
    default: nil
    }
  }

  /// Returns a boolean, or whether a number is not 0.
  func flag(_ value: Value?) -> Bool {
    switch resolved(value) {
    case .flag(let flag): flag
    case .number(let number): number != 0
    default: false
    }
  }

  /// Returns an integer; nil for other values.
  func number(_ value: Value?) -> Int? { if case .number(let number) = resolved(value) { Int(exactly: number) } else { nil } }

  /// Returns the elements of an array, a set or a list.
  func elements(_ value: Value?) -> [Value] {
    switch resolved(value) {
    case .list(let values): values
    case .record(let fields): if case .list(let values) = resolved(fields["NS.objects"]) { values } else { [] }
    default: []
    }
  }

  /// Returns the entries of a dictionary with string keys, ordered by key.
  func entries(_ value: Value?) -> [(key: String, value: Value)] {
    let fields = fields(value)
    guard case .list(let keys) = resolved(fields["NS.keys"]), case .list(let values) = resolved(fields["NS.objects"]) else { return [] }
    return zip(keys, values).compactMap { key, value in text(key).map { ($0, value) } }.sorted { $0.key < $1.key }
  }

  func className(_ value: Value?) -> String? { text(fields(fields(value)["$class"])["$classname"]) }
}

private struct PropertyListReader {
  private let bytes: [UInt8]
  private let offsets: [Int]
  private let referenceSize: Int
  private let topObject: Int
  private var count = 0

  @_optimize(none) init?(_ data: Data) {
    let bytes = [UInt8](data)
    guard bytes.count > 40, bytes.starts(with: Array("bplist00".utf8)) else { return nil }
    func number(_ start: Int, _ size: Int) -> Int? {
      guard (1...8).contains(size), start >= 0, start <= bytes.count - size else { return nil }
      let value = bytes[start..<start + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return Int(exactly: value)
    }
    let trailer = bytes.count - 32
    let (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
    guard let count = number(trailer + 8, 8), let top = number(trailer + 16, 8), let table = number(trailer + 24, 8),
      count <= BinaryArchive.maximumObjects, (1...8).contains(referenceSize)
    else { return nil }
    var offsets: [Int] = []
    for index in 0..<count {
      guard table <= trailer, let offset = number(table + index * offsetSize, offsetSize), offset < trailer else { return nil }
      offsets.append(offset)
    }
    (self.bytes, self.offsets, self.referenceSize, topObject) = (bytes, offsets, referenceSize, top)
  }

  mutating func top(depth: Int) -> BinaryArchive.Value? { value(topObject, depth: depth) }

  private func number(_ start: Int, _ size: Int) -> UInt64? {
    guard (1...8).contains(size), start >= 0, start <= bytes.count - size else { return nil }
    return bytes[start..<start + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
  }

  /// Returns the object with a number; nil if it is damaged, nested too deeply, or exceeds the limit of values.
  @_optimize(none) private mutating func value(_ object: Int, depth: Int) -> BinaryArchive.Value? {
    count += 1
    guard offsets.indices.contains(object), depth < 8, count <= BinaryArchive.maximumValues else { return nil }
    let start = offsets[object]
    let (kind, low) = (bytes[start] >> 4, Int(bytes[start] & 15))
    switch kind {
    case 0: return low == 8 || low == 9 ? .flag(low == 9) : .null
    case 1:
      // A 16-byte integer; the lower 8 bytes hold the value.
      if low == 4 { return number(start + 9, 8).map { .number(Int64(bitPattern: $0)) } }
      guard low <= 3, let bits = number(start + 1, 1 << low) else { return nil }
      return .number(Int64(bitPattern: bits))
    case 2:
      if low == 2 { return number(start + 1, 4).map { .real(Double(Float(bitPattern: UInt32($0)))) } }
      return low == 3 ? number(start + 1, 8).map { .real(Double(bitPattern: $0)) } : nil
    case 3: return number(start + 1, 8).map { .real(Double(bitPattern: $0)) }
    case 8: return number(start + 1, low + 1).flatMap { Int(exactly: $0) }.map { .reference($0) }
    default: break
    }
    guard let (first, length) = extent(start, low) else { return nil }
    switch kind {
    case 4: return first + length <= bytes.count ? .data(Data(bytes[first..<first + length])) : nil
    case 5: return first + length <= bytes.count ? .text(String(decoding: bytes[first..<first + length], as: UTF8.self)) : nil
    case 6:
      guard first + 2 * length <= bytes.count else { return nil }
      let units = (0..<length).map { UInt16(bytes[first + 2 * $0]) << 8 | UInt16(bytes[first + 2 * $0 + 1]) }
      return .text(String(decoding: units, as: UTF16.self))
    case 10, 11, 12:
      guard let values = values(first, length, depth: depth) else { return nil }
      return .list(values)
    case 13:
      guard let keys = values(first, length, depth: depth), let values = values(first + length * referenceSize, length, depth: depth) else {
        return nil
      }
      var record: [String: BinaryArchive.Value] = [:]
      for (key, value) in zip(keys, values) { if case .text(let name) = key { record[name] = value } }
      return .record(record)
    default: return nil
    }
  }

  /// Returns the position and the length of an object's content.
  private func extent(_ start: Int, _ low: Int) -> (first: Int, length: Int)? {
    guard low == 15 else { return (start + 1, low) }
    guard start + 1 < bytes.count, bytes[start + 1] >> 4 == 1, bytes[start + 1] & 15 <= 3,
      let length = number(start + 2, 1 << Int(bytes[start + 1] & 15)).flatMap({ Int(exactly: $0) }), length <= bytes.count
    else { return nil }
    return (start + 2 + 1 << Int(bytes[start + 1] & 15), length)
  }

  @_optimize(none) private mutating func values(_ first: Int, _ length: Int, depth: Int) -> [BinaryArchive.Value]? {
    guard first + length * referenceSize <= bytes.count else { return nil }
    var values: [BinaryArchive.Value] = []
    values.reserveCapacity(length)
    for index in 0..<length {
      guard let object = number(first + index * referenceSize, referenceSize).flatMap({ Int(exactly: $0) }),
        let value = value(object, depth: depth + 1)
      else { return nil }
      values.append(value)
    }
    return values
  }
}
