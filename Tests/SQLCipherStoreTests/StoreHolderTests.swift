import Foundation
import ObjectModel
import ObjectStore
import StoreKeys
import XCTest
import _TestSupport

@testable import ObjectContext
@testable import SQLCipherStore

/// The error for a store in use names the containers of this process that have it open.
final class StoreHolderTests: XCTestCase {
  private static let model = ManagedObjectModel {
    Entity("Book") { Attribute("title", .string) }
    Entity("Tag") { Attribute("name", .string) }
  }
  private let key = StoreKey.databaseKey(SecretBytes([UInt8](repeating: 7, count: 32)))

  private func container(_ name: String, _ url: URL, configuration: String? = nil) async throws -> PersistentContainer {
    var model = Self.model
    if let configuration { model.configurations = [ModelConfiguration(name: configuration, entityNames: ["Book", "Tag"])] }
    var description = PersistentStoreDescription(url: url, key: key)
    description.configuration = configuration
    let container = try PersistentContainer(name: name, managedObjectModel: model, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  /// Returns the error message of a compaction attempt.
  private func message(_ url: URL) async throws -> String? {
    let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
    do {
      try await file.compact()
      return nil
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .busy)
      return error.message
    }
  }

  func testContainersWithAnOpenStoreAreListed() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("library.store")
    let library = try await container("Library", url)
    var said = try await message(url)
    XCTAssertTrue(try XCTUnwrap(said).hasSuffix(" In this process the container “Library” has it open."), said ?? "")
    let second = try await container("Importer", url)
    said = try await message(url)
    XCTAssertTrue(
      try XCTUnwrap(said).hasSuffix(" In this process the container “Library” and the container “Importer” have it open."), said ?? "")
    try library.close()
    said = try await message(url)
    XCTAssertTrue(try XCTUnwrap(said).hasSuffix(" In this process the container “Importer” has it open."), said ?? "")
    try second.close()
    said = try await message(url)
    XCTAssertNil(said, "no process has it open anymore")
  }

  func testStandaloneConfigurationsAndCoordinatorsAreListed() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("library.store")
    let library = try await container("Library", url, configuration: "Local")
    var said = try await message(url)
    XCTAssertTrue(
      try XCTUnwrap(said).hasSuffix(" In this process the container “Library” (configuration “Local”) has it open."), said ?? "")
    try library.close()
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.model)
    let store = try await coordinator.addPersistentStore(with: PersistentStoreDescription(url: url, key: key))
    said = try await message(url)
    XCTAssertTrue(try XCTUnwrap(said).hasSuffix(" In this process a coordinator without a container has it open."), said ?? "")
    // A different path to the same store.
    let link = folder.file("link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.url)
    XCTAssertEqual(StoreHolder.message(for: link.appendingPathComponent("library.store").path), StoreHolder.message(for: url.path))
    XCTAssertNil(StoreHolder.message(for: folder.file("library.store2").path))
    try coordinator.remove(store)
    XCTAssertNil(StoreHolder.message(for: url.path))
  }
}
