import Foundation
import ObjectContext
import ObjectStore
import SQLCipherStore
import StoreFiles
import SyncCore
import SyncCrypto
import SyncHub
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncEngine

/// Large values are sent in chunks, apart from the records that refer to them.
final class AssetMirrorTests: AssetTestCase {
  func testLargeValuesArriveWithTheirObjects() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      let sizes = ["small": 1_000, "below": 131_071, "threshold": 131_072, "large": 400_000, "chunks": 4 * 65_536]
      for (number, (name, size)) in sizes.sorted(by: { $0.key < $1.key }).enumerated() {
        try one.insert(name, self.bytes(size, UInt64(number)))
      }
      try one.insert("none", nil)
      try one.insert("page", self.bytes(200_000), entity: "Scan", attribute: "page")
      try await one.synchronize()
      XCTAssertEqual(one.hub.counts.sent.count, 2 + 7 + 4 + 4)
      let round = try await other.synchronize()
      XCTAssertEqual(round.changed, 7)
      XCTAssertEqual(round.downloaded, 4)
      for (number, (name, size)) in sizes.sorted(by: { $0.key < $1.key }).enumerated() {
        XCTAssertEqual(try other.image(name), self.bytes(size, UInt64(number)), name)
        XCTAssertEqual(try other.state(name), .onDevice)
      }
      XCTAssertNil(try other.image("none"))
      XCTAssertEqual(try other.state("none"), .none)
      XCTAssertEqual(try other.image("page", entity: "Scan", attribute: "page"), self.bytes(200_000))
      XCTAssertEqual(one.hub.counts.sent.keys.sorted(), other.hub.counts.received.keys.sorted())
      for device in [one, other] { try await device.verify() }
      // Nothing is sent or received again.
      one.hub.resetCounts()
      for device in [one, other] {
        let round = try await device.synchronize()
        XCTAssertTrue(round.isEmpty)
      }
      XCTAssertEqual(one.hub.counts, ChunkHub.Counts())
    }
  }

  func testChangesInBothDirections() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      for name in ["a", "b", "c", "d"] { try one.insert(name, self.bytes(200_000, UInt64(name.utf8.first ?? 0))) }
      try await one.synchronize()
      try await other.synchronize()
      try other.setImage(self.bytes(300_000, 9), of: "a")
      try other.setImage(nil, of: "b")
      try other.setImage(self.bytes(10, 5), of: "c")
      try other.update("d") { $0.managedObjectContext?.delete($0) }
      try await other.synchronize()
      try await one.synchronize()
      XCTAssertEqual(try one.image("a"), self.bytes(300_000, 9))
      XCTAssertNil(try one.image("b"))
      XCTAssertEqual(try one.image("c"), self.bytes(10, 5))
      XCTAssertEqual(try one.names(), ["a", "b", "c"])
      try one.setImage(self.bytes(150_000, 8), of: "b")
      try await one.synchronize()
      try await other.synchronize()
      XCTAssertEqual(try other.image("b"), self.bytes(150_000, 8))
      for device in [one, other] { try await device.verify() }
    }
  }

  func testOfConcurrentValuesTheLaterOneRemains() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      try one.insert("a", self.bytes(200_000, 1))
      try await one.synchronize()
      try await other.synchronize()
      try one.setImage(self.bytes(200_000, 2), of: "a")
      try await Task.sleep(for: .milliseconds(5))
      try other.setImage(self.bytes(250_000, 3), of: "a")
      // Another attribute of the device whose value loses.
      try one.update("a") { try $0.setValue(Data([7]), forKey: "preview") }
      try await one.synchronize()
      try await other.synchronize()
      try await one.synchronize()
      for device in [one, other] {
        XCTAssertEqual(try device.image("a"), self.bytes(250_000, 3))
        XCTAssertEqual(try device.image("a", attribute: "preview"), Data([7]))
        try await device.verify()
      }
    }
  }

  func testObjectsFromBeforeSynchronizationAreSentWithTheirLargeValues() async throws {
    try await withSmallChunks {
      let open = try AssetDevice.openStore(self.file("one.store"))
      let context = open.newContext()
      for number in 0..<3 {
        let photo = try context.insert("Photo", ["name": "\(number)"])
        try photo.setExternalData(ExternalData(self.bytes(200_000, UInt64(number))), forKey: "image")
      }
      try context.save()
      let one = try await self.device(open)
      // One of them is replaced before it is sent, and one is deleted.
      try one.setImage(self.bytes(300_000, 7), of: "1")
      try one.update("2") { $0.managedObjectContext?.delete($0) }
      try await one.synchronize()
      let isIdle = try await one.service.isIdle()
      XCTAssertTrue(isIdle)
      let other = try await self.device("other")
      try await other.synchronize()
      XCTAssertEqual(try other.names(), ["0", "1"])
      XCTAssertEqual(try other.image("0"), self.bytes(200_000, 0))
      XCTAssertEqual(try other.image("1"), self.bytes(300_000, 7))
      for device in [one, other] { try await device.verify() }
    }
  }

  func testStoresOfOneCopyMergeTheirLargeValues() async throws {
    try await withSmallChunks {
      let (one, other) = (try AssetDevice.openStore(self.file("one.store")), try AssetDevice.openStore(self.file("other.store")))
      for (store, name) in [(one, "one"), (other, "other")] {
        let context = store.newContext()
        let photo = try context.insert("Photo", ["name": name])
        try photo.setExternalData(ExternalData(self.bytes(200_000, UInt64(name.count))), forKey: "image")
        try context.save()
      }
      let devices = [try await self.device(one), try await self.device(other)]
      for _ in 0..<2 { for device in devices { try await device.synchronize() } }
      for device in devices {
        for name in ["one", "other"] { XCTAssertEqual(try device.image(name), self.bytes(200_000, UInt64(name.count))) }
        try await device.verify()
      }
    }
  }

  // MARK: Case 6

  func testCase6AValueReplacedTwiceWhileOfflineSendsTheLast() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      try one.insert("a", self.bytes(200_000, 1))
      try one.setImage(self.bytes(260_000, 2), of: "a")
      // A backup that is made meanwhile is whole: it is a device of its own, and has the value of its time.
      let backup = try self.file("backup.store")
      try await (one.open.persistentStore).unlockedFile().backUp(to: backup)
      try one.setImage(self.bytes(330_000, 3), of: "a")
      try await one.synchronize()
      XCTAssertEqual(one.hub.counts.sent.count, 6, "the chunks of the last value")
      try await other.synchronize()
      XCTAssertEqual(try other.image("a"), self.bytes(330_000, 3))
      let copy = try self.continuing(AssetDevice.openStore(backup))
      XCTAssertEqual(try copy.image("a"), self.bytes(260_000, 2))
      try await copy.synchronize()
      for device in [one, other, copy] {
        try await device.synchronize()
        XCTAssertEqual(try device.names(), ["a"])
        XCTAssertEqual(try device.image("a"), self.bytes(330_000, 3))
        try await device.verify()
      }
    }
  }

  func testAValueThatIsReplacedWhileItIsSentArrivesInItsLastState() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      try one.insert("a", self.bytes(400_000, 1))
      let open = one.open
      let last = self.bytes(420_000, 2)
      one.hub.state.withLock {
        $0.willSend = {
          let context = open.newContext()
          try context.all("Photo").first?.setExternalData(ExternalData(last), forKey: "image")
          try context.save()
        }
      }
      try await one.synchronize()
      try await other.synchronize()
      XCTAssertEqual(try other.image("a"), last)
      for device in [one, other] { try await device.verify() }
    }
  }

  func testAValueThatIsRemovedOrDeletedBeforeItIsSentIsNotSent() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      try one.insert("a", self.bytes(400_000, 1))
      try one.insert("b", self.bytes(400_000, 2))
      try one.setImage(nil, of: "a")
      try one.update("b") { $0.managedObjectContext?.delete($0) }
      try await one.synchronize()
      XCTAssertEqual(one.hub.counts.sent, [:])
      try await other.synchronize()
      XCTAssertEqual(try other.names(), ["a"])
      XCTAssertNil(try other.image("a"))
      for device in [one, other] { try await device.verify() }
    }
  }

  func testALargeValueOfAnObjectWhoseDestinationWasDeletedDelaysNothing() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      let context = one.open.newContext()
      let album = try context.insert("Album")
      try context.save()
      for device in [one, other] { try await device.synchronize() }
      let deleting = other.open.newContext()
      try deleting.all("Album").forEach(deleting.delete)
      try deleting.save()
      try await other.synchronize()
      // The bytes are deleted with the row before they can be uploaded.
      let picture = try context.insert("Picture", ["album": album])
      try picture.setExternalData(ExternalData(self.bytes(200_000)), forKey: "image")
      try context.save()
      try one.insert("later", nil)
      try await one.synchronize()
      XCTAssertEqual(one.hub.counts.sent, [:])
      let isIdle = try await one.service.isIdle()
      XCTAssertTrue(isIdle)
      try await other.synchronize()
      XCTAssertEqual(try other.names(), ["later"])
      for device in [one, other] { try await device.verify() }
    }
  }

  // MARK: Interruptions

  func testInterruptedTransfersContinueWithTheNextChunk() async throws { try await checkInterruptions(.before, size: 64 << 20) }

  func testTransfersWhoseAnswersAreLostContinueWithTheNextChunk() async throws {
    try await withSmallChunks { try await self.checkInterruptions(.after, size: 1 << 20) }
  }

  /// Sends and receives 16 chunks over a line that breaks all the time, with processes that end each time.
  private func checkInterruptions(_ interruption: ChunkHub.Interruption, size: Int) async throws {
    let (one, other) = try await pair()
    let value = bytes(size, 3)
    try one.insert("a", value)
    for (device, isSender) in [(one, true), (other, false)] {
      device.hub.state.withLock { $0.interruption = interruption }
      var attempts = 0
      while true {
        attempts += 1
        device.hub.state.withLock { $0.callsUntilInterruption = 2 }
        do {
          try await device.synchronize()
          break
        } catch let error as HubError {
          XCTAssertEqual(error.code, .unavailable)
          guard attempts < 40 else { return XCTFail("There is no progress.") }
          try device.restart()
        }
      }
      XCTAssertGreaterThan(attempts, 5)
      let counts = isSender ? device.hub.counts.sent : device.hub.counts.received
      XCTAssertEqual(counts.count, 16)
      // A chunk whose answer was lost is not sent again. One that was lost on its way to the device is requested again.
      if isSender || interruption == .before { XCTAssertEqual(Set(counts.values), [1]) }
    }
    XCTAssertEqual(try other.image("a"), value)
    for device in [one, other] { try await device.verify() }
  }

  /// The delays after errors grow only if nothing is transferred in between.
  func testAWatchedTransferContinuesSoonAfterEachBreak() async throws {
    try await withSmallChunks {
      let (one, _) = try await self.pair()
      try one.insert("a", self.bytes(600_000))
      one.hub.state.withLock { $0.callsUntilInterruption = 2 }
      var delays: [Double] = []
      for await update in one.service.watch() {
        guard case .failure(_, _, let delay) = update else { break }
        delays.append(delay)
        one.hub.state.withLock { $0.callsUntilInterruption = delays.count < 3 ? 2 : nil }
      }
      XCTAssertEqual(delays, [1, 1, 1])
    }
  }

  func testSmallChangesBeforeALargeValueDoNotWaitForIt() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      try one.insert("before", nil)
      try one.insert("large", self.bytes(400_000, 1))
      try one.insert("after", nil)
      one.hub.state.withLock { $0.callsUntilInterruption = 2 }
      do {
        try await one.synchronize()
        XCTFail("There was no error.")
      } catch is HubError {}
      try await other.synchronize()
      XCTAssertEqual(try other.names(), ["before"], "saves arrive in their order")
      one.hub.state.withLock { $0.callsUntilInterruption = nil }
      try await one.synchronize()
      try await other.synchronize()
      XCTAssertEqual(try other.names(), ["after", "before", "large"])
    }
  }

  // MARK: The hub

  func testChunksOfReplacedValuesAreRemovedAfterAWeek() async throws {
    try await withSmallChunks {
      let time = Mutex<Int64>(1_900_000_000_000)
      let one = try await self.device("one") { time.withLock { $0 } }
      try one.insert("a", self.bytes(200_000, 1))
      try await one.synchronize()
      let first = Set(one.hub.counts.sent.keys)
      try one.setImage(self.bytes(200_000, 2), of: "a")
      try await one.synchronize()
      let zone = await one.service.runner.zoneID()
      let present = try await one.hub.missingChunks(Array(first), zone: zone)
      XCTAssertEqual(present, [])
      time.withLock { $0 += 7 * 24 * 3_600_000 + 1 }
      let removed = try await one.hub.embedded.removeUnusedChunks(zone: zone)
      XCTAssertEqual(removed, first.count)
      let other = try await self.device("other")
      try await other.synchronize()
      XCTAssertEqual(try other.image("a"), self.bytes(200_000, 2))
      try await one.verify()
    }
  }

  func testAHubThatWasRestoredReceivesLargeValuesAgain() async throws {
    try await withSmallChunks {
      let (one, other) = try await self.pair()
      await one.hub.embedded.close()
      await other.hub.embedded.close()
      let hub = try self.file("hub.store")
      let backup = try self.file("backup")
      try FileManager.default.copyItem(at: hub, to: backup)
      let again = [try self.again(one), try self.again(other)]
      try again[0].insert("a", self.bytes(200_000, 1))
      for device in again { try await device.synchronize() }
      // The device without the bytes is the first one to send what the hub has lost.
      try again[1].restart(.onDemand)
      try again[0].setImage(self.bytes(300_000, 2), of: "a")
      try await again[0].synchronize()
      try await again[1].synchronize()
      XCTAssertEqual(try again[1].state("a"), .missing(size: 300_000))
      for device in again { await device.end() }
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: hub.path + suffix) }
      try FileManager.default.copyItem(at: backup, to: hub)
      let last = [try self.continuing(one.open), try self.continuing(other.open)]
      try last[1].restart(.onDemand)
      try await last[1].synchronize()
      // It sends the object without the value that nothing has, as far as it knows.
      XCTAssertEqual(try last[1].state("a"), .none)
      try await last[0].synchronize()
      try await last[1].synchronize()
      XCTAssertEqual(try last[1].state("a"), .missing(size: 300_000))
      try await last[1].load("a")
      for device in last {
        XCTAssertEqual(try device.image("a"), self.bytes(300_000, 2))
        let result = try await device.service.verify()
        XCTAssertTrue(result.isEqual)
      }
      let findings = try await last[0].hub.embedded.verify()
      XCTAssertEqual(findings, [])
    }
  }

  private func again(_ device: AssetDevice) throws -> AssetDevice {
    device.service.end()
    return try continuing(device.open)
  }

  func testTheHubStoresNoPlaintext() async throws {
    let one = try await device("one")
    var value = bytes(200_000, 1)
    for offset in stride(from: 0, to: 190_000, by: 1_000) { value.replaceSubrange(offset..<offset + 11, with: Data("plantedword".utf8)) }
    try one.insert("a", value)
    try await one.synchronize()
    let zone = await one.service.runner.zoneID()
    for id in one.hub.counts.sent.keys {
      let sealed = try await one.hub.chunk(id, zone: zone)
      XCTAssertNil(Data(try XCTUnwrap(sealed)).range(of: Data("plantedword".utf8)))
    }
  }
}
