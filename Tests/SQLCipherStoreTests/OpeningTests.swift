import Foundation
import ObjectModel
import ObjectStore
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherConnection
@testable import SQLCipherStore

/// Creating and opening stores, and every reason why opening fails.
final class OpeningTests: XCTestCase {
  private let passphrase = StoreKey.passphrase("correct horse", .cheapForTests())

  private func error(_ description: PersistentStoreDescription, _ model: CompiledModel = SpecificationModels.library) -> StoreError? {
    do {
      try OpenStore(description, model: model).close()
      XCTFail("It opened.")
      return nil
    } catch {
      return error as? StoreError
    }
  }

  func testStoreReopensOnlyWithItsPassphrase() throws {
    let store = try TestStore()
    var description = store.description
    description.key = passphrase
    var open = try OpenStore(description, model: SpecificationModels.library)
    let identifier = open.persistentStore.identifier
    let tag = try open.insert("Tag", ["name": .text("red")])
    try open.close()
    open = try OpenStore(description, model: SpecificationModels.library)
    XCTAssertEqual(open.persistentStore.identifier, identifier)
    XCTAssertEqual(try open.value(tag, "name"), .text("red"))
    try open.close()
    description.key = .passphrase("wrong", .cheapForTests())
    XCTAssertEqual(error(description)?.code, .wrongKey)
    description.key = nil
    XCTAssertEqual(error(description)?.code, .keyRequired)
  }

  func testTheModelAndAnUnlockedKeyAreReadFromTheFile() throws {
    let store = try TestStore()
    var description = store.description
    description.key = passphrase
    try OpenStore(description, model: SpecificationModels.assets).close()
    let url = store.url
    let key = passphrase
    let (model, unlocked) = try waitFor {
      let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
      return (try await file.readModel(), file.key)
    }
    XCTAssertEqual(try CompiledModel(model).versionHashes, SpecificationModels.assets.versionHashes)
    XCTAssertNotNil(unlocked.unlockedKeyring(for: url.path))
    description.key = unlocked
    let open = try OpenStore(description, model: CompiledModel(model))
    XCTAssertEqual(try open.count("Photo"), 0)
    try open.close()
    description.url = store.folder.file("other.store")
    XCTAssertEqual(error(description)?.code, .keyProviderFailed, "an unlocked key is valid for its own store only")
  }

  func testDifferingModelIsReported() throws {
    let store = try TestStore()
    try store.open().close()
    var description = store.description
    description.shouldMigrateStoreAutomatically = false
    let error = error(description, SpecificationModels.assets)
    XCTAssertEqual(error?.code, .migrationNeeded)
    XCTAssertTrue(error?.differingEntities.contains("Photo") ?? false)
    XCTAssertTrue(error?.differingEntities.contains("Author") ?? false)
    try store.open().close()
  }

  func testANewerFormatIsRejected() throws {
    let store = try TestStore()
    try store.open().close()
    try store.execute("UPDATE cipherdata_metadata SET format = 99")
    XCTAssertEqual(error(store.description)?.code, .unsupportedFormat)
    try store.execute("ALTER TABLE cipherdata_metadata RENAME TO old; CREATE TABLE cipherdata_metadata (id INTEGER PRIMARY KEY, format)")
    try store.execute("INSERT INTO cipherdata_metadata VALUES (1, \(MetadataTable.formatVersionWithHistory + 1))")
    XCTAssertEqual(error(store.description)?.code, .unsupportedFormat, "even when its metadata looks otherwise")
  }

  func testADatabaseWithoutAStoreInItIsRejected() throws {
    let store = try TestStore()
    try store.open().close()
    try store.execute("DROP TABLE cipherdata_metadata")
    XCTAssertEqual(error(store.description)?.code, .notAStore)
  }

  func testAStoreWhoseCreationWasInterruptedIsCreatedAgain() throws {
    let store = try TestStore()
    let path = store.url.path
    let keyring = try waitFor { try await StoreKeyring.create(storePath: path, key: TestStore.key) }
    keyring.close()
    let open = try store.open()
    try open.insert("Tag", ["name": .text("red")])
    XCTAssertEqual(try open.count("Tag"), 1)
  }

  func testMissingStoreIsNotCreatedIfTheDescriptionForbidsIt() throws {
    let store = try TestStore()
    var description = store.description
    description.createsStore = false
    XCTAssertEqual(error(description)?.code, .storeNotFound)
    description.createsStore = true
    description.isReadOnly = true
    XCTAssertEqual(error(description)?.code, .storeNotFound)
    XCTAssertEqual(store.folder.fileNames(), [])
  }

  func testReadOnlyStoreCanBeReadButNotWritten() throws {
    let store = try TestStore()
    let writable = try store.open()
    let tag = try writable.insert("Tag", ["name": .text("red")])
    try writable.close()
    var description = store.description
    description.isReadOnly = true
    let open = try OpenStore(description, model: SpecificationModels.library)
    XCTAssertEqual(try open.value(tag, "name"), .text("red"))
    assertStoreError(.readOnly) { try open.newID("Tag") }
    assertStoreError(.readOnly) { try open.store.setUserMetadata(["a": "b"]) }
    let save = open.newSave()
    try save.update(tag, ["name": .text("blue")])
    assertStoreError(.readOnly) { try save.commit() }
  }

  func testOtherFilesAndFoldersAreDistinguishedFromAStore() throws {
    let store = try TestStore()
    try Data("SQLite format 3\0".utf8 + [UInt8](repeating: 0, count: 4_080)).write(to: store.url)
    XCTAssertEqual(error(store.description)?.code, .notEncrypted)
    var description = store.description
    description.url = store.folder.url
    XCTAssertEqual(error(description)?.code, .notAStore)
  }

  func testUserMetadataSurvivesReopening() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.persistentStore.setUserMetadata(["cursor": "42", "": "\u{0}\"é"])
    try open.close()
    let metadata = try store.open().persistentStore.metadata
    XCTAssertEqual(metadata.userMetadata, ["cursor": "42", "": "\u{0}\"é"])
  }

  func testRequestsToAClosedStoreThrow() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.close()
    assertStoreError(.noOpenStore) { try open.count("Tag") }
  }

  func testOpeningReadsTheMetadataOnly() throws {
    for isTracked in [false, true] {
      let store = try TestStore()
      var description = store.description
      (description.historyTracking, description.tracksObjectIdentity) = (isTracked ? true : nil, isTracked ? true : nil)
      try OpenStore(description, model: SpecificationModels.library).close()
      let texts = Mutex<[String]>([])
      description = store.description
      description.sqlObserver = SQLObserver { statement in texts.withLock { $0.append(statement.text) } }
      func pages(_ body: () throws -> Void) rethrows -> UInt64 {
        let before = PageGuard.readCount
        try body()
        return PageGuard.readCount - before
      }
      let read = try pages { try OpenStore(description, model: SpecificationModels.library).close() }
      let statements = texts.withLock { $0.filter { $0.contains("cipherdata_") } }
      let readsTables = statements.contains { !$0.contains(" FROM cipherdata_metadata WHERE id = 1") }
      XCTAssertFalse(readsTables, "\(statements)")
      // A store with a history also reads the components, the hashes and the history's IDs in the layout.
      XCTAssertEqual(statements.count, isTracked ? 5 : 1, "\(statements)")
      // The lineage is not read.
      try store.execute("DROP TABLE cipherdata_lineage")
      XCTAssertEqual(try pages { try OpenStore(description, model: SpecificationModels.library).close() }, read)
    }
  }

  func testReorderedPropertiesUseTheStoredLayout() throws {
    typealias Models = SpecificationModels
    let store = try TestStore()
    let first = try store.open(Models.frozen([Models.entity("Book", [Models.text("title"), Models.integer("year"), Models.text("isbn")])]))
    let id = try first.insert("Book", ["title": .text("t"), "year": .int(1), "isbn": .text("i")])
    try first.close()
    let second = try store.open(
      Models.frozen([Models.entity("Book", [Models.text("isbn"), Models.integer("year"), Models.text("title")])]))
    let same = ManagedObjectID(space: second.scope.objectIDSpace.number, entityNumber: 0, key: id.key)
    XCTAssertEqual(try second.value(same, "title"), .text("t"))
    XCTAssertEqual(try second.value(same, "isbn"), .text("i"))
    try second.save { try $0.update(same, ["title": .text("new")]) }
    XCTAssertEqual(try second.value(same, "title"), .text("new"))
  }
}
