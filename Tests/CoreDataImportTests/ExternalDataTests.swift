import CoreDataImport
import Foundation
import ObjectModel
import XCTest
import _CoreDataFixture
import _TestSupport

/// Binary values in external files of a Core Data store. A fixture program writes the store and the files.
final class ExternalDataTests: XCTestCase {
  private static func model() throws -> CompiledModel {
    var image = AttributeDescription(name: "image", type: .binary, isOptional: true)
    image.allowsExternalBinaryDataStorage = true
    var shape = AttributeDescription(name: "shape", type: .transformable, isOptional: true)
    shape.allowsExternalBinaryDataStorage = true
    return try CompiledModel(
      ManagedObjectModel(entities: [EntityDescription(name: "Photo", properties: [.attribute(image), .attribute(shape)])]))
  }

  private func fixture() throws -> (ImportHarness, FixtureGraph) {
    let model = try Self.model()
    let graph = FixtureGraph(
      model,
      [
        FixtureObject("Photo", 1, ["image": .bytes(Data(repeating: 5, count: 100_000)), "shape": .bytes(Data(repeating: 6, count: 300))]),
        FixtureObject("Photo", 2, ["image": .bytes(Data([2, 3])), "shape": .bytes(Data())]), FixtureObject("Photo", 3),
      ])
    return (try ImportHarness(model), graph)
  }

  func testValuesInFilesAndInTheColumnAreRead() async throws {
    let (harness, graph) = try fixture()
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    let report = try await harness.importAll()
    XCTAssertEqual(report.externalFileCount, 2)
    try await harness.assertHolds(graph)
  }

  func testAMissingFileIsAnErrorThatNamesItsValue() async throws {
    let (harness, graph) = try fixture()
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    let folder = AppleFixtureWriter.externalFolder(of: harness.source)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let file = folder.appendingPathComponent(name)
      if try Data(contentsOf: file).count > 1000 { try FileManager.default.removeItem(at: file) }
    }
    let error = await assertImportFails(.missingFile) { try await harness.importAll() }
    XCTAssertEqual(error?.entityName, "Photo")
    XCTAssertEqual(error?.propertyName, "image")
    XCTAssertEqual(error?.key, 1)
    XCTAssertFalse(FileManager.default.fileExists(atPath: harness.target.path))
    XCTAssertFalse(FileManager.default.fileExists(atPath: harness.target.path + ".keys"))

    var options = CoreDataImportOptions()
    options.skipsMissing = true
    let report = try await harness.importAll(options: options)
    XCTAssertEqual(report.notes.first { $0.propertyName == "image" }?.count, 1)
    var without = graph
    without.objects[0].values["image"] = nil
    try await harness.assertHolds(without)
  }

  func testFileNamesOutsideTheFolderAreRejected() async throws {
    for name in ["../secret", "/etc/hostname", "..", ""] {
      let (harness, graph) = try fixture()
      let database = try AppleFixtureWriter(graph).write(to: harness.source)
      try database.run("UPDATE ZPHOTO SET ZIMAGE = ? WHERE Z_PK = 2", [.blob(Data([2]) + Data(name.utf8) + Data([0]))])
      database.close()
      let error = await assertImportFails(.invalidValue) { try await harness.importAll() }
      XCTAssertEqual(error?.key, 2, name)
    }
  }

  func testSymbolicLinksInTheFolderAreNotFollowed() async throws {
    let (harness, graph) = try fixture()
    let database = try AppleFixtureWriter(graph).write(to: harness.source)
    try Data("secret".utf8).write(to: harness.folder.file("secret"))
    try FileManager.default.createSymbolicLink(
      at: AppleFixtureWriter.externalFolder(of: harness.source).appendingPathComponent("link"),
      withDestinationURL: harness.folder.file("secret"))
    try database.run("UPDATE ZPHOTO SET ZIMAGE = ? WHERE Z_PK = 2", [.blob(Data([2]) + Data("link".utf8) + Data([0]))])
    database.close()
    do {
      try await harness.importAll()
      XCTFail("the link was followed")
    } catch {}
    XCTAssertFalse(FileManager.default.fileExists(atPath: harness.target.path))
  }

  func testValuesWithoutAMarkerAreImportedUnchangedAndReported() async throws {
    let (harness, graph) = try fixture()
    let database = try AppleFixtureWriter(graph).write(to: harness.source)
    try database.run("UPDATE ZPHOTO SET ZIMAGE = ? WHERE Z_PK = 2", [.blob(Data([9, 9]))])
    database.close()
    let report = try await harness.importAll()
    XCTAssertEqual(report.notes.filter { $0.propertyName == "image" }.map(\.count), [1])
    var changed = graph
    changed.objects[1].values["image"] = .bytes(Data([9, 9]))
    try await harness.assertHolds(changed)
  }

  func testTransformedValuesMayBeConverted() async throws {
    let (harness, graph) = try fixture()
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    var options = CoreDataImportOptions()
    options.transformableConversion = { entity, attribute, data in Data("\(entity).\(attribute):\(data.count)".utf8) }
    let report = try await harness.importAll(options: options)
    XCTAssertEqual(report.notes, [])
    var changed = graph
    changed.objects[0].values["shape"] = .bytes(Data("Photo.shape:300".utf8))
    changed.objects[1].values["shape"] = .bytes(Data("Photo.shape:0".utf8))
    try await harness.assertHolds(changed)
  }
}
