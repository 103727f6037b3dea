// KeyWorkTests: what a key file may cost before anything proves it.
import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

final class KeyWorkTests: StoreTestCase {
  private func makeStore() async throws -> StoreKeyring {
    try await StoreKeyring.create(storePath: path, key: cheap("one"), label: "first")
  }

  /// Puts slots beside the true one as somebody without a key can: with any cost, and a checksum that fits.
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

  private func work(_ costs: [UInt8], wish: Int? = nil) throws -> (tried: [UInt8], refused: Int?) {
    let key = try testKey()
    var file = KeyFile.make(for: key).file
    for cost in costs {
      file.slots.append(
        KeyFile.Slot(id: UUID(), kind: .passphrase, created: 0, label: "", log2N: cost, salt: [], nonce: [], box: [], sealedKeys: []))
    }
    var work = KeyWork(KeyWorkLimit(wish))
    let tried = file.slotsByLikelihood.filter { work.spend(on: $0) }.map(\.log2N)
    return (tried, work.refused?.needed)
  }

  func testWithoutAWishSixteenStandardSlotsAreTriedAndNoneOfMoreThan256MiB() throws {
    XCTAssertEqual(try work([17, 17]).tried, [17, 17])
    XCTAssertNil(try work([17, 17]).refused)
    let many = try work([UInt8](repeating: 17, count: 64))
    XCTAssertEqual(many.tried.count, 16)
    XCTAssertEqual(many.refused, 17)
    XCTAssertEqual(try work([18]).tried, [18])
    let dear = try work([19])
    XCTAssertEqual(dear.tried, [])
    XCTAssertEqual(dear.refused, 4)
    XCTAssertEqual(try work([20, 15, 17]).tried, [15, 17])
    XCTAssertEqual(try work([UInt8](repeating: 15, count: 64)).tried.count, 64)
  }

  func testAWishRaisesOrLowersWhatIsSpent() throws {
    XCTAssertEqual(try work([20], wish: 8).tried, [20])
    XCTAssertEqual(try work([20], wish: 7).tried, [])
    XCTAssertEqual(try work([UInt8](repeating: 17, count: 64), wish: 64).tried.count, 64)
    XCTAssertEqual(try work([17, 17], wish: 1).tried, [17])
    XCTAssertEqual(try work([17], wish: 0).tried, [])
    XCTAssertEqual(try work([17], wish: -1).tried, [])
    XCTAssertEqual(try work([20], wish: .max).tried, [20])
  }

  func testADearSlotOfAStrangerIsNeitherTriedNorInTheWay() async throws {
    _ = try await makeStore()
    try addForeignSlots([20, 20, 20])
    // The true slot opens, which proves that the file was changed: nothing dear was done.
    do {
      _ = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
      XCTFail("a changed key file opens")
    } catch let error as StoreAccessError {
      guard case .keyFileCorrupt = error.kind else { return XCTFail("\(error)") }
    }
  }

  func testTheErrorNamesTheSlotAndTheValueThatIsNeeded() async throws {
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
      for part in ["anna", "--key-work", "keyWorkLimit", "9"] { XCTAssertTrue("\(error)".contains(part), "\(error)") }
    }
  }

  func testAProvidersAnswersShareOneLimit() async throws {
    final class Provider: StoreKeyProvider {
      func key(for request: StoreKeyRequest) async throws -> SecretBytes { SecretBytes(utf8: "wrong \(request.attempt)") }
    }
    _ = try await StoreKeyring.create(storePath: path, key: .passphrase("one", .scrypt(log2N: 15)))
    do {
      // A quarter for each: three need one.
      _ = try await StoreKeyring.unlock(storePath: path, key: .provider(Provider()), workLimit: KeyWorkLimit(0))
      XCTFail("a wrong key opens")
    } catch let error as StoreAccessError {
      guard case .keyWorkExceeded = error.kind else { return XCTFail("\(error)") }
    }
    await assertThrowsAsync(.wrongKey) {
      try await StoreKeyring.unlock(storePath: path, key: .provider(Provider()), workLimit: KeyWorkLimit(1))
    }
  }

  func testASlotThatOpeningWouldNotTryIsNotMadeUnasked() async throws {
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

  func testASeventeenthSlotOfTheStandardCostIsNotMadeUnasked() throws {
    let limit = KeyWorkLimit()
    var file = KeyFile.make(for: try testKey()).file
    func slot(_ cost: UInt8) -> KeyFile.Slot {
      KeyFile.Slot(id: UUID(), kind: .passphrase, created: 0, label: "", log2N: cost, salt: [], nonce: [], box: [], sealedKeys: [])
    }
    for _ in 0..<16 {
      XCTAssertNoThrow(try limit.check(adding: slot(17), to: file))
      file.slots.append(slot(17))
    }
    XCTAssertThrowsError(try limit.check(adding: slot(17), to: file))
    // A cheap one would be opened, but keep another from being tried.
    XCTAssertThrowsError(try limit.check(adding: slot(15), to: file))
    XCTAssertNoThrow(try limit.check(adding: slot(0), to: file))
    XCTAssertNoThrow(try KeyWorkLimit(17).check(adding: slot(17), to: file))
    XCTAssertEqual(KeyWorkLimit.needed(for: (0..<17).map { _ in KDF.scrypt() }), 17)
    XCTAssertNil(KeyWorkLimit.needed(for: (0..<16).map { _ in KDF.scrypt() }))
    // Where a dear one stands already, cheap ones may be added.
    file.slots = [slot(20)]
    XCTAssertNoThrow(try limit.check(adding: slot(17), to: file))
  }

  func testTheSlotThatOpenedLastIsTriedFirstThenTheCheapest() async throws {
    let keyring = try await makeStore()
    _ = try await keyring.addSlot(.passphrase("three", .scrypt(log2N: 16)), label: "third")
    _ = try await keyring.addSlot(.passphrase("two", .scrypt(log2N: 15)), label: "second")
    let file = try XCTUnwrap(keyring.state.withLock { $0.file })
    XCTAssertEqual(file.slotsByLikelihood.map(\.label), ["first", "second", "third"])
    _ = try await StoreKeyring.unlock(storePath: path, key: .passphrase("three"))
    XCTAssertEqual(file.slotsByLikelihood.map(\.label), ["third", "first", "second"])
  }
}
