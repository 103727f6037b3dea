import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Contexts in their isolations (row C15).
final class ConcurrencyTests: XCTestCase {
  private func container() async throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Library", managedObjectModel: Library.model, classes: Library.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return container
  }

  private func encryptedContainer(_ folder: TemporaryFolder) async throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Library", managedObjectModel: Library.model, classes: Library.classes,
      persistentStoreDescriptions: [.encrypted(in: folder)])
    try await container.loadPersistentStores()
    return container
  }

  func testABackgroundTaskReturnsValuesAndThrowsErrors() async throws {
    let container = try await container()
    let id = try await container.performBackgroundTask { context in
      let author = Author(context: context)
      author.name = "A"
      try context.save()
      return author.objectID
    }
    XCTAssertFalse(id.isTemporaryID)
    let name = try await container.performBackgroundTask { try ($0.existingObject(with: id) as? Author)?.name }
    XCTAssertEqual(name, "A")
    do {
      try await container.performBackgroundTask { context in
        _ = Author(context: context)
        try context.save()
      }
      XCTFail("a required name is missing")
    } catch let error as ValidationError {
      XCTAssertEqual(error.code, .missingValue)
    }
  }

  func testEachBackgroundTaskHasItsOwnContextAndDiscardsUnsavedChanges() async throws {
    let container = try await container()
    try await container.performBackgroundTask { context in Author(context: context).name = "lost" }
    let count = try await container.performBackgroundTask { context in
      XCTAssertFalse(context.hasChanges)
      return try context.count(for: FetchRequest<ManagedObject>(entityName: "Author"))
    }
    XCTAssertEqual(count, 0)
  }

  func testManyTasksWriteConcurrently() async throws {
    let folder = try TemporaryFolder()
    let container = try await encryptedContainer(folder)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<8 {
        group.addTask {
          for round in 0..<10 {
            try await container.performBackgroundTask { context in
              let author = Author(context: context)
              author.name = "\(writer)-\(round)"
              let book = Book(context: context)
              (book.title, book.author) = ("T", author)
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let names = try await container.performBackgroundTask { try $0.all(Author.self).map { "\($0.name) \($0.books.count)" } }
    XCTAssertEqual(Set(names).count, 80)
    XCTAssertTrue(names.allSatisfy { $0.hasSuffix(" 1") })
    try container.close()
  }

  func testReadersSeeCompleteSavesDuringWrites() async throws {
    let folder = try TemporaryFolder()
    let container = try await encryptedContainer(folder)
    try await container.performBackgroundTask { context in
      for _ in 0..<2 { Author(context: context).name = "0" }
      try context.save()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for round in 1...40 {
          try await container.performBackgroundTask { context in
            for author in try context.all(Author.self) { author.name = "\(round)" }
            try context.save()
          }
        }
      }
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<40 {
            let names = try await container.performBackgroundTask { try $0.all(Author.self).map(\.name) }
            XCTAssertEqual(Set(names).count, 1, "\(names)")
          }
        }
      }
      try await group.waitForAll()
    }
    try container.close()
  }

  func testAContextActorKeepsItsObjectsBetweenCalls() async throws {
    let container = try await container()
    let library = ContextActor(container: container)
    let id = try await library.perform { context in
      let author = Author(context: context)
      author.name = "A"
      try context.save()
      author.name = "B"
      return author.objectID
    }
    let state = try await library.perform { context in
      (context.hasChanges, try (context.existingObject(with: id) as? Author)?.name)
    }
    XCTAssertTrue(state.0)
    XCTAssertEqual(state.1, "B")
    let stored = try await container.performBackgroundTask { try $0.all(Author.self).map(\.name) }
    XCTAssertEqual(stored, ["A"])
  }

  func testContextActorRunsOperationsSerially() async throws {
    let container = try await container()
    let library = ContextActor(container: container)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask {
          try await library.perform { context in
            Author(context: context).name = "\(number)"
            try context.save()
          }
        }
      }
      try await group.waitForAll()
    }
    let count = try await library.perform { try $0.all(Author.self).count }
    XCTAssertEqual(count, 50)
  }

  func testContextActorRunsOperationsEnqueuedAsAnotherEnds() async throws {
    let library = ContextActor(container: try await container())
    let done = expectation(description: "every task has run")
    Task.detached {
      // The next block finds a waiter that was missed, so only two blocks run.
      for _ in 0..<2_000 {
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<2 { group.addTask { await library.perform { _ in await Task.yield() } } }
        }
      }
      done.fulfill()
    }
    await fulfillment(of: [done], timeout: 60)
  }

  func testViewContextIsUniqueAndSeesOtherSaves() async throws {
    let container = try await container()
    let id = try await container.performBackgroundTask { context in
      let author = Author(context: context)
      author.name = "A"
      try context.save()
      return author.objectID
    }
    try await Self.checkOnMain(container, id)
  }

  @MainActor private static func checkOnMain(_ container: PersistentContainer, _ id: ManagedObjectID) throws {
    let context = container.viewContext
    XCTAssertTrue(context === container.viewContext)
    XCTAssertEqual(try (context.existingObject(with: id) as? Author)?.name, "A")
    try context.make("Tag", ["name": "t"])
    try context.save()
    XCTAssertEqual(try context.objects("Tag").count, 1)
  }

  func testNewBackgroundContextBelongsToTheCaller() async throws {
    let container = try await container()
    let names = try await withThrowingTaskGroup(of: [String].self) { group in
      for number in 0..<4 {
        group.addTask {
          let context = container.newBackgroundContext()
          Author(context: context).name = "\(number)"
          try context.save()
          return context.insertedObjects.isEmpty ? ["\(number)"] : []
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    XCTAssertEqual(names.sorted(), ["0", "1", "2", "3"])
  }

  func testPerformRunsSynchronouslyAndRethrows() async throws {
    struct Stop: Error {}
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let tag = try context.perform { try context.make("Tag", ["name": "a"]) }
      XCTAssertTrue(tag.isInserted)
      XCTAssertThrowsError(try context.perform { throw Stop() })
      XCTAssertEqual(context.perform { context.perform { 4 } }, 4)
    }
  }

  func testAContainerOpensItsStoresOnceAndClosesThem() async throws {
    let folder = try TemporaryFolder()
    let container = try await encryptedContainer(folder)
    try await container.loadPersistentStores()
    XCTAssertEqual(container.persistentStoreCoordinator.persistentStores.count, 1)
    try await container.performBackgroundTask { context in
      Author(context: context).name = "A"
      try context.save()
    }
    try container.close()
    XCTAssertEqual(container.persistentStoreCoordinator.persistentStores.count, 0)
    try await container.loadPersistentStores()
    let names = try await container.performBackgroundTask { try $0.all(Author.self).map(\.name) }
    XCTAssertEqual(names, ["A"])
    try container.close()
  }
}
