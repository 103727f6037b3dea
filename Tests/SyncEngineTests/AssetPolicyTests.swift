import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import SyncCore
import SyncHub
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncEngine

/// Large values that are not on a device, because they are downloaded on demand or within a budget.
final class AssetPolicyTests: AssetTestCase {
  /// Returns a device with photos, and one that downloads on demand and knows them.
  private func devices(_ names: [String], size: Int = 200_000) async throws -> (AssetDevice, AssetDevice) {
    let (one, other) = try await pair()
    for name in names { try one.insert(name, bytes(size, UInt64(name.utf8.first ?? 0))) }
    try await one.synchronize()
    other.service.setAssetPolicy(.onDemand)
    try await other.synchronize()
    return (one, other)
  }

  private func value(_ name: String, size: Int = 200_000) -> Data { bytes(size, UInt64(name.utf8.first ?? 0)) }

  func testAnObjectIsThereBeforeItsLargeValue() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.devices(["a", "b"])
      XCTAssertEqual(try other.names(), ["a", "b"])
      XCTAssertEqual(other.hub.counts.received, [:])
      XCTAssertNil(try other.image("a"))
      XCTAssertEqual(try other.state("a"), .missing(size: 200_000))
      try await other.verify()
      try await other.load("a")
      XCTAssertEqual(try other.image("a"), self.value("a"))
      XCTAssertEqual(try other.state("a"), .onDevice)
      XCTAssertNil(try other.image("b"))
      try await other.load("a")
      XCTAssertEqual(other.hub.counts.received.count, 4)
      for device in [one, other] { try await device.verify() }
    }
  }

  func testOtherAttributesOfAnObjectWithoutItsLargeValueAreChanged() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.devices(["a"])
      try one.insert("page", self.bytes(200_000), entity: "Scan", attribute: "page")
      try await one.synchronize()
      try await other.synchronize()
      try other.update("a") { try $0.setValue("renamed", forKey: "name") }
      // The attribute is required, so it has no bytes instead of nil.
      XCTAssertEqual(try other.image("page", entity: "Scan", attribute: "page"), Data())
      XCTAssertEqual(try other.state("page", entity: "Scan", attribute: "page"), .missing(size: 200_000))
      try other.update("page", entity: "Scan") { try $0.setValue("renamed page", forKey: "name") }
      try await other.synchronize()
      try await one.synchronize()
      XCTAssertEqual(try one.image("renamed"), self.value("a"))
      XCTAssertEqual(try one.image("renamed page", entity: "Scan", attribute: "page"), self.bytes(200_000))
      XCTAssertEqual(try other.state("renamed"), .missing(size: 200_000))
      for device in [one, other] { try await device.verify() }
      try other.restart()
      try await other.synchronize()
      XCTAssertEqual(try other.image("renamed"), self.value("a"))
      XCTAssertEqual(try other.image("renamed page", entity: "Scan", attribute: "page"), self.bytes(200_000))
    }
  }

  func testANewValueReplacesAMissingOne() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.devices(["a", "b", "c"])
      try other.setImage(self.bytes(300_000, 1), of: "a")
      try other.setImage(self.bytes(10, 2), of: "b")
      // Removed after it was replaced.
      try other.setImage(self.bytes(300_000, 3), of: "c")
      try other.setImage(nil, of: "c")
      XCTAssertEqual(try other.state("a"), .onDevice)
      try await other.synchronize()
      try await one.synchronize()
      XCTAssertEqual(try one.image("a"), self.bytes(300_000, 1))
      XCTAssertEqual(try one.image("b"), self.bytes(10, 2))
      XCTAssertNil(try one.image("c"))
      for device in [one, other] {
        try await device.verify()
        XCTAssertEqual(try device.state("c"), .none)
      }
      XCTAssertEqual(other.hub.counts.received, [:])
    }
  }

  func testAValueThatIsReplacedElsewhereIsNotDownloaded() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.devices(["a"])
      try one.setImage(self.bytes(300_000, 1), of: "a")
      try await one.synchronize()
      try await other.synchronize()
      XCTAssertEqual(try other.state("a"), .missing(size: 300_000))
      try one.setImage(nil, of: "a")
      try await one.synchronize()
      try other.restart()
      try await other.synchronize()
      XCTAssertEqual(try other.state("a"), .none)
      XCTAssertEqual(other.hub.counts.received, [:])
      for device in [one, other] { try await device.verify() }
    }
  }

  func testAMissingValueIsAnErrorOfTheAttributeWhileTheHubIsAway() async throws {
    try await withSmallChunks {
      let (_, other) = try await self.devices(["a"])
      other.hub.state.withLock { $0.isAway = true }
      await self.assertMissing { try await other.load("a") }
      XCTAssertEqual(try other.names(), ["a"])
      other.hub.state.withLock { $0.isAway = false }
      try await other.load("a")
      XCTAssertEqual(try other.image("a"), self.value("a"))
    }
  }

  func testAnInterruptedDownloadLeavesTheObjectAsItIs() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.devices(["a"])
      other.hub.state.withLock { $0.callsUntilInterruption = 2 }
      await self.assertMissing { try await other.load("a") }
      XCTAssertEqual(try other.state("a"), .missing(size: 200_000))
      let incoming = try XCTUnwrap(StoreReplica(other.open.persistentStore, of: other.open.coordinator).incomingChunks)
      let chunks = Array(one.hub.counts.sent.keys)
      XCTAssertEqual(chunks.filter(incoming.contains).count, 2)
      // A damaged file counts as missing.
      let damaged = try XCTUnwrap(chunks.first(where: incoming.contains))
      try incoming.store([1, 2, 3], as: damaged)
      other.hub.state.withLock { $0.callsUntilInterruption = nil }
      do {
        try await other.load("a")
        XCTFail("There was no error.")
      } catch {}
      try await other.load("a")
      XCTAssertEqual(try other.image("a"), self.value("a"))
      XCTAssertFalse(chunks.contains(where: incoming.contains))
    }
  }

  func testChunksOfDownloadsThatAreNotNeededAreRemoved() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.devices(["a"])
      other.hub.state.withLock { $0.callsUntilInterruption = 2 }
      await self.assertMissing { try await other.load("a") }
      let incoming = try XCTUnwrap(StoreReplica(other.open.persistentStore, of: other.open.coordinator).incomingChunks)
      let chunks = Array(one.hub.counts.sent.keys)
      XCTAssertTrue(chunks.contains(where: incoming.contains))
      try one.setImage(nil, of: "a")
      try await one.synchronize()
      other.hub.state.withLock { $0.callsUntilInterruption = nil }
      try await other.synchronize()
      XCTAssertFalse(chunks.contains(where: incoming.contains))
    }
  }

  // MARK: Budgets

  func testABudgetKeepsTheValuesThatWereNeededLast() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.devices(["a", "b", "c", "d"])
      try other.restart(.budget(bytes: 450_000))
      try await other.synchronize()
      let names = ["a", "b", "c", "d"]
      XCTAssertEqual(try names.count { try other.state($0) == .onDevice }, 2)
      // What is requested makes space.
      for name in names {
        try await other.load(name)
        XCTAssertEqual(try other.image(name), self.value(name))
        XCTAssertEqual(try names.count { try other.state($0) == .onDevice }, 2)
        try await Task.sleep(for: .milliseconds(3))
      }
      XCTAssertEqual(try names.filter { try other.state($0) == .onDevice }, ["c", "d"])
      // What is saved here counts, and stays until the hub has it.
      try other.insert("e", self.value("e"))
      XCTAssertEqual(try (names + ["e"]).filter { try other.state($0) == .onDevice }, ["c", "d", "e"])
      try await other.synchronize()
      XCTAssertEqual(try (names + ["e"]).filter { try other.state($0) == .onDevice }, ["d", "e"])
      for device in [one, other] { try await device.verify() }
      // A value that alone is larger than the budget can be requested.
      try one.insert("f", self.value("f", size: 500_000))
      try await one.synchronize()
      try await other.synchronize()
      XCTAssertEqual(try other.state("f"), .missing(size: 500_000))
      try await other.load("f")
      XCTAssertEqual(try other.image("f"), self.value("f", size: 500_000))
      try await one.verify()
      // Without a budget everything is downloaded again.
      try other.restart()
      try await other.synchronize()
      for name in names { XCTAssertEqual(try other.image(name), self.value(name)) }
      try await other.verify()
    }
  }

  func testAValueThatTheHubDoesNotHaveIsNeverRemoved() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.devices(["a"])
      try await other.load("a")
      try other.setImage(self.bytes(300_000, 1), of: "a")
      try other.restart(.budget(bytes: 0))
      other.hub.state.withLock { $0.callsUntilInterruption = 1 }
      do {
        try await other.synchronize()
        XCTFail("There was no error.")
      } catch is HubError {}
      XCTAssertEqual(try other.image("a"), self.bytes(300_000, 1))
      other.hub.state.withLock { $0.callsUntilInterruption = nil }
      try await other.synchronize()
      try await one.synchronize()
      XCTAssertEqual(try one.image("a"), self.bytes(300_000, 1))
      for device in [one, other] { try await device.verify() }
    }
  }

  // MARK: Stores

  /// Devices keep values of different sizes in files.
  func testDevicesCanHaveDifferentThresholds() async throws {
    try await withSmallChunks {
      let one = try await self.device("one")
      let few = try await self.device(
        try AssetDevice.openStore(self.file("few.store")) { $0.externalStorageThreshold = 1_000_000 })
      let many = try await self.device(
        try AssetDevice.openStore(self.file("many.store")) { $0.externalStorageThreshold = 1_000 })
      let devices = [one, few, many]
      for (number, device) in devices.enumerated() {
        try device.insert("\(number) small", self.bytes(5_000, UInt64(number)))
        try device.insert("\(number) large", self.bytes(300_000, UInt64(number)))
      }
      for _ in 0..<2 { for device in devices { try await device.synchronize() } }
      for device in devices {
        for number in 0..<3 {
          XCTAssertEqual(try device.image("\(number) small"), self.bytes(5_000, UInt64(number)))
          XCTAssertEqual(try device.image("\(number) large"), self.bytes(300_000, UInt64(number)))
        }
        try await device.verify()
        let round = try await device.synchronize()
        XCTAssertTrue(round.isEmpty, "\(round)")
      }
    }
  }

  func testADeviceWithoutExternalStorageHasLargeValuesToo() async throws {
    try await withSmallChunks {
      let model = ManagedObjectModel {
        Entity("Photo") {
          Attribute("name", .string)
          Attribute("image", .binary)
          Attribute("preview", .binary)
        }
      }
      let one = try await self.device("one")
      let other = try await self.device(AssetDevice.openStore(self.file("other.store"), model: CompiledModel(model)))
      try one.insert("a", self.bytes(300_000, 1))
      try await one.synchronize()
      try await other.synchronize()
      XCTAssertEqual(try other.image("a"), self.bytes(300_000, 1))
      try await other.verify()
      try other.setImage(self.bytes(200_000, 2), of: "a")
      try await other.synchronize()
      try await one.synchronize()
      XCTAssertEqual(try one.image("a"), self.bytes(200_000, 2))
      for device in [one, other] { try await device.verify() }
    }
  }

  func testAStoreThatLeavesKeepsWhatItHas() async throws {
    try await withSmallChunks {
      let (_, other) = try await self.devices(["a", "b"])
      try await other.load("a")
      other.hub.state.withLock { $0.callsUntilInterruption = 1 }
      await self.assertMissing { try await other.load("b") }
      try await other.service.leave()
      XCTAssertEqual(try other.image("a"), self.value("a"))
      XCTAssertNil(try other.image("b"))
      let incoming = other.open.persistentStore.incrementalStore as? SQLCipherIncrementalStore
      XCTAssertFalse(FileManager.default.fileExists(atPath: try XCTUnwrap(incoming).incomingFolderPath))
    }
  }
}
