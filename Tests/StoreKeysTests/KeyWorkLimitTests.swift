import Foundation
import XCTest

@testable import StoreKeys

/// The slots of a key file that are tried, and those that can be added, depending on their cost.
final class KeyWorkLimitTests: XCTestCase {
  private func work(_ costs: [UInt8], requestedUnits: Int? = nil) throws -> (tried: [UInt8], rejected: Int?) {
    let key = try DatabaseKey.random()
    var file = KeyFile.make(for: key).file
    for cost in costs {
      file.slots.append(
        KeyFile.Slot(id: UUID(), kind: .passphrase, created: 0, label: "", log2N: cost, salt: [], nonce: [], box: [], sealedKeys: []))
    }
    var work = KeyWork(KeyWorkLimit(requestedUnits))
    let tried = file.slotsByLikelihood.filter { work.spend(on: $0) }.map(\.log2N)
    return (tried, work.rejected?.needed)
  }

  func testDefaultLimitAllowsSixteenStandardSlotsAndNoneAbove256MiB() throws {
    XCTAssertEqual(try work([17, 17]).tried, [17, 17])
    XCTAssertNil(try work([17, 17]).rejected)
    let many = try work([UInt8](repeating: 17, count: 64))
    XCTAssertEqual(many.tried.count, 16)
    XCTAssertEqual(many.rejected, 17)
    XCTAssertEqual(try work([18]).tried, [18])
    let dear = try work([19])
    XCTAssertEqual(dear.tried, [])
    XCTAssertEqual(dear.rejected, 4)
    XCTAssertEqual(try work([20, 15, 17]).tried, [15, 17])
    XCTAssertEqual(try work([UInt8](repeating: 15, count: 64)).tried.count, 64)
  }

  func testCustomLimitsRaiseOrLowerTheCost() throws {
    XCTAssertEqual(try work([20], requestedUnits: 8).tried, [20])
    XCTAssertEqual(try work([20], requestedUnits: 7).tried, [])
    XCTAssertEqual(try work([UInt8](repeating: 17, count: 64), requestedUnits: 64).tried.count, 64)
    XCTAssertEqual(try work([17, 17], requestedUnits: 1).tried, [17])
    XCTAssertEqual(try work([17], requestedUnits: 0).tried, [])
    XCTAssertEqual(try work([17], requestedUnits: -1).tried, [])
    XCTAssertEqual(try work([20], requestedUnits: .max).tried, [20])
  }

  func testSeventeenthStandardSlotIsRejectedByDefault() throws {
    let limit = KeyWorkLimit()
    var file = KeyFile.make(for: try DatabaseKey.random()).file
    func slot(_ cost: UInt8) -> KeyFile.Slot {
      KeyFile.Slot(id: UUID(), kind: .passphrase, created: 0, label: "", log2N: cost, salt: [], nonce: [], box: [], sealedKeys: [])
    }
    for _ in 0..<16 {
      XCTAssertNoThrow(try limit.check(adding: slot(17), to: file))
      file.slots.append(slot(17))
    }
    XCTAssertThrowsError(try limit.check(adding: slot(17), to: file))
    // A cheap slot could be opened, but would keep another one from being tried.
    XCTAssertThrowsError(try limit.check(adding: slot(15), to: file))
    XCTAssertNoThrow(try limit.check(adding: slot(0), to: file))
    XCTAssertNoThrow(try KeyWorkLimit(17).check(adding: slot(17), to: file))
    XCTAssertEqual(KeyWorkLimit.needed(for: (0..<17).map { _ in KDF.scrypt() }), 17)
    XCTAssertNil(KeyWorkLimit.needed(for: (0..<16).map { _ in KDF.scrypt() }))
    // If the file already has an expensive slot, cheap ones can be added.
    file.slots = [slot(20)]
    XCTAssertNoThrow(try limit.check(adding: slot(17), to: file))
  }
}
