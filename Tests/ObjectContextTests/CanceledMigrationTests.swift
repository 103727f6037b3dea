import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

/// A migration is part of the task that loads the store, and is canceled with it.
final class CanceledMigrationTests: XCTestCase {
  private func assertCancelled(_ message: String = "", line: UInt = #line, _ body: () async throws -> Void) async {
    do {
      try await body()
      XCTFail("not canceled \(message)", line: line)
    } catch { XCTAssertTrue(error is CancellationError, "\(error)", line: line) }
  }

  private static func cancelThisTask() { withUnsafeCurrentTask { $0?.cancel() } }

  private static func things(_ names: String...) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        name: "Thing", properties: names.map { .attribute(AttributeDescription(name: $0, type: .string, isOptional: true)) })
    ])
  }

  private static func open(_ model: ManagedObjectModel, _ description: PersistentStoreDescription) async throws -> PersistentContainer {
    let container = try PersistentContainer(name: "Things", managedObjectModel: model, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  private static func openInTask(_ model: ManagedObjectModel, _ description: PersistentStoreDescription) -> Task<Void, any Error> {
    Task.detached {
      let container = try await open(model, description)
      try container.close()
    }
  }

  func testCancelingTheTaskCancelsTheMigrationAndLeavesTheStoreUnchanged() async throws {
    let folder = try TemporaryFolder()
    let older = try await Self.open(Self.things("a"), .encrypted(in: folder))
    try await older.performBackgroundTask { context in
      for number in 0..<500 { try context.insertObject(entityName: "Thing").setValue("\(number)", forKey: "a") }
      try context.save()
    }
    try older.close()
    var description = PersistentStoreDescription.encrypted(in: folder)
    description.migrationProgress = { _ in Self.cancelThisTask() }
    let task = Self.openInTask(Self.things("a", "b"), description)
    await assertCancelled { try await task.value }
    // Cancellation by the application is the store's error.
    let cancellation = RequestCancellation()
    description.migrationCancellation = cancellation
    description.migrationProgress = { _ in cancellation.cancel() }
    do {
      try await Self.open(Self.things("a", "b"), description).close()
      XCTFail("not canceled")
    } catch { XCTAssertEqual((error as? StoreError)?.code, .cancelled, "\(error)") }
    let again = try await Self.open(Self.things("a"), .encrypted(in: folder))
    let count = try await again.performBackgroundTask { try $0.count(for: FetchRequest<ManagedObject>(entityName: "Thing")) }
    XCTAssertEqual(count, 500)
    try again.close()
  }

  /// The operations of a handler in a canceled task until it ends.
  private static let canceledHandlers: [(name: String, body: @Sendable (CustomMigration) throws -> Void)] = [
    ("check", { _ in try Task.checkCancellation() }),
    ("fetch", { while true { _ = try $0.source.fetch(FetchRequest<ManagedObject>(entityName: "Thing")) } }),
    ("count", { while true { _ = try $0.destination.count(for: FetchRequest<ManagedObject>(entityName: "Thing")) } }),
    (
      "save",
      { migration in
        while true {
          for thing in try migration.destination.fetch(FetchRequest<ManagedObject>(entityName: "Thing")) {
            try thing.setValue("\(String(describing: thing["b"]))", forKey: "b")
          }
          try migration.destination.save()
        }
      }
    ),
    ("walk", { try $0.forEach("Thing", batchSize: 10) { try $1.setValue($0["a"], forKey: "b") } }),
    ("swallowed error", { _ = try? $0.source.fetch(FetchRequest<ManagedObject>(entityName: "Thing")) }),
  ]

  func testCanceledStageThrowsCancellationAndLeavesTheStoreUnchanged() async throws {
    let folder = try TemporaryFolder()
    let (first, second) = (Self.things("a"), Self.things("a", "b"))
    let older = try await Self.open(first, .encrypted(in: folder))
    try await older.performBackgroundTask { context in
      for number in 0..<500 { try context.insertObject(entityName: "Thing").setValue("\(number)", forKey: "a") }
      try context.save()
    }
    try older.close()
    for (name, body) in Self.canceledHandlers {
      var description = PersistentStoreDescription.encrypted(in: folder)
      description.stagedMigrationManager = StagedMigrationManager([
        CustomMigrationStage(migratingFrom: ManagedObjectModelReference(first), to: ManagedObjectModelReference(second)) { migration in
          Self.cancelThisTask()
          try body(migration)
        }
      ])
      let task = Self.openInTask(second, description)
      await assertCancelled(name) { try await task.value }
      let again = try await Self.open(first, .encrypted(in: folder))
      let count = try await again.performBackgroundTask { try $0.count(for: FetchRequest<ManagedObject>(entityName: "Thing")) }
      XCTAssertEqual(count, 500, name)
      try again.close()
    }
  }
}
