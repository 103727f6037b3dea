import Foundation
import SyncCrypto
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncEngine

/// Devices that synchronize large values, in chunks of 64 KiB.
class AssetTestCase: XCTestCase {
  private(set) var folder: TemporaryFolder?
  private var key: AccountRecoveryKey?
  private var devices: [AssetDevice] = []
  static let chunkSize: Int64 = 65_536

  override func setUpWithError() throws {
    folder = try TemporaryFolder("AssetTests")
    key = try .random()
  }

  override func tearDown() async throws {
    for device in devices { await device.end() }
    (devices, folder, key) = ([], nil, nil)
  }

  func file(_ name: String) throws -> URL { try XCTUnwrap(folder).file(name) }
  var hubPath: String { get throws { try file("hub.store").path } }

  /// Makes a store a device of the account.
  func device(_ open: OpenStore, clock: (@Sendable () -> Int64)? = nil) async throws -> AssetDevice {
    let device = try await AssetDevice(open, hub: hubPath, key: XCTUnwrap(key), joins: !devices.isEmpty, clock: clock)
    // Others can join then.
    if devices.isEmpty { try await device.service.register() }
    devices.append(device)
    return device
  }

  func device(_ name: String, clock: (@Sendable () -> Int64)? = nil) async throws -> AssetDevice {
    try await device(AssetDevice.openStore(file("\(name).store")), clock: clock)
  }

  /// Returns two synchronized devices.
  func pair() async throws -> (AssetDevice, AssetDevice) {
    let one = try await device("one")
    try await one.synchronize()
    let other = try await device("other")
    try await other.synchronize()
    return (one, other)
  }

  /// Opens a store that is a device of the account already.
  func continuing(_ open: OpenStore) throws -> AssetDevice {
    let device = try AssetDevice(continuing: open, hub: hubPath)
    devices.append(device)
    return device
  }

  /// Runs a test with small chunks.
  func withSmallChunks(_ body: () async throws -> Void) async throws {
    try await StoreReplica.$chunkSize.withValue(Self.chunkSize) { try await body() }
  }

  func bytes(_ count: Int, _ seed: UInt64 = 1) -> Data { AssetModel.bytes(count, seed) }

  func assertMissing(file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Void) async {
    do {
      try await body()
      XCTFail("There was no error.", file: file, line: line)
    } catch {
      let error = error as? SyncError
      XCTAssertEqual(error?.code, .assetMissing, file: file, line: line)
      XCTAssertTrue(error?.message.contains("Photo.image") ?? false, "\(String(describing: error))", file: file, line: line)
    }
  }
}
