import SyncCore
import XCTest

@testable import SyncCrypto

/// Chunks of large values are sealed and opened.
final class AssetCipherTests: XCTestCase {
  private let zone = ZoneID(high: 1, low: 2)
  private let key = [UInt8](0..<32)

  private func sealed(_ key: [UInt8]? = nil) -> AssetReference.Sealed {
    AssetReference.Sealed(key: key ?? self.key, chunkSize: 1_000, chunks: [])
  }
  private func sealing(_ key: [UInt8]? = nil) throws -> AssetCipher { try .sealing(sealed(key), zone: zone) }
  private func opening(_ key: [UInt8]? = nil) throws -> AssetCipher { try .opening(sealed(key), zone: zone) }
  private func chunk(_ count: Int, _ first: UInt8 = 0) -> [UInt8] { (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0 &* 7) } }

  func testChunksOfAllSizesAreOpenedAsTheyWereSealed() throws {
    let (sealing, opening) = (try sealing(), try opening())
    for (index, size) in [0, 1, 2, 15, 100, 999, 1_000, 70_000, 4 << 20].enumerated() {
      let bytes = try sealing.seal(chunk(size), index: index)
      XCTAssertEqual(bytes.count, 14 + Padding.paddedSize(of: size) + 16)
      XCTAssertEqual(try opening.open(bytes, index: index, size: size), chunk(size))
    }
    XCTAssertEqual(Padding.paddedSize(of: 4 << 20), 4 << 20, "a whole chunk is not padded")
  }

  func testAChunkIsAlwaysSealedToTheSameBytes() throws {
    let first = try sealing().seal(chunk(500), index: 3)
    XCTAssertEqual(try sealing().seal(chunk(500), index: 3), first)
    XCTAssertEqual(try AssetCipher.id(of: first), try AssetCipher.id(of: sealing().seal(chunk(500), index: 3)))
  }

  /// What a hub could compare: equal chunks of one value and of two values, and other chunks at the same place.
  func testSealedChunksRevealNoEquality() throws {
    let (one, other) = (try sealing(), try sealing(AssetCipher.randomKey()))
    let chunks = [
      try one.seal(chunk(500), index: 0), try one.seal(chunk(500), index: 1), try one.seal(chunk(500, 1), index: 0),
      try other.seal(chunk(500), index: 0),
    ]
    XCTAssertEqual(Set(chunks.map { Array($0[2..<14]) }).count, chunks.count, "nonces")
    XCTAssertEqual(Set(chunks.map { Array($0[14...].prefix(32)) }).count, chunks.count)
    XCTAssertEqual(Set(try chunks.map(AssetCipher.id)).count, chunks.count)
  }

  func testWhatIsNotThatChunkIsRefused() throws {
    let bytes = try sealing().seal(chunk(500), index: 3)
    func assertDamaged(_ bytes: [UInt8], index: Int = 3, size: Int = 500, _ cipher: AssetCipher, line: UInt = #line) {
      XCTAssertThrowsError(try cipher.open(bytes, index: index, size: size), line: line) { error in
        XCTAssertEqual(error as? SyncCryptoError, .damaged(.chunk), line: line)
      }
    }
    let opening = try opening()
    assertDamaged(bytes, index: 2, opening)
    assertDamaged(bytes, size: 300, opening)
    assertDamaged(bytes, try self.opening([UInt8](repeating: 1, count: 32)))
    assertDamaged(bytes, try .opening(sealed(), zone: ZoneID(high: 1, low: 3)))
    for index in 2..<bytes.count {
      var damaged = bytes
      damaged[index] ^= 1
      assertDamaged(damaged, opening)
    }
    for count in 0..<bytes.count { XCTAssertThrowsError(try opening.open(Array(bytes.prefix(count)), index: 3, size: 500)) }
    var other = bytes
    other[0] = 2
    XCTAssertThrowsError(try opening.open(other, index: 3, size: 500)) { error in
      XCTAssertEqual(error as? SyncCryptoError, .unsupportedFormat(.chunk, 2))
    }
    other = bytes
    other[1] = 9
    XCTAssertThrowsError(try opening.open(other, index: 3, size: 500)) { error in
      XCTAssertEqual(error as? SyncCryptoError, .unsupportedSuite(.chunk, 9))
    }
  }

  /// The format must not change: chunks remain on hubs for years.
  func testTheFormatIsTheSameAsEver() throws {
    let bytes = try sealing().seal(Array("a chunk".utf8), index: 1)
    XCTAssertEqual(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(), Self.expected)
    XCTAssertEqual(try opening().open(bytes, index: 1, size: 7), Array("a chunk".utf8))
  }

  // Computed by another implementation too.
  private static let expected = "0101d0d1f218445353da393d7e40d9df586ea5ed7fd2ed592e200c671fffd3815c2a3ab4b9"
}
