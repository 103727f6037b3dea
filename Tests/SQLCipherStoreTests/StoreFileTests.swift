import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Keys, copies, verification and statistics of a store's file.
final class StoreFileTests: XCTestCase {
  private let passphrase = StoreKey.passphrase("correct horse", .cheapForTests())

  private func store() throws -> TestStore {
    let store = try TestStore()
    var description = store.description
    description.key = passphrase
    let open = try OpenStore(description, model: SpecificationModels.assets)
    try open.save { save in
      for index in 0..<3 { try save.insert("Photo", ["name": .text("photo \(index)"), "code": .text("p\(index)")]) }
      try save.insert("Clip", ["name": .text("clip"), "start": .int(1)])
      try save.insert("Note", ["body": .text("marker of a plain text")])
    }
    try open.close()
    return store
  }

  private func unlock(_ url: URL, _ key: StoreKey) throws -> SQLCipherStoreFile {
    try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key) }
  }

  private func count(_ entity: String, _ url: URL, _ key: StoreKey) throws -> Int {
    let open = try OpenStore(PersistentStoreDescription(url: url, key: key), model: SpecificationModels.assets)
    defer { try? open.close() }
    return try open.count(entity)
  }

  func testStoreStatistics() throws {
    let store = try store()
    let file = try unlock(store.url, passphrase)
    let information = try waitFor { try await file.information() }
    XCTAssertEqual(
      information.entityCounts.map { "\($0.entityName) \($0.count)" },
      ["Asset 0", "Clip 1", "Document 0", "Letter 0", "Note 1", "Photo 3", "Video 0"])
    XCTAssertEqual(information.formatVersion, 2)
    XCTAssertEqual(information.encryption, .portable)
    XCTAssertEqual(information.journalMode, "wal")
    XCTAssertEqual(information.keySlots.count, 1)
    XCTAssertGreaterThan(information.fileSize, 0)
    XCTAssertEqual(information.fileSize, information.pageCount * 4_096)
    XCTAssertFalse(information.sqlcipherVersion.isEmpty)
  }

  func testUndamagedStorePassesVerification() throws {
    let store = try store()
    let file = try unlock(store.url, passphrase)
    XCTAssertEqual(try waitFor { try await file.verify(.quick) }, [])
    XCTAssertEqual(try waitFor { try await file.verify(.full) }, [])
  }

  func testVerificationFindsADamagedPage() throws {
    let store = try store()
    let handle = try FileHandle(forUpdating: store.url)
    try handle.seek(toOffset: 4_096 * 3 + 100)
    try handle.write(contentsOf: Data([1, 2, 3, 4]))
    try handle.close()
    let file = try unlock(store.url, passphrase)
    XCTAssertFalse(try waitFor { try await file.verify(.full) }.isEmpty)
  }

  func testKeysAreAddedChangedAndRemoved() throws {
    let store = try store()
    let file = try unlock(store.url, passphrase)
    let second = StoreKey.raw(SecretBytes([UInt8](repeating: 9, count: 32)))
    let third = StoreKey.passphrase("battery staple", .cheapForTests())
    let passphrase = passphrase
    let recovery = try waitFor {
      try await file.addKey(second, label: "second")
      try await file.changeKey(from: passphrase, to: third)
      return try await file.addRecoveryKey().text
    }
    XCTAssertEqual(try SQLCipherStoreFile.keySlots(at: store.url).map(\.label), ["", "second", "Recovery key"])
    XCTAssertEqual(try count("Photo", store.url, second), 3)
    XCTAssertEqual(try count("Photo", store.url, third), 3)
    XCTAssertEqual(try count("Photo", store.url, try XCTUnwrap(StoreKey.recoveryKey(recovery))), 3)
    assertStoreError(.wrongKey) { try count("Photo", store.url, passphrase) }
    try waitFor { for slot in file.keySlots.dropLast() { try await file.removeKey(slot.id) } }
    assertStoreError(.wrongKey) { try count("Photo", store.url, second) }
    assertStoreError(.invalidRequest) { try waitFor { try await file.removeKey(file.keySlots[0].id) } }
  }

  func testTheDataKeyIsRotated() throws {
    let store = try store()
    let before = try Data(contentsOf: store.url)
    let file = try unlock(store.url, passphrase)
    try waitFor { try await file.rotateDataKey() }
    XCTAssertNotEqual(try Data(contentsOf: store.url).prefix(16), before.prefix(16))
    XCTAssertEqual(try count("Photo", store.url, passphrase), 3)
  }

  func testBackupsOpenWithTheSameKeysOrAnother() throws {
    let store = try store()
    let file = try unlock(store.url, passphrase)
    let (same, other) = (store.folder.file("same.store"), store.folder.file("other.store"))
    let key = StoreKey.raw(SecretBytes([UInt8](repeating: 3, count: 32)))
    try waitFor {
      try await file.backUp(to: same)
      try await file.backUp(to: other, key: key)
    }
    XCTAssertEqual(try count("Photo", same, passphrase), 3)
    XCTAssertEqual(try count("Clip", other, key), 1)
    assertStoreError(.wrongKey) { try count("Clip", other, passphrase) }
    assertStoreError(.alreadyExists) { try waitFor { try await file.backUp(to: same) } }
  }

  func testStoreIsDecryptedAndReencrypted() throws {
    let store = try store()
    let file = try unlock(store.url, passphrase)
    let (plain, back) = (store.folder.file("plain.sqlite"), store.folder.file("back.store"))
    try waitFor { try await file.exportPlaintext(to: plain) }
    XCTAssertNotNil(try Data(contentsOf: plain).range(of: Data("marker of a plain text".utf8)))
    let key = passphrase
    let imported = try waitFor { try await SQLCipherStoreFile.importPlaintext(from: plain, to: back, key: key) }
    XCTAssertEqual(try count("Photo", back, imported.key), 3)
    XCTAssertNil(try Data(contentsOf: back).range(of: Data("marker of a plain text".utf8)))
  }

  func testPlaintextDatabaseWithoutAStoreIsRejected() throws {
    let store = try store()
    let (plain, back) = (store.folder.file("plain.sqlite"), store.folder.file("back.store"))
    let file = try unlock(store.url, passphrase)
    let connection = try Connection(opening: store.url.path, key: try file.keyring.databaseKey())
    try connection.execute("DROP TABLE cipherdata_metadata")
    connection.close()
    try waitFor { try await file.exportPlaintext(to: plain) }
    let key = passphrase
    assertStoreError(.notAStore) { try waitFor { try await SQLCipherStoreFile.importPlaintext(from: plain, to: back, key: key) } }
    XCTAssertFalse(store.folder.fileNames().contains { $0.hasPrefix("back.store") })
  }
}
