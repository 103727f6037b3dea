import CipherDataDocuments
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Observation
import SQLCipherStore
import StoreKeys
import XCTest
import _TestSupport

/// Documents are created, opened, saved, copied and closed, and reject operations that would lose data.
@MainActor final class ManagedDocumentTests: XCTestCase {
  private let clock = ManualClock()

  func testADocumentIsAFolderThatIsCreatedClosedAndOpened() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("Library.document")
    let document = try ManagedDocument.library(url)
    XCTAssertEqual(document.documentState, .closed)
    XCTAssertThrowsError(try document.tagNames())
    try await document.save(to: url, for: .creating)
    XCTAssertEqual(document.documentState, .normal)
    document.addTag("a")
    XCTAssertTrue(document.hasUnsavedChanges)
    try document.save()
    XCTAssertFalse(document.hasUnsavedChanges)
    document.addTag("b")
    try document.close()
    XCTAssertEqual(document.documentState, .closed)
    try document.close()
    let names = folder.fileNames()
    for name in ["Info.json", "StoreContent/persistentStore", "AdditionalContent"] {
      XCTAssertTrue(names.contains("Library.document/\(name)"), name)
    }
    for name in names { XCTAssertFalse(name.hasSuffix("-wal"), "It was closed in order.") }
    let again = try await ManagedDocument.opened(url)
    XCTAssertEqual(try again.tagNames(), ["a", "b"])
    try again.close()
    // It can be opened repeatedly, with the same context.
    try await again.open()
    XCTAssertEqual(try again.tagNames(), ["a", "b"])
    again.addTag("c")
    try again.close(discardingChanges: true)
    try await again.open()
    XCTAssertEqual(try again.tagNames(), ["a", "b"])
    await assertThrows(.alreadyOpen) { try await again.open() }
    try again.close()
  }

  func testEarlierDocumentVersionIsMigratedInStages() async throws {
    func model(_ attribute: String) -> ManagedObjectModel {
      ManagedObjectModel { Entity("Note") { Attribute(attribute, .string) } }
    }
    func document(_ attribute: String, _ stages: StagedMigrationManager? = nil) throws -> ManagedDocument {
      try ManagedDocument(url: url, model: model(attribute), stagedMigrationManager: stages) {
        $0.key = ManagedDocument.testKey
        $0.durability = .fast
      }
    }
    let folder = try TemporaryFolder()
    let url = folder.file("Notes.document")
    let older = try document("name")
    try await older.save(to: url, for: .creating)
    try older.managedObjectContext.insertObject(entityName: "Note").setValue("a", forKey: "name")
    try older.close()
    let stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(model("name")), to: ManagedObjectModelReference(model("title")), label: "titles"
    ) { migration in
      try migration.forEach("Note") { old, new in try new.setValue(old["name"], forKey: "title") }
    }
    let newer = try document("title", StagedMigrationManager([stage]))
    try await newer.open()
    let notes = try newer.managedObjectContext.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
    XCTAssertEqual(try notes.map { try $0.value(forKey: "title") as? String }, ["a"])
    try newer.close()
  }

  func testCreationNeverOverwritesAndOverwritingRequiresADocument() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("Library.document")
    await assertThrows(.doesNotExist) { try await ManagedDocument.library(url).open() }
    await assertThrows(.doesNotExist) { try await ManagedDocument.library(url).save(to: url, for: .overwriting) }
    XCTAssertEqual(folder.fileNames(), [])
    let document = try await ManagedDocument.created(url)
    await assertThrows(.alreadyExists) { try await ManagedDocument.library(url).save(to: url, for: .creating) }
    await assertThrows(.alreadyExists) { try await document.save(to: url, for: .creating) }
    let file = folder.file("file")
    try Data("mine".utf8).write(to: file)
    await assertThrows(.alreadyExists) { try await document.save(to: file, for: .creating) }
    await assertThrows(.notADocument) { try await document.save(to: file, for: .overwriting) }
    await assertThrows(.doesNotExist) { try await document.save(to: folder.file("other"), for: .overwriting) }
    await assertThrows(.fileAccess) { try await document.save(to: folder.file("no/where"), for: .creating) }
    XCTAssertEqual(try Data(contentsOf: file), Data("mine".utf8))
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted(), ["Library.document", "file"])
    try document.close()
    await assertThrows(.closed) { try document.save() }
    await assertThrows(.closed) { try await document.save(to: url, for: .overwriting) }
    await assertThrows(.closed) { try await document.save(to: folder.file("other"), for: .creating) }
    // A failed creation leaves no files.
    let keyless = try ManagedDocument(url: folder.file("keyless"), model: Library.model)
    do {
      try await keyless.save(to: keyless.url, for: .creating)
      XCTFail("There is no key.")
    } catch {
      XCTAssertEqual((error as? StoreError)?.code, .keyRequired, "\(error)")
    }
    XCTAssertEqual(keyless.documentState, .closed)
    XCTAssertFalse(FileManager.default.fileExists(atPath: keyless.url.path))
  }

  func testDamagedNewerAndForeignFoldersAreDistinguished() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("Library.document")
    try await ManagedDocument.created(url).close()
    let info = url.appendingPathComponent("Info.json")
    let good = try Data(contentsOf: info)
    for damage in ["", "{", "{}", #"{"format":"other","formatVersion":1}"#, #"{"format":"CipherData document","formatVersion":1}"#] {
      try Data(damage.utf8).write(to: info)
      await assertThrows(.damagedInfo) { _ = try await ManagedDocument.opened(url) }
    }
    try Data(#"{"format":"CipherData document","formatVersion":2}"#.utf8).write(to: info)
    await assertThrows(.newerFormat) { _ = try await ManagedDocument.opened(url) }
    try FileManager.default.removeItem(at: info)
    await assertThrows(.notADocument) { _ = try await ManagedDocument.opened(url) }
    try good.write(to: info)
    try await ManagedDocument.opened(url).close()
    try FileManager.default.removeItem(at: url.appendingPathComponent("StoreContent"))
    do {
      _ = try await ManagedDocument.opened(url)
      XCTFail("Its store is missing.")
    } catch {
      XCTAssertEqual((error as? StoreError)?.code, .storeNotFound, "\(error)")
    }
  }

  func testWrongKeyThrowsTheStoreError() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("Library.document")
    try await ManagedDocument.created(url).close()
    let other = try ManagedDocument(url: url, model: Library.model) {
      $0.key = .databaseKey(SecretBytes([UInt8](repeating: 8, count: 32)))
    }
    do {
      try await other.open()
      XCTFail("The key is another one.")
    } catch {
      XCTAssertEqual((error as? StoreError)?.code, .unreadableStore, "\(error)")
    }
    XCTAssertEqual(other.documentState, .closed)
  }

  func testDocumentAutosaves() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("Library.document")
    let document = try await ManagedDocument.created(url, clock: clock)
    let changes = document.managedObjectContext.changes()
    document.addTag("a")
    document.managedObjectContext.processPendingChanges()
    try document.setAdditionalContent(Data("cover".utf8), named: "Cover.txt")
    await clock.waitForSleep(1)
    clock.advance(by: .seconds(1))
    for await change in changes where change.kind == .didSave { break }
    XCTAssertFalse(document.hasUnsavedChanges)
    let other = try await ManagedDocument.opened(url)
    XCTAssertEqual(try other.tagNames(), ["a"])
    XCTAssertEqual(try other.additionalContent(named: "Cover.txt"), Data("cover".utf8))
    try other.close()
    try document.close()
  }

  func testFailedSaveIsReportedAndRetried() async throws {
    let folder = try TemporaryFolder()
    let document = try await ManagedDocument.created(folder.file("Library.document"), clock: clock)
    var errors: [any Error] = []
    document.errorHandler = { errors.append($0) }
    let changes = document.managedObjectContext.changes()
    let tag = Tag(context: document.managedObjectContext)
    await clock.waitForSleep(1)
    clock.advance(by: .seconds(1))
    await document.wait(for: .savingError)
    XCTAssertTrue(errors.count == 1 && errors[0] is ValidationError)
    XCTAssertTrue(document.savingError is ValidationError)
    XCTAssertThrowsError(try document.close())
    XCTAssertEqual(document.documentState, .savingError)
    tag.name = "named"
    await clock.waitForSleep(2)
    clock.advance(by: .seconds(1))
    for await change in changes where change.kind == .didSave { break }
    XCTAssertEqual(document.documentState, .normal)
    XCTAssertNil(document.savingError)
    try document.close()
  }

  func testReleasedDocumentSavesAndCloses() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("Library.document")
    var document: ManagedDocument? = try await ManagedDocument.created(url)
    weak let weakDocument = document
    document?.addTag("a")
    try document?.setAdditionalContent(Data("b".utf8), named: "b")
    let states = document?.documentStates()
    document = nil
    XCTAssertNil(weakDocument)
    var seen: [DocumentState] = []
    if let states { for await state in states { seen.append(state) } }
    XCTAssertEqual(seen, [.normal])
    XCTAssertFalse(folder.fileNames().contains { $0.hasSuffix("-wal") }, "It was closed in order.")
    let again = try await ManagedDocument.opened(url)
    XCTAssertEqual(try again.tagNames(), ["a"])
    XCTAssertEqual(again.additionalContentNames, ["b"])
    try again.close()
  }

  func testAFileOfTheApplicationIsWrittenByTheSave() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("Library.document")
    let document = try await ManagedDocument.created(url)
    for name in ["", ".", "..", ".hidden", "a/b", "a\0b", String(repeating: "a", count: 300)] {
      await assertThrows(.invalidName) { try document.setAdditionalContent(Data(), named: name) }
      await assertThrows(.invalidName) { _ = try document.additionalContent(named: name) }
    }
    try document.setAdditionalContent(Data("1".utf8), named: "one")
    try document.setAdditionalContent(Data("2".utf8), named: "two")
    XCTAssertEqual(document.additionalContentNames, ["one", "two"])
    XCTAssertEqual(try document.additionalContent(named: "one"), Data("1".utf8))
    XCTAssertFalse(folder.fileNames().contains("Library.document/AdditionalContent/one"))
    try document.save()
    XCTAssertTrue(folder.fileNames().contains("Library.document/AdditionalContent/one"))
    try document.setAdditionalContent(nil, named: "one")
    XCTAssertEqual(document.additionalContentNames, ["two"])
    XCTAssertNil(try document.additionalContent(named: "one"))
    try document.close()
    XCTAssertFalse(folder.fileNames().contains("Library.document/AdditionalContent/one"))
    await assertThrows(.closed) { try document.setAdditionalContent(nil, named: "two") }
  }

  func testSaveToAnotherFolderMakesACopy() async throws {
    let folder = try TemporaryFolder()
    let (url, copy) = (folder.file("Library.document"), folder.file("Copy.document"))
    let document = try await ManagedDocument.created(url)
    document.addTag("a")
    try document.setAdditionalContent(Data("1".utf8), named: "one")
    try await document.save(to: copy, for: .creating)
    XCTAssertEqual(document.url, url)
    document.addTag("b")
    try document.save()
    let other = try await ManagedDocument.opened(copy)
    XCTAssertEqual(try other.tagNames(), ["a"])
    XCTAssertEqual(try other.additionalContent(named: "one"), Data("1".utf8))
    other.addTag("of the copy")
    try other.close()
    XCTAssertEqual(try document.tagNames(), ["a", "b"])
    await assertThrows(.alreadyExists) { try await document.save(to: copy, for: .creating) }
    try document.setAdditionalContent(nil, named: "one")
    try await document.save(to: copy, for: .overwriting)
    try await other.open()
    XCTAssertEqual(try other.tagNames(), ["a", "b"])
    XCTAssertEqual(other.additionalContentNames, [])
    // A document that is open while it is overwritten detects that.
    try await document.save(to: copy, for: .overwriting)
    other.addTag("lost?")
    await assertThrows(.replaced) { try other.save() }
    XCTAssertTrue(other.hasUnsavedChanges)
    try other.close(discardingChanges: true)
    try document.close()
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted(), ["Copy.document", "Library.document"])
  }

  func testMovedOrReplacedFolderIsDetected() async throws {
    let folder = try TemporaryFolder()
    let (url, elsewhere) = (folder.file("Library.document"), folder.file("Moved.document"))
    let document = try await ManagedDocument.created(url)
    document.addTag("a")
    try document.save()
    try FileManager.default.moveItem(at: url, to: elsewhere)
    document.addTag("b")
    await assertThrows(.moved) { try document.save() }
    XCTAssertEqual(document.documentState, [.savingError, .editingDisabled])
    XCTAssertEqual((document.savingError as? DocumentError)?.code, .moved)
    XCTAssertTrue(document.hasUnsavedChanges, "Nothing is lost.")
    try FileManager.default.moveItem(at: elsewhere, to: url)
    try document.checkFolder()
    XCTAssertFalse(document.documentState.contains(.editingDisabled))
    try document.save()
    XCTAssertEqual(document.documentState, .normal)
    try FileManager.default.moveItem(at: url, to: elsewhere)
    try await ManagedDocument.created(url).close()
    await assertThrows(.replaced) { try document.checkFolder() }
    document.addTag("c")
    await assertThrows(.replaced) { try document.close() }
    XCTAssertTrue(document.hasUnsavedChanges)
    try document.close(discardingChanges: true)
    let moved = try await ManagedDocument.opened(elsewhere)
    XCTAssertEqual(try moved.tagNames(), ["a", "b"])
    try moved.close()
  }

  func testTheStateIsObservable() async throws {
    let folder = try TemporaryFolder()
    let document = try await ManagedDocument.created(folder.file("Library.document"))
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    withObservationTracking {
      _ = document.documentState
    } onChange: {
      continuation.yield()
    }
    try document.close()
    for await _ in stream { break }
    XCTAssertEqual(document.documentState, .closed)
  }
}
