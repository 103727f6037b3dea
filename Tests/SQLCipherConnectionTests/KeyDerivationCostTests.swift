import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// The derivation cost that a key file may demand before it is authenticated.
final class KeyDerivationCostTests: StoreTestCase {
  private func makeStore() async throws -> StoreKeyring {
    try await StoreKeyring.create(storePath: path, key: cheap("one"), label: "first")
  }

  /// Adds slots as an attacker without a key can: with any cost, and a valid checksum.
  private func addForeignSlots(_ costs: [UInt8], label: String = "theirs", inFront: Bool = true) throws {
    var file = try KeyFile(parsing: KeyFileStorage.read(path + ".keys"), path: path + ".keys")
    for cost in costs {
      var slot = file.slots[inFront ? file.slots.count - 1 : 0]
      slot.id = UUID()
      slot.log2N = cost
      slot.label = label
      file.slots.insert(slot, at: inFront ? 0 : file.slots.count)
    }
    file.tableBox = [UInt8](repeating: 0, count: 64 * file.slots.count + Cryptography.tagSize)
    try KeyFileStorage.write(file.serialized(), to: path + ".keys")
  }

  func testExpensiveForeignSlotsAreNotTriedAndDoNotBlockOpening() async throws {
    _ = try await makeStore()
    try addForeignSlots([20, 20, 20])
    // The genuine slot opens, which proves that the file was changed. No expensive derivation ran.
    do {
      _ = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
      XCTFail("a changed key file opens")
    } catch let error as StoreAccessError {
      guard case .keyFileCorrupt = error.kind else { return XCTFail("\(error)") }
    }
  }

  func testErrorNamesTheSlotAndTheRequiredLimit() async throws {
    _ = try await makeStore()
    try addForeignSlots([20], label: "anna")
    do {
      _ = try await StoreKeyring.unlock(storePath: path, key: cheap("two"))
      XCTFail("a wrong key opens")
    } catch let error as StoreAccessError {
      guard case .keyWorkExceeded(let slot, let needed, false) = error.kind else { return XCTFail("\(error)") }
      XCTAssertEqual(slot, "1 “anna” (scrypt, N = 2^20: 1024 MiB)")
      // The cheap slot of the test counts too.
      XCTAssertEqual(needed, 9)
      for part in ["anna", "a key work of 9"] { XCTAssertTrue("\(error)".contains(part), "\(error)") }
    }
  }

  func testKeysOfAProviderShareOneLimit() async throws {
    final class Provider: StoreKeyProvider {
      func key(for request: StoreKeyRequest) async throws -> SecretBytes { SecretBytes(utf8: "wrong \(request.attempt)") }
    }
    _ = try await StoreKeyring.create(storePath: path, key: .passphrase("one", .scrypt(log2N: 15)))
    do {
      // Each slot takes a quarter: three need a limit of one.
      _ = try await StoreKeyring.unlock(storePath: path, key: .provider(Provider()), workLimit: KeyWorkLimit(0))
      XCTFail("a wrong key opens")
    } catch let error as StoreAccessError {
      guard case .keyWorkExceeded = error.kind else { return XCTFail("\(error)") }
    }
    await assertThrowsAsync(.wrongKey) {
      try await StoreKeyring.unlock(storePath: path, key: .provider(Provider()), workLimit: KeyWorkLimit(1))
    }
  }

  func testSlotsThatOpeningWouldNotTryAreRejectedByDefault() async throws {
    let dear = StoreKey.passphrase("dear", .scrypt(log2N: 19))
    func refused(_ body: () async throws -> Void, line: UInt = #line) async {
      do {
        try await body()
        XCTFail("it was made", line: line)
      } catch let error as StoreAccessError {
        guard case .keyWorkExceeded(_, 4...5, true) = error.kind else { return XCTFail("\(error)", line: line) }
      } catch {
        XCTFail("\(error)", line: line)
      }
    }
    await refused { _ = try await StoreKeyring.create(storePath: path, key: dear) }
    XCTAssertEqual(try names(), [])
    let keyring = try await makeStore()
    let before = try snapshot()
    await refused { _ = try await keyring.addSlot(dear) }
    await refused { _ = try await keyring.changeKey(from: cheap("one"), to: dear) }
    await refused { _ = try await keyring.backUp(to: folder + "/copy", key: dear) }
    XCTAssertEqual(try snapshot(), before)
  }

  func testLastUsedSlotIsTriedFirstThenTheCheapest() async throws {
    let keyring = try await makeStore()
    _ = try await keyring.addSlot(.passphrase("three", .scrypt(log2N: 16)), label: "third")
    _ = try await keyring.addSlot(.passphrase("two", .scrypt(log2N: 15)), label: "second")
    let file = try XCTUnwrap(keyring.state.withLock { $0.file })
    XCTAssertEqual(file.slotsByLikelihood.map(\.label), ["first", "second", "third"])
    _ = try await StoreKeyring.unlock(storePath: path, key: .passphrase("three"))
    XCTAssertEqual(file.slotsByLikelihood.map(\.label), ["third", "first", "second"])
  }
}
