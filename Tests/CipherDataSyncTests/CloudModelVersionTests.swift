import CipherData
import CipherDataSync
import Foundation
import XCTest

/// The least version of the model that an account requires.
final class CloudModelVersionTests: CloudTestCase {
  private static func model(_ version: String?) -> ManagedObjectModel {
    ManagedObjectModel(version: version) {
      Entity("Folder") {
        Attribute("title", .string)
        Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
        if version == "2.0" { Attribute("color", .string) }
      }
      Entity("Note") {
        Attribute("text", .string)
        Attribute("rating", .integer32)
        Relationship("folder", to: "Folder", inverse: "notes").required()
      }
    }
  }

  private func device(_ name: String, _ version: String?) async throws -> PersistentCloudContainer {
    try await container(name, model: Self.model(version))
  }

  private func assertTooOld(_ container: PersistentCloudContainer, file: StaticString = #filePath, line: UInt = #line) async throws {
    do {
      try await container.synchronize()
      XCTFail("The model is too old.", file: file, line: line)
    } catch let error as SyncError { XCTAssertEqual(error.code, .modelTooOld, "\(error)", file: file, line: line) }
  }

  func testAnOlderDeviceKeepsWorkingAndContinuesWhenItIsUpdated() async throws {
    let first = try await device("one", "1")
    let key = try await first.createAccount()
    try await insertNotes(1, in: first)
    try await first.waitUntilSynced()
    let other = try await device("other", "1")
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    try first.close()

    let one = try await device("one", "2.0")
    let required = try await one.requireModelVersion()
    XCTAssertEqual(required, "2.0")
    try await insertNotes(1, in: one)
    try await one.waitUntilSynced()
    let own = try await one.status()
    XCTAssertEqual(own.requiredModelVersion, "2.0")
    XCTAssertFalse(own.isModelTooOld)

    try await assertTooOld(other)
    try await insertNotes(2, in: other)
    try await assertTooOld(other)
    var status = try await other.status()
    XCTAssertEqual(status.requiredModelVersion, "2.0")
    XCTAssertTrue(status.isModelTooOld)
    XCTAssertTrue(status.lastError?.contains("requires version 2.0 of the model, and this device has version 1") ?? false, "\(status)")
    XCTAssertEqual(status.pendingSaves, 1)
    var notes = try await count("Note", in: other)
    XCTAssertEqual(notes, 3)
    let failures = try await other.performBackgroundTask { context in
      try context.execute(.fetchEvents(after: nil)).events.compactMap { ($0.error as? SyncError)?.code }
    }
    XCTAssertEqual(failures.last, .modelTooOld)
    do {
      try await other.waitUntilSynced()
      XCTFail("It cannot be sent.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .modelTooOld) }
    try await one.synchronize()
    notes = try await count("Note", in: one)
    XCTAssertEqual(notes, 2)
    try other.close()

    // Also after a restart.
    let again = try await device("other", "1")
    try await assertTooOld(again)
    try again.close()

    let updated = try await device("other", "2.0")
    try await updated.synchronize()
    try await updated.waitUntilSynced()
    status = try await updated.status()
    XCTAssertFalse(status.isModelTooOld)
    XCTAssertNil(status.lastError)
    try await one.synchronize()
    for container in [one, updated] {
      notes = try await count("Note", in: container)
      XCTAssertEqual(notes, 4)
      let isEqual = try await container.verifyState()
      XCTAssertTrue(isEqual)
      try container.close()
    }
  }

  func testARequirementCanBeLowered() async throws {
    let one = try await device("one", "2")
    let key = try await one.createAccount()
    try await one.requireModelVersion("1.5")
    try await one.waitUntilSynced()
    let other = try await device("other", "1")
    try await insertNotes(1, in: other)
    // A device with an old model joins, and waits.
    try await other.joinAccount(recoveryKey: key)
    try await assertTooOld(other)
    let without = try await device("none", nil)
    try await without.joinAccount(recoveryKey: key)
    try await assertTooOld(without)

    let lower = try await one.requireModelVersion("1")
    XCTAssertEqual(lower, "1")
    try await one.waitUntilSynced()
    try await other.synchronize()
    try await one.synchronize()
    let notes = try await count("Note", in: one)
    XCTAssertEqual(notes, 1)
    try await assertTooOld(without)
    for container in [one, other, without] { try container.close() }
  }

  func testOnlyTheVersionOfTheModelOrAnEarlierOneCanBeRequired() async throws {
    let one = try await device("one", "2.1")
    do {
      try await one.requireModelVersion()
      XCTFail("It is not synchronized.")
    } catch let error as SyncError { XCTAssertEqual(error.code, .notSynchronized) }
    _ = try await one.createAccount()
    for (version, message) in [
      ("2.1.1", "has version 2.1, so"), ("10", "has version 2.1, so"), ("new", "“new” is not a version"), ("", "“”"),
    ] {
      do {
        try await one.requireModelVersion(version)
        XCTFail(version)
      } catch let error as SyncError {
        XCTAssertEqual(error.code, .unsupportedModel)
        XCTAssertTrue(error.message.contains(message), error.message)
      }
    }
    let same = try await one.requireModelVersion("2.1.0")
    XCTAssertEqual(same, "2.1.0")
    try one.close()
    let none = try await container([try description("none", hub: "other")], model: Self.model(nil))
    _ = try await none.createAccount()
    do {
      try await none.requireModelVersion()
      XCTFail("The model has no version.")
    } catch let error as SyncError { XCTAssertTrue(error.message.contains("has no version"), error.message) }
    try none.close()
  }
}
