import Foundation
import XCTest

@testable import ObjectModel

/// Writes archives of objects. Foundation's property list writer does not support references between objects.
private struct ArchiveWriter {
  indirect enum Value {
    case flag(Bool)
    case number(Int)
    case text(String)
    case reference(Int)
    case list([Value])
    case record([String: Value])
  }

  /// The objects of the archive; the first is nil.
  private(set) var objects: [Value] = [.text("$null")]

  /// Adds an object, and returns a reference to it.
  mutating func add(_ value: Value) -> Value {
    objects.append(value)
    return .reference(objects.count - 1)
  }

  mutating func object(_ name: String, _ fields: [String: Value]) -> Value {
    let kind = add(.record(["$classname": .text(name), "$classes": .list([.text(name), .text("NSObject")])]))
    return add(.record(fields.merging(["$class": kind]) { $1 }))
  }

  mutating func dictionary(_ entries: [(String, Value)]) -> Value {
    let keys = entries.map { add(.text($0.0)) }
    return object("NSMutableDictionary", ["NS.keys": .list(keys), "NS.objects": .list(entries.map(\.1))])
  }

  mutating func array(_ values: [Value]) -> Value { object("NSMutableArray", ["NS.objects": .list(values)]) }

  /// Replaces the object of an existing reference.
  mutating func set(_ value: Value, at reference: Value) {
    if case .reference(let number) = reference { objects[number] = value }
  }

  /// The archive as a binary property list.
  func data(root: Value) -> Data {
    var parts: [[UInt8]] = []
    func write(_ value: Value) -> Int {
      let place = parts.count
      parts.append([])
      func head(_ kind: UInt8, _ length: Int) -> [UInt8] {
        length < 15 ? [kind << 4 | UInt8(length)] : [kind << 4 | 15, 0x11, UInt8(length >> 8), UInt8(length & 255)]
      }
      func references(_ values: [Int]) -> [UInt8] { values.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] } }
      switch value {
      case .flag(let flag): parts[place] = [flag ? 9 : 8]
      case .number(let number): parts[place] = [0x13] + withUnsafeBytes(of: Int64(number).bigEndian, Array.init)
      case .text(let text):
        let units = Array(text.utf16)
        parts[place] =
          text.utf8.allSatisfy { $0 < 128 }
          ? head(5, text.utf8.count) + Array(text.utf8) : head(6, units.count) + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
      case .reference(let number): parts[place] = [0x81, UInt8(number >> 8), UInt8(number & 255)]
      case .list(let values): parts[place] = head(10, values.count) + references(values.map(write))
      case .record(let fields):
        let sorted = fields.sorted { $0.key < $1.key }
        let keys = sorted.map { write(.text($0.key)) }
        parts[place] = head(13, fields.count) + references(keys + sorted.map { write($0.value) })
      }
      return place
    }
    let top = write(
      .record([
        "$version": .number(100_000), "$archiver": .text("NSKeyedArchiver"), "$objects": .list(objects), "$top": .record(["root": root]),
      ]))
    var data = Data("bplist00".utf8)
    var offsets = Data()
    for part in parts {
      withUnsafeBytes(of: UInt32(data.count).bigEndian) { offsets.append(contentsOf: $0) }
      data.append(contentsOf: part)
    }
    let table = data.count
    data += offsets + Data([0, 0, 0, 0, 0, 0, 4, 2])
    for number in [parts.count, top, table] { withUnsafeBytes(of: UInt64(number).bigEndian) { data.append(contentsOf: $0) } }
    return data
  }
}

/// Models in the format of Xcode 3: archives of the editor's objects.
final class OldModelTests: XCTestCase {
  private typealias Value = ArchiveWriter.Value

  /// A settings group of an entity or property.
  private func stereotypes(_ settings: [(String, Value)], _ writer: inout ArchiveWriter) -> Value {
    let properties = settings.map { name, value in
      (name, writer.object("XDUMLPropertyImp", ["_name": writer.add(.text(name)), "_default": value]))
    }
    let owned = writer.dictionary(properties)
    let group = writer.object("XDUMLStereotypeImp", ["XDBucketForOwnedAttributesstorage": owned])
    return writer.dictionary([("XD_Stereotype", group)])
  }

  private func property(_ kind: String, _ name: String, _ settings: [(String, Value)], _ writer: inout ArchiveWriter) -> (String, Value) {
    let settings = stereotypes(settings, &writer)
    return (name, writer.object(kind, ["_name": writer.add(.text(name)), "XDBucketForStereotypesstorage": settings]))
  }

  /// A library model in the format of Xcode 3.
  private func archive() -> Data {
    var writer = ArchiveWriter()
    func text(_ text: String) -> Value { writer.add(.text(text)) }
    let (item, book) = (writer.add(.flag(false)), writer.add(.flag(false)))
    let notes = writer.dictionary([("color", text("grün")), ("sync", writer.dictionary([("Preferred", text("x"))]))])
    let title = property(
      "XDPMAttribute", "title",
      [
        ("XD_PAttK_attributeType", .number(700)), ("XD_PAttK_defaultValueAsString", text("Untitled")),
        ("XD_PAttK_maxValueString", text("80")),
        ("XD_PAttK_minValueString", .reference(0)), ("XD_PPSK_isOptional", .flag(false)), ("XD_PPSK_isIndexed", .flag(true)),
        ("XD_PPSK_userInfo", notes),
      ], &writer)
    let pages = property(
      "XDPMAttribute", "pages",
      [("XD_PAttK_attributeType", .number(200)), ("XD_PAttK_defaultValueAsString", text("NO")), ("XD_PPSK_isOptional", .flag(true))],
      &writer)
    var relationships: [(String, Value)] = []
    let (parent, children) = (writer.add(.flag(false)), writer.add(.flag(false)))
    for (name, place, inverse, settings) in [
      (
        "parent", parent, children,
        [("XD_PRK_maxCount", Value.number(1)), ("XD_PRK_minCount", .number(1)), ("XD_PRK_deleteRule", .number(1))]
      ),
      (
        "children", children, parent,
        [("XD_PRK_isToMany", .flag(true)), ("XD_PRK_deleteRule", .number(2)), ("XD_PRK_minCount", .number(0))]
      ),
    ] {
      let settings = stereotypes(
        settings + [("XD_PRK_destination", book), ("XD_PRK_inverseRelationship", inverse), ("XD_PPSK_isOptional", .flag(true))], &writer)
      let made = writer.object("XDPMRelationship", ["_name": text(name), "XDBucketForStereotypesstorage": settings])
      if case .reference(let number) = made { writer.set(writer.objects[number], at: place) }
      relationships.append((name, place))
    }
    let request = writer.object("XDPMFetchRequest", ["_name": text("long"), "_entity": book, "_predicateString": text("pages > 500")])
    func entity(_ name: String, _ place: Value, _ properties: [(String, Value)], _ settings: [(String, Value)], parent: Value?) {
      let owned = writer.dictionary(properties)
      let settings = stereotypes(settings, &writer)
      let general =
        parent.map { writer.array([writer.object("XDUMLGeneralizationImp", ["_general": $0, "_specific": place])]) } ?? .reference(0)
      let made = writer.object(
        "XDPMEntity",
        [
          "_name": text(name), "_isAbstract": .flag(false), "XDBucketForOwnedAttributesstorage": owned,
          "XDBucketForStereotypesstorage": settings, "XDBucketForGeneralizationsstorage": general,
        ])
      if case .reference(let number) = made { writer.set(writer.objects[number], at: place) }
    }
    entity("Item", item, [title], [("XD_PSK_isAbstract", .flag(true)), ("XD_PSK_entityClassName", text("Item"))], parent: nil)
    entity(
      "Book", book, [pages] + relationships,
      [("XD_PSK_entityClassName", text("NSManagedObject")), ("XD_PSK_fetchRequestsArray", writer.array([request]))], parent: item)
    let package = writer.object(
      "XDModelPackage", ["XDBucketForClassesstorage": writer.dictionary([("Item", item), ("Book", book)])])
    let root = writer.object(
      "XDPMModel",
      [
        "_xd_rootPackage": package, "_modelVersionIdentifier": writer.array([text("2")]),
        "_configurationsByName": writer.dictionary([("All", writer.array([book]))]),
      ])
    return writer.data(root: root)
  }

  private func bundle(_ data: Data) throws -> URL {
    let url = try Fixtures.folder(self).appendingPathComponent("Old.xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    try data.write(to: url.appendingPathComponent("elements"))
    return url
  }

  func testAModelOfXcode3IsRead() throws {
    let url = try bundle(archive())
    let model = try ManagedObjectModel(contentsOf: url)
    XCTAssertEqual(model.versionIdentifiers, ["2"])
    XCTAssertEqual(model.entities.map(\.name), ["Book", "Item"])
    let (book, item) = (model.entities[0], model.entities[1])
    XCTAssertTrue(item.isAbstract)
    XCTAssertEqual(item.managedObjectClassName, "Item")
    XCTAssertEqual(item.attributes[0].type, .string)
    XCTAssertEqual(item.attributes[0].defaultValue, .text("Untitled"))
    XCTAssertEqual(item.attributes[0].validation.maximumLength, 80)
    XCTAssertNil(item.attributes[0].validation.minimumLength)
    XCTAssertEqual(item.attributes[0].userInfo, ["color": "grün"])
    XCTAssertTrue(item.attributes[0].isIndexed && !item.attributes[0].isOptional)
    XCTAssertEqual(book.superentityName, "Item")
    XCTAssertEqual(book.attributes.map(\.defaultValue), [.int(0)])
    XCTAssertEqual(book.relationships.map(\.name), ["children", "parent"])
    XCTAssertEqual(book.relationships.map(\.isToMany), [true, false])
    XCTAssertEqual(book.relationships.map(\.inverseName), ["parent", "children"])
    XCTAssertEqual(book.relationships.map(\.deleteRule), [.cascade, .nullify])
    XCTAssertEqual(model.fetchRequestTemplates.map(\.predicateFormat), ["pages > 500"])
    XCTAssertEqual(model.configurations.map(\.entityNames), [["Book"]])
    XCTAssertEqual(model.validationIssues(), [])
    // Writing it makes a file that every later editor can read.
    let written = try ManagedObjectModel(xmlData: try model.xmlData())
    XCTAssertEqual(written, model)
    XCTAssertEqual(written.versionHashesByEntityName, model.versionHashesByEntityName)
    XCTAssertEqual(try ModelFileLint.unusableParts(ofModelAt: url).map(\.kind), [.unusableValue])
    XCTAssertThrowsError(try ManagedObjectModel(contentsOf: url, strict: true))
  }

  func testAnOldVersionInABundleIsRead() throws {
    let url = try Fixtures.folder(self).appendingPathComponent("M.xcdatamodeld")
    try ManagedObjectModel { Entity("E") }.write(to: url)
    let old = url.appendingPathComponent("M 0.xcdatamodel")
    try FileManager.default.createDirectory(at: old, withIntermediateDirectories: true)
    try archive().write(to: old.appendingPathComponent("elements"))
    let bundle = try VersionedModel(contentsOf: url)
    XCTAssertEqual(bundle.versions.map(\.name), ["M", "M 0"])
    XCTAssertEqual(bundle.version(named: "M 0")?.entities.count, 2)
    // Readers prefer the new file next to the old one.
    try bundle.write(to: url)
    XCTAssertTrue(FileManager.default.fileExists(atPath: old.appendingPathComponent("contents").path))
    XCTAssertEqual(try VersionedModel(contentsOf: url), bundle)
  }

  func testCompiledModelsInPlaceOfSourceModelsAreReportedAsSuch() throws {
    var writer = ArchiveWriter()
    let root = writer.object("NSManagedObjectModel", ["NSEntities": writer.dictionary([])])
    XCTAssertThrowsError(try ManagedObjectModel(contentsOf: try bundle(writer.data(root: root)))) {
      XCTAssertEqual(($0 as? ModelFileError)?.code, .compiled)
    }
  }

  func testDamagedArchivesAreErrorsAndDoNotTrap() throws {
    let whole = archive()
    for length in stride(from: 0, to: whole.count, by: 1_201) {
      XCTAssertThrowsError(try ManagedObjectModel(contentsOf: try bundle(whole.prefix(length)))) { XCTAssertTrue($0 is ModelFileError) }
    }
    // A flipped bit yields a model or an error, never a crash.
    for position in stride(from: 8, to: whole.count, by: 131) {
      var data = whole
      data[position] ^= 1 << UInt8(position % 8)
      do { _ = try ManagedObjectModel(contentsOf: try bundle(data)).validationIssues() } catch {
        XCTAssertTrue(error is ModelFileError, "\(error)")
      }
    }
    for text in ["", "bplist00", "bplist00" + String(repeating: "\0", count: 64)] {
      XCTAssertThrowsError(try ManagedObjectModel(contentsOf: try bundle(Data(text.utf8))), text)
    }
  }
}
