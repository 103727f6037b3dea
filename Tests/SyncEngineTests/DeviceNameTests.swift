import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCrypto
import SyncEngine
import XCTest
import _StoreSpecification
import _TestSupport

/// The names by which the devices of an account are shown.
final class DeviceNameTests: XCTestCase {
  private var folder: TemporaryFolder?
  override func setUpWithError() throws { folder = try TemporaryFolder("SyncDeviceNameTests") }
  override func tearDown() { folder = nil }

  /// Joins an account with a new store, and returns the name of the device after its first round.
  private func join(_ name: String, _ number: Int, _ key: AccountRecoveryKey) async throws -> String {
    let folder = try XCTUnwrap(folder)
    var description = PersistentStoreDescription(
      url: folder.file("\(number).store"), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.sideTableOwners = [SyncTables.shared]
    let open = try OpenStore(description, model: MirrorModel.model)
    let path = folder.file("hub.store").path
    let service =
      number == 0
      ? try await SyncService.start(open.persistentStore, of: open.coordinator, hubPath: path, recoveryKey: key, deviceName: name)
      : try await SyncService.join(open.persistentStore, of: open.coordinator, hubPath: path, recoveryKey: key, deviceName: name)
    try await service.synchronize()
    let status = try await service.status()
    service.end()
    try open.close()
    return status.device
  }

  func testANameThatAnotherDeviceHasGetsANumber() async throws {
    let key = try AccountRecoveryKey.random()
    let names = [
      ("laptop", "laptop"), ("laptop", "laptop (2)"), ("Laptop", "Laptop"), ("laptop (2)", "laptop (3)"), ("laptop (7)", "laptop (7)"),
      ("laptop", "laptop (4)"), ("laptop (7)", "laptop (5)"), ("(2)", "(2)"), ("(2)", "(2) (2)"), ("a (b)", "a (b)"),
      ("a (b)", "a (b) (2)"), (" (2)", " (2)"), (" (2)", " (2) (2)"), ("room (1)", "room (1)"), ("room (1)", "room (1) (2)"),
    ]
    for (number, (name, expected)) in names.enumerated() {
      let found = try await join(name, number, key)
      XCTAssertEqual(found, expected)
    }
  }
}
