import Foundation
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Stores under model documents that resemble those of public applications.
final class DocumentStoreTests: XCTestCase {
  func testAStoreOpensUnderEveryVersionOfEveryDocument() throws {
    let folder = Fixtures.repository.appendingPathComponent("Tests/ObjectModelTests/Documents")
    let bundles = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).filter {
      $0.pathExtension == "xcdatamodeld"
    }
    XCTAssertEqual(bundles.count, 12)
    for bundle in bundles {
      for version in try VersionedModel(contentsOf: bundle).versions {
        let store = try TestStore()
        let model = try CompiledModel(version.model)
        try store.open(model).close()
        // The indexes that an old document requests are built.
        let asked = version.model.entities.flatMap { entity in entity.attributes.filter(\.isIndexed).map { (entity.name, $0.name) } }
        let built = try store.ddl().filter { $0.hasPrefix("CREATE INDEX") || $0.hasPrefix("CREATE UNIQUE INDEX") }
        for (entity, name) in asked { XCTAssertTrue(built.contains { $0.contains("\"\(name)\"") }, "\(version.name): \(entity).\(name)") }
        try store.open(model).close()
      }
    }
  }
}
