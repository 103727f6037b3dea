import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Contexts save automatically some time after the last change, and errors lose nothing.
@MainActor final class AutosaveTests: XCTestCase {
  private let clock = ManualClock()

  private func container() async throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Library", managedObjectModel: Library.model, classes: Library.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return container
  }

  /// The number of tags in the store.
  private func storedTags(_ container: PersistentContainer) throws -> Int {
    try container.newBackgroundContext().count(for: FetchRequest<Tag>(entityName: "Tag"))
  }

  private func nextSave(_ changes: AsyncStream<ContextChange>) async {
    for await change in changes where change.kind == .didSave { return }
  }

  func testContextIsSavedAfterADelay() async throws {
    let container = try await container()
    let context = container.viewContext
    let changes = context.changes()
    let autosave = context.startAutosaving(after: .seconds(5), clock: clock) { XCTFail("\($0)") }
    // The event ends without an explicit call.
    let tag = Tag(context: context)
    tag.name = "a"
    await clock.waitForSleep(1)
    clock.advance(by: .seconds(3))
    tag.name = "b"
    context.processPendingChanges()
    clock.advance(by: .seconds(3))
    // Three seconds after the last change, the first delay ends, and the autosave sleeps again.
    await clock.waitForSleep(2)
    XCTAssertTrue(context.hasChanges)
    XCTAssertEqual(try storedTags(container), 0)
    clock.advance(by: .seconds(2))
    await nextSave(changes)
    XCTAssertFalse(context.hasChanges)
    XCTAssertEqual(try storedTags(container), 1)
    // Then it waits for nothing, until the next change.
    tag.name = "c"
    await clock.waitForSleep(3)
    clock.advance(by: .seconds(5))
    await nextSave(changes)
    XCTAssertFalse(context.hasChanges)
    withExtendedLifetime(autosave) {}
  }

  func testErrorReachesTheHandlerAndChangesAreRetried() async throws {
    let container = try await container()
    let context = container.viewContext
    let changes = context.changes()
    let (errors, continuation) = AsyncStream.makeStream(of: String.self)
    let autosave = context.startAutosaving(after: .seconds(1), clock: clock) { continuation.yield("\(type(of: $0))") }
    let tag = Tag(context: context)
    await clock.waitForSleep(1)
    clock.advance(by: .seconds(1))
    // The tag lacks its required name.
    for await error in errors {
      XCTAssertEqual(error, "ValidationError")
      break
    }
    XCTAssertEqual(clock.sleepCount, 1, "There is no retry before the next change.")
    XCTAssertEqual(context.insertedObjects, [tag])
    tag.name = "named"
    await clock.waitForSleep(2)
    clock.advance(by: .seconds(1))
    await nextSave(changes)
    XCTAssertEqual(try storedTags(container), 1)
    withExtendedLifetime(autosave) {}
  }

  func testEndingSavesRemainingChanges() async throws {
    let container = try await container()
    let context = container.viewContext
    let autosave = context.startAutosaving(after: .seconds(1), clock: clock) { XCTFail("\($0)") }
    Tag(context: context).name = "a"
    autosave.end()
    XCTAssertEqual(try storedTags(container), 1)
    Tag(context: context).name = "b"
    context.processPendingChanges()
    autosave.end()
    XCTAssertEqual(try storedTags(container), 1, "It has ended before.")
    // Releasing the autosave ends it.
    var other: Autosave? = context.startAutosaving(after: .seconds(1), clock: clock) { XCTFail("\($0)") }
    XCTAssertEqual(try storedTags(container), 1)
    withExtendedLifetime(other) {}
    other = nil
    XCTAssertEqual(try storedTags(container), 2)
  }

  func testChangeRetainsItsContextUntilSaved() async throws {
    let container = try await container()
    var context: ManagedObjectContext? = container.newBackgroundContext()
    weak let weakContext = context
    let changes = try XCTUnwrap(context).changes()
    let autosave = context?.startAutosaving(after: .seconds(1), clock: clock) { XCTFail("\($0)") }
    try XCTUnwrap(context).perform { _ = try context?.make("Tag", ["name": "a"]) }
    context = nil
    await clock.waitForSleep(1)
    XCTAssertNotNil(weakContext)
    clock.advance(by: .seconds(1))
    await nextSave(changes)
    XCTAssertEqual(try storedTags(container), 1)
    withExtendedLifetime(autosave) {}
  }

  func testActorContextIsSavedBetweenOperations() async throws {
    let container = try await container()
    let library = ContextActor(container: container)
    let changes = await library.perform { $0.changes() }
    await library.startAutosaving(after: .seconds(1), clock: clock) { XCTFail("\($0)") }
    await library.perform { Tag(context: $0).name = "a" }
    await clock.waitForSleep(1)
    // The delay ends while a suspended operation has made one of its two changes.
    await library.perform { [clock] context in
      Tag(context: context).name = "b"
      clock.advance(by: .seconds(1))
      await Task.yield()
      XCTAssertTrue(context.hasChanges)
      Tag(context: context).name = "c"
    }
    // If the save has not started to wait for the actor by then, it waits for the delay after the second change.
    clock.advance(by: .seconds(1))
    await nextSave(changes)
    XCTAssertEqual(try storedTags(container), 3)
    await library.perform { Tag(context: $0).name = "d" }
    try await library.stopAutosaving()
    XCTAssertEqual(try storedTags(container), 4)
  }
}
