import Foundation
import XCTest

@testable import ObjectModel

/// Model documents that resemble those of public applications, from all versions of the editor, are read and written without loss. They
/// were written for these tests; none comes from an application.
final class DocumentTests: XCTestCase {
  private static let folder = Fixtures.root.appendingPathComponent("Tests/ObjectModelTests/Documents")

  private func bundles() throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "xcdatamodeld" }.sorted { $0.path < $1.path }
  }

  private func model(_ name: String, version: String? = nil) throws -> ManagedObjectModel {
    let bundle = try VersionedModel(contentsOf: Self.folder.appendingPathComponent("\(name).xcdatamodeld"))
    return try XCTUnwrap(version.map { bundle.version(named: $0) } ?? bundle.current)
  }

  func testEveryDocumentIsRead() throws {
    // The numbers of entities, attributes, relationships, to-many relationships, built indexes, constraints, inheritance levels and
    // templates.
    let known: [String: [Int]] = [
      "Camera": [13, 29, 14, 8, 3, 2, 3, 0], "Chat": [8, 33, 17, 8, 3, 2, 2, 0], "FeedReader": [7, 22, 8, 4, 7, 0, 3, 2],
      "HealthLog": [20, 49, 20, 9, 3, 2, 3, 0], "NextActions": [8, 21, 12, 6, 0, 0, 3, 2], "Notes": [9, 28, 12, 7, 2, 0, 2, 0],
      "Podcasts": [11, 54, 18, 8, 4, 3, 2, 2], "Recipes": [4, 12, 6, 3, 2, 0, 1, 0], "Timetable": [14, 33, 30, 17, 6, 1, 2, 1],
      "Vault": [17, 46, 10, 7, 2, 3, 4, 0], "Wallet": [14, 34, 18, 8, 3, 4, 2, 3], "WikiReader": [6, 26, 12, 8, 5, 4, 1, 0],
    ]
    var found: [String: [Int]] = [:]
    for url in try bundles() {
      let name = url.deletingPathExtension().lastPathComponent
      let model = try ManagedObjectModel(contentsOf: url)
      XCTAssertEqual(model.validationIssues(), [], name)
      let compiled = try CompiledModel(model)
      let depth = compiled.entities.map { ModelLint.lineage(of: $0.entityDescription, model.entitiesByName).count }.max() ?? 0
      found[name] = [
        model.entities.count, model.entities.flatMap(\.attributes).count, model.entities.flatMap(\.relationships).count,
        model.entities.flatMap(\.relationships).count(where: \.isToMany), model.entities.flatMap(\.effectiveIndexes).count,
        model.entities.flatMap(\.uniquenessConstraints).count, depth, model.fetchRequestTemplates.count,
      ]
      // Every relationship has its inverse, except for the one declared without.
      for relationship in compiled.relationships where relationship.name != "from" || name != "Chat" {
        XCTAssertNotNil(compiled.inverse(of: relationship), "\(name): \(relationship.name)")
      }
    }
    XCTAssertEqual(found, known)
  }

  func testEveryVersionIsWrittenWithoutLossAndCanonicalOnesByteForByte() throws {
    let folder = try Fixtures.folder(self)
    var canonical: [String] = []
    for url in try bundles() {
      let bundle = try VersionedModel(contentsOf: url)
      let copy = folder.appendingPathComponent(url.lastPathComponent)
      try bundle.write(to: copy)
      XCTAssertEqual(try VersionedModel(contentsOf: copy), bundle)
      for version in bundle.versions {
        let path = "\(version.name).xcdatamodel/contents"
        let (before, after) = try (
          Data(contentsOf: url.appendingPathComponent(path)), Data(contentsOf: copy.appendingPathComponent(path))
        )
        if before == after { canonical.append(version.name) }
        XCTAssertEqual(sorted(try Fixtures.tree(before)), sorted(try Fixtures.tree(after)), version.name)
        // The canonical form is stable.
        XCTAssertEqual(try ManagedObjectModel(xmlData: after).xmlData(), after, version.name)
      }
      let list = ".xccurrentversion"
      if let known = try? Data(contentsOf: url.appendingPathComponent(list)) {
        XCTAssertEqual(try Data(contentsOf: copy.appendingPathComponent(list)), known)
      }
    }
    XCTAssertEqual(
      canonical, ["Camera", "Chat", "HealthLog", "Notes", "Notes 2", "Podcasts", "Vault", "Wallet", "WikiReader"])
  }

  private func sorted(_ element: PreservedXML.Element) -> PreservedXML.Element {
    var element = element
    func key(_ element: PreservedXML.Element) -> String { "\(element.name) \(element.attributes["name"] ?? "")" }
    element.children = element.children.map(sorted).enumerated().sorted { (key($0.element), $0.offset) < (key($1.element), $1.offset) }.map(
      \.element)
    return element
  }

  func testVersionHashesOfDocumentsAreStable() throws {
    var checksums: [String: String] = [:]
    for url in try bundles() {
      for version in try VersionedModel(contentsOf: url).versions { checksums[version.name] = try CompiledModel(version.model).checksum }
    }
    // The hashes and the numbering from the first version. A change would keep stores from opening.
    let known = [
      "Camera": "1a16d374c73d4f7d207309846d0e4942", "Chat": "077606bca5415d5bc518804e98352d17",
      "FeedReader": "7bdb495091db9097f56c2c973ee5296f", "HealthLog": "ce1cb2807656b49e48167fca88d8f5cc",
      "NextActions": "b0773d3b39ead38875606a027433340d", "Notes": "40e1ac460b0eaaf643c4cff95ec0b901",
      "Notes 2": "1290363f3494e80dce02c1a47d0475a7", "Podcasts": "e4e3ff1523278c66ad3883572fa925a0",
      "Recipes": "ff3bbaa437ab2c45308939e955170553", "Timetable": "6dbd834951329230b6245e41b6113d3a",
      "Vault": "73bbcd11273752ae27facf0722ce3564", "Wallet": "8668424241540636987a15a41bccb4a5",
      "WikiReader": "ea6ff5dca70b82cfc68fc5f94cbc8414",
    ]
    XCTAssertEqual(checksums, known)
  }

  func testOldDocumentsHaveTheirDeclaredIndexes() throws {
    let article = try XCTUnwrap(model("FeedReader").entity(named: "Article"))
    XCTAssertEqual(article.indexes, [])
    XCTAssertEqual(article.compoundIndexes, [["date", "read"], ["guid", "feed"]])
    XCTAssertEqual(
      article.effectiveIndexes.map(\.name), ["byDateIndex", "byGuidIndex", "byReadIndex", "byDateAndReadIndex", "byGuidAndFeedIndex"])
    XCTAssertEqual(article.effectiveIndexes[3].elements.map(\.propertyName), ["date", "read"])
    // A declared index is not built twice.
    var newer = article
    newer.indexes = [
      FetchIndexDescription(name: "mine", elements: [.ascending("guid")]),
      FetchIndexDescription(name: "byReadIndex", elements: [.descending("read")]),
    ]
    XCTAssertEqual(newer.effectiveIndexes.map(\.name), ["mine", "byReadIndex", "byDateIndex", "byDateAndReadIndex", "byGuidAndFeedIndex"])
    // Attributes that no index supports are skipped.
    var attribute = AttributeDescription(name: "bytes", type: .binary)
    attribute.isIndexed = true
    XCTAssertEqual(EntityDescription(name: "E", properties: [.attribute(attribute)]).effectiveIndexes, [])
  }

  func testFeaturesOfNewDocumentsAreRead() throws {
    let article = try XCTUnwrap(model("WikiReader").entity(named: "Article"))
    XCTAssertEqual(article.coreSpotlightDisplayNameExpression, "displayTitle")
    XCTAssertTrue(article.attributes.first?.isIndexedBySpotlight ?? false)
    XCTAssertEqual(article.indexes.map { $0.elements.first?.kind == .rtree }, [false, false, true, false])
    XCTAssertEqual(article.indexes[1].elements.first?.expression, "lowercase:(displayTitle)")
    XCTAssertEqual(article.indexes[3].partialIndexPredicate, "viewed != nil")
    let sample = try XCTUnwrap(model("HealthLog").entity(named: "Sample"))
    XCTAssertEqual(sample.attributes.first { $0.name == "metadata" }?.valueClassName, "[String: String]")
    XCTAssertEqual(try model("HealthLog").composites.map(\.name), ["Contact", "Coordinate", "PostalAddress"])
    XCTAssertTrue(try model("Wallet").configurations[0].usedWithCloudKit)
    XCTAssertEqual(try model("Wallet").fetchRequestTemplate(named: "Names")?.resultType, .dictionaries)
    let note = try XCTUnwrap(model("Notes").entity(named: "Note"))
    XCTAssertEqual(note.attributes.first { $0.name == "text" }?.renamingIdentifier, "body")
    let message = try XCTUnwrap(model("Chat").entity(named: "Message"))
    XCTAssertEqual(message.attributes.filter(\.preservesValueInHistoryOnDeletion).map(\.name), ["body", "serverID"])
  }

  func testDocumentsOfTwoVersionsAreCompared() throws {
    let older = try CompiledModel(model("Notes", version: "Notes"))
    let difference = ModelDifference(from: older, to: try CompiledModel(model("Notes")))
    XCTAssertTrue(difference.canBeInferred, difference.obstacles.map(\.description).joined(separator: "\n"))
    let words = Set(difference.changes.map(\.description))
    for change in [
      "Label: renamed from Tag", "Note.text: renamed from body", "Label.tint: renamed from color", "Note.labels: renamed from tags",
      "Entry: added, abstract", "Note.byModified: index added", "Folder.sortIndex: renamed from order",
    ] {
      XCTAssertTrue(words.contains(change), "\(change) is not among:\n" + words.sorted().joined(separator: "\n"))
    }
    XCTAssertEqual(try ModelLint.findings(in: VersionedModel(contentsOf: Self.folder.appendingPathComponent("Notes.xcdatamodeld"))), [])
  }

  func testOtherFilesOfABundleAreUnchanged() throws {
    let folder = try Fixtures.folder(self)
    let bundle = folder.appendingPathComponent("Notes.xcdatamodeld")
    try FileManager.default.copyItem(at: Self.folder.appendingPathComponent("Notes.xcdatamodeld"), to: bundle)
    let mapping = bundle.appendingPathComponent("NotesToNotes2.xcmappingmodel/xcmapping.xml")
    let layout = bundle.appendingPathComponent("Notes 2.xcdatamodel/layout")
    try FileManager.default.createDirectory(at: mapping.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("<database/>".utf8).write(to: mapping)
    try Data([1, 2, 3]).write(to: layout)
    try VersionedModel(contentsOf: bundle).write(to: bundle)
    XCTAssertEqual(try VersionedModel.addVersion(toBundleAt: bundle), "Notes 3")
    XCTAssertEqual(try VersionedModel.addVersion(named: "Notes & more", toBundleAt: bundle), "Notes & more")
    XCTAssertEqual(try Data(contentsOf: mapping), Data("<database/>".utf8))
    XCTAssertEqual(try Data(contentsOf: layout), Data([1, 2, 3]))
    XCTAssertEqual(try Data(contentsOf: bundle.appendingPathComponent("Notes & more.xcdatamodel/layout")), Data([1, 2, 3]))
    let read = try VersionedModel(contentsOf: bundle)
    XCTAssertEqual(read.versions.map(\.name), ["Notes", "Notes & more", "Notes 2", "Notes 3"])
    XCTAssertEqual(read.currentVersionName, "Notes & more")
    XCTAssertEqual(read.current, read.version(named: "Notes 2"))
    for name in ["notes 2", "", "a/b", ".hidden"] {
      XCTAssertThrowsError(try VersionedModel.addVersion(named: name, toBundleAt: bundle), name) {
        XCTAssertEqual(($0 as? ModelFileError)?.code, .unwritable)
      }
    }
    XCTAssertThrowsError(try VersionedModel.addVersion(toBundleAt: bundle.appendingPathComponent("Notes.xcdatamodel")))
    XCTAssertThrowsError(try VersionedModel.addVersion(toBundleAt: folder.appendingPathComponent("None.xcdatamodeld")))
  }

  func testPropertyListsThatNameTheCurrentVersionAreUnchanged() throws {
    let bundle = try Fixtures.folder(self).appendingPathComponent("M.xcdatamodeld")
    var model = VersionedModel(
      name: "M", versions: [.init(name: "M", model: ManagedObjectModel { Entity("A") })], currentVersionName: "M")
    try model.write(to: bundle)
    let list = bundle.appendingPathComponent(".xccurrentversion")
    let own = try String(contentsOf: list, encoding: .utf8).replacing(
      "<dict>", with: "<dict>\n\t<key>future</key>\n\t<string>kept</string>")
    try Data(own.utf8).write(to: list)
    try model.write(to: bundle)
    XCTAssertEqual(try String(contentsOf: list, encoding: .utf8), own)
    model.versions.append(.init(name: "M 10", model: ManagedObjectModel { Entity("B") }))
    model.currentVersionName = "M 10"
    try model.write(to: bundle)
    XCTAssertEqual(try VersionedModel(contentsOf: bundle).currentVersionName, "M 10")
    XCTAssertEqual(try VersionedModel.addVersion(toBundleAt: bundle), "M 11")
  }

  func testSortingByNameKeepsTheHashes() throws {
    for url in try bundles() {
      var model = try ManagedObjectModel(contentsOf: url)
      let hashes = model.versionHashesByEntityName
      model.entities.reverse()
      for index in model.entities.indices { model.entities[index].properties.reverse() }
      model.sortByName()
      let once = try model.xmlData()
      XCTAssertEqual(model.versionHashesByEntityName, hashes)
      model.sortByName()
      XCTAssertEqual(try model.xmlData(), once)
      XCTAssertEqual(model.entities.map(\.name), model.entities.map(\.name).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }
  }
}
