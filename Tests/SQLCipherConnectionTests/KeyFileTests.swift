import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

/// A passphrase with a minimal derivation cost.
func cheap(_ text: String) -> StoreKey { .passphrase(SecretBytes(utf8: text), .cheapForTests()) }

/// Asserts that an asynchronous expression throws a `StoreAccessError` of a kind.
@discardableResult
func assertThrowsAsync<Result>(
  _ kind: StoreAccessError.Kind, file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Result
) async -> StoreAccessError? {
  do {
    _ = try await body()
    XCTFail("expected \(kind)", file: file, line: line)
  } catch let error as StoreAccessError {
    XCTAssertEqual(error.kind, kind, "\(error)", file: file, line: line)
    return error
  } catch {
    XCTFail("expected \(kind), not \(error)", file: file, line: line)
  }
  return nil
}

/// Key slots: unlocking, changes, damage, recovery keys, providers.
final class KeyFileTests: StoreTestCase {
  private func makeStore(_ key: StoreKey = cheap("one")) async throws -> StoreKeyring {
    let keyring = try await StoreKeyring.create(storePath: path, key: key, label: "first")
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (42)")
    return keyring
  }

  private func answer(_ key: StoreKey?) async throws -> Int64? {
    let keyring = try await StoreKeyring.unlock(storePath: path, key: key)
    return try Connection(opening: path, key: keyring.databaseKey()).firstInteger("SELECT a FROM t")
  }

  func testNewKeyFilesAreAccessibleOnlyToTheirOwner() async throws {
    let keyring = try await makeStore()
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
    for name in try names() {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
      XCTAssertEqual(attributes[.posixPermissions] as? Int, 0o600, name)
    }
    XCTAssertEqual(keyring.slots.map(\.label), ["first"])
    XCTAssertEqual(keyring.slots.map(\.kind), [.passphrase])
    let value = try await answer(cheap("one"))
    XCTAssertEqual(value, 42)
  }

  func testWrongKeysAreDistinguishedFromDamagedFiles() async throws {
    _ = try await makeStore()
    let before = try snapshot()
    await assertThrowsAsync(.wrongKey) { try await answer(cheap("two")) }
    await assertThrowsAsync(.wrongKey) { try await answer(.raw(SecretBytes([UInt8](repeating: 7, count: 32)))) }
    await assertThrowsAsync(.keyRequired) { try await answer(nil) }
    await assertThrowsAsync(.invalidKey(.empty)) { try await answer(cheap("")) }
    await assertThrowsAsync(.invalidKey(.length(expected: 32, found: 31))) {
      try await answer(.raw(SecretBytes([UInt8](repeating: 7, count: 31))))
    }
    XCTAssertEqual(try snapshot(), before)

    var bytes = try XCTUnwrap(before["test.store"])
    bytes[100] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    await assertThrowsAsync(.storeCorrupt(.pageMAC)) { try await answer(cheap("one")) }
    await assertThrowsAsync(.wrongKey) { try await answer(cheap("two")) }
  }

  func testEveryFlippedBitOfTheKeyFileIsDamageNotAWrongKey() async throws {
    _ = try await makeStore()
    let url = URL(fileURLWithPath: path + ".keys")
    let good = try Data(contentsOf: url)
    for index in good.indices {
      var bad = good
      bad[index] ^= 1 << UInt8(index & 7)
      try bad.write(to: url)
      do {
        _ = try await answer(cheap("one"))
        XCTFail("byte \(index) was not noticed")
      } catch let error as StoreAccessError {
        guard case .keyFileCorrupt = error.kind else { return XCTFail("byte \(index): \(error)") }
      }
    }
    for size in [0, 1, 63, 64, 100, good.count - 1] {
      try good.prefix(size).write(to: url)
      do {
        _ = try await answer(cheap("one"))
        XCTFail("size \(size) was not noticed")
      } catch let error as StoreAccessError {
        guard case .keyFileCorrupt = error.kind else { return XCTFail("size \(size): \(error)") }
      }
    }
    try FileManager.default.removeItem(at: url)
    await assertThrowsAsync(.keyFileMissing) { try await answer(cheap("one")) }
  }

  func testChangedFieldsWithACorrectedChecksumAreDetected() async throws {
    _ = try await makeStore()
    let url = URL(fileURLWithPath: path + ".keys")
    let good = [UInt8](try Data(contentsOf: url))
    for index in 12..<good.count - 32 {
      var bad = Array(good.dropLast(32))
      bad[index] ^= 1 << UInt8(index & 3)
      bad += try Cryptography.sha256(bad)
      try Data(bad).write(to: url)
      do {
        _ = try await answer(cheap("one"))
        XCTFail("byte \(index) was not noticed")
      } catch is StoreAccessError {}
    }
  }

  func testSlotsAreAddedListedAndRemoved() async throws {
    let keyring = try await makeStore()
    let raw = try XCTUnwrap(SecretBytes.random())
    let second = try await keyring.addSlot(.raw(raw), label: "machine")
    XCTAssertEqual(second.kind, .rawKey)
    var value = try await answer(.raw(raw))
    XCTAssertEqual(value, 42)
    XCTAssertEqual(try StoreKeyring.slots(at: path).map(\.label), ["first", "machine"])
    try await keyring.removeSlot(keyring.slots[0].id)
    await assertThrowsAsync(.wrongKey) { try await answer(cheap("one")) }
    value = try await answer(.raw(raw))
    XCTAssertEqual(value, 42)
    await assertThrowsAsync(.lastSlot) { try await keyring.removeSlot(second.id) }
    await assertThrowsAsync(.unknownSlot) { try await keyring.removeSlot(UUID()) }
  }

  func testChangingThePassphraseDoesNotChangeTheDatabase() async throws {
    let keyring = try await makeStore()
    let before = try snapshot()["test.store"]
    await assertThrowsAsync(.wrongKey) { try await keyring.changeKey(from: cheap("nine"), to: cheap("two")) }
    let slot = try await keyring.changeKey(from: cheap("one"), to: cheap("two"))
    XCTAssertEqual(slot.label, "first")
    XCTAssertEqual(slot.id, keyring.slots[0].id)
    XCTAssertEqual(try snapshot()["test.store"], before)
    let value = try await answer(cheap("two"))
    XCTAssertEqual(value, 42)
    await assertThrowsAsync(.wrongKey) { try await answer(cheap("one")) }
  }

  func testConcurrentKeyringsKeepEachOthersSlots() async throws {
    let first = try await makeStore()
    let second = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    _ = try await first.addSlot(cheap("two"), label: "two")
    _ = try await second.addSlot(cheap("three"), label: "three")
    XCTAssertEqual(try StoreKeyring.slots(at: path).map(\.label), ["first", "two", "three"])
    for text in ["one", "two", "three"] {
      let value = try await answer(cheap(text))
      XCTAssertEqual(value, 42)
    }
  }

  func testRecoveryKeysOpenTheStoreInAnySpelling() async throws {
    let keyring = try await makeStore()
    let (text, slot) = try await keyring.addRecoveryKey()
    XCTAssertEqual(slot.kind, .recovery)
    for typed in [text, text.lowercased(), text.replacingOccurrences(of: "-", with: " "), text.replacingOccurrences(of: "0", with: "o")] {
      let key = try XCTUnwrap(StoreKey.recoveryKey(typed))
      var value = try await answer(key)
      XCTAssertEqual(value, 42)
      value = try await answer(cheap(typed))  // typed at a passphrase prompt
      XCTAssertEqual(value, 42)
    }
    var wrong = Array(text)
    wrong[10] = wrong[10] == "7" ? "8" : "7"
    XCTAssertNil(StoreKey.recoveryKey(String(wrong)))
    assertThrows(.invalidKey(.malformed(.recoveryKeyGroup(2)))) { try RecoveryKey.parse(String(wrong)) }
    let groups = text.split(separator: "-").map(String.init)
    XCTAssertNil(StoreKey.recoveryKey(([groups[1], groups[0]] + groups[2...]).joined(separator: "-")))
  }

  func testPassphrasesAreUnicodeNormalized() async throws {
    _ = try await makeStore(cheap("gr\u{fc}n"))
    let value = try await answer(cheap("gru\u{308}n"))
    XCTAssertEqual(value, 42)
  }

  func testTheKeyFileCanBeBackedUpAndRestored() async throws {
    let keyring = try await makeStore()
    try keyring.backUpKeyFile(to: folder + "/copy.keys")
    assertThrows(.fileExists) { try keyring.backUpKeyFile(to: folder + "/copy.keys") }
    try FileManager.default.removeItem(atPath: path + ".keys")
    await assertThrowsAsync(.keyFileMissing) { try await answer(cheap("one")) }
    try FileManager.default.moveItem(atPath: folder + "/copy.keys", toPath: path + ".keys")
    let value = try await answer(cheap("one"))
    XCTAssertEqual(value, 42)
  }

  func testTheDataKeyItselfOpensTheStoreWithoutItsKeyFile() async throws {
    let keyring = try await makeStore()
    let key = try keyring.databaseKey().key
    try FileManager.default.removeItem(atPath: path + ".keys")
    let value = try await answer(.databaseKey(key))
    XCTAssertEqual(value, 42)
    await assertThrowsAsync(.unreadableStore) { try await answer(.databaseKey(SecretBytes([UInt8](repeating: 1, count: 32)))) }
    await assertThrowsAsync(.invalidKey(.length(expected: 32, found: 33))) {
      try await answer(.databaseKey(SecretBytes([UInt8](repeating: 1, count: 33))))
    }
  }

  func testCrashesBetweenStoreAndKeyFileLoseNeither() async throws {
    _ = try await makeStore()
    try FileManager.default.moveItem(atPath: path + ".keys", toPath: path + ".keys.new")
    let value = try await answer(cheap("one"))
    XCTAssertEqual(value, 42)
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
    // A new store does not overwrite the key file of a missing store.
    try FileManager.default.removeItem(atPath: path)
    await assertThrowsAsync(.keyFileExists) { try await makeStore() }
  }

  func testParametersOutsideTheRangeAreRejected() async throws {
    for log2N in [0, 14, 21] {
      do {
        _ = try await makeStore(.passphrase("weak", .scrypt(log2N: log2N)))
        XCTFail("\(log2N)")
      } catch let error as StoreAccessError {
        guard case .invalidKey(.parameters) = error.kind else { return XCTFail("\(error)") }
      }
    }
    XCTAssertEqual(try names(), [])
  }

  func testExpensiveKeyDerivationWorks() async throws {
    _ = try await makeStore(.passphrase("strong", .scrypt(log2N: 15)))
    let value = try await answer(.passphrase("strong"))
    XCTAssertEqual(value, 42)
    XCTAssertEqual(try StoreKeyring.slots(at: path).map { $0.kdf?.log2N }, [15])
  }

  // MARK: - Providers

  private final class Provider: StoreKeyProvider {
    private struct Refused: Error {}
    let answers: [SecretBytes?]
    init(_ answers: [SecretBytes?]) { self.answers = answers }

    func key(for request: StoreKeyRequest) async throws -> SecretBytes {
      await Task.yield()
      guard request.attempt <= answers.count, let answer = answers[request.attempt - 1] else { throw Refused() }
      return answer
    }
  }

  func testProviderIsCalledAgainAfterAWrongKey() async throws {
    let raw = try XCTUnwrap(SecretBytes.random())
    _ = try await makeStore(.provider(Provider([raw])))
    let wrong = SecretBytes([UInt8](repeating: 9, count: 32))
    let value = try await answer(.provider(Provider([wrong, raw])))
    XCTAssertEqual(value, 42)
    await assertThrowsAsync(.wrongKey) { try await answer(.provider(Provider([wrong, wrong, wrong]))) }
    let error = await assertThrowsAsync(.keyProviderFailed) { try await answer(.provider(Provider([nil]))) }
    XCTAssertNotNil(error?.underlying)
  }
}
