import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A commit that fails after all its files are written, while other saves wait with files of their own.
final class ExternalCommitTests: XCTestCase {
  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Film") {
        Attribute("title", .string)
        Attribute("poster", .binary).externalStorage()
        Relationship("director", to: "Person", inverse: "films")
      }
      Entity("Person") {
        Attribute("name", .string)
        Relationship("films", toMany: "Film", inverse: "director")
      }
    }
    guard let compiled = try? CompiledModel(model) else { preconditionFailure("\(model.validationIssues())") }
    return compiled
  }()

  /// Inserts films with a reference to a person that does not exist. The database detects it at commit.
  private func failToCommit(_ store: OpenStore) throws {
    let context = store.newContext()
    _ = try context.execute(BatchInsertRequest(entityName: "Person", objects: [["name": "P"]]))
    let person = try XCTUnwrap(context.all("Person").first)
    let film = try context.insert("Film", ["title": "A", "poster": FilmStore.bytes(200_000)])
    try film.setValue(person, forKey: "director")
    _ = try store.newContext().execute(BatchDeleteRequest(entityName: "Person"))
    XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is StoreError, "\($0)") }
    XCTAssertEqual(try store.count("Film"), 0)
  }

  func testFailedCommitLeavesNoFile() async throws {
    let films = try FilmStore()
    let store = try films.open(Self.model) { $0.enforcesForeignKeys = true }
    try failToCommit(store)
    XCTAssertEqual(films.files(), [])
    XCTAssertFalse(films.isPending)
    try store.close()
  }

  func testFailedCommitDuringConcurrentSavesLeavesNoFile() async throws {
    let films = try FilmStore()
    let store = try films.open(Self.model) { $0.enforcesForeignKeys = true }
    do {
      let writer = try store.store.makeExternalDataWriter()
      try writer.write(FilmStore.bytes(150_000))
      let value = try writer.finish()
      try failToCommit(store)
      // Sweeping must not remove a file of a waiting save.
      XCTAssertEqual(try value.data(), FilmStore.bytes(150_000))
    }
    XCTAssertEqual(films.files(), [])
    XCTAssertFalse(films.isPending)
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }
}
