import CipherDataToolKit
import ObjectModel
import XCTest

/// The model and the sample of the demonstration.
final class DebianArchiveTests: XCTestCase {
  func testTheModelInCodeIsTheModelFile() throws {
    let file = try CompiledModel(TestStack.model("DebianArchive"))
    let code = try CompiledModel(DebianArchive.model)
    XCTAssertEqual(code.versionHashes, file.versionHashes)
    XCTAssertEqual(code.model.versionIdentifiers, file.model.versionIdentifiers)
    for entity in code.entities {
      let described = try XCTUnwrap(file.entity(named: entity.name)).entityDescription
      XCTAssertEqual(entity.entityDescription.uniquenessConstraints, described.uniquenessConstraints)
      XCTAssertEqual(entity.entityDescription.indexes, described.indexes)
      XCTAssertEqual(entity.entityDescription.attributes.map(\.validation), described.attributes.map(\.validation))
      XCTAssertEqual(entity.entityDescription.attributes.map(\.defaultValue), described.attributes.map(\.defaultValue))
      XCTAssertEqual(entity.entityDescription.relationships.map(\.deleteRule), described.relationships.map(\.deleteRule))
    }
  }

  func testTheSampleIsADozenPackages() async throws {
    let context = try await TestStack.context(DebianArchive.model)
    XCTAssertEqual(try TestStack.importIndex(DebianArchive.sample, into: context).records, 12)
  }
}
