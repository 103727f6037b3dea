import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import SyncCrypto
import SyncEngine
import SyncHub
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

/// Devices that join an account because the user of an existing device has compared a code.
final class JoinServiceTests: XCTestCase {
  private var folder: TemporaryFolder?
  override func setUpWithError() throws { folder = try TemporaryFolder("JoinServiceTests") }
  override func tearDown() { folder = nil }

  private var hubPath: String { get throws { try XCTUnwrap(folder).file("hub.store").path } }

  private func open(_ name: String) throws -> OpenStore {
    var description = PersistentStoreDescription(
      url: try XCTUnwrap(folder).file(name), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.sideTableOwners = [SyncTables.shared]
    return try OpenStore(description, model: MirrorModel.model)
  }

  /// A store with a folder of a title, whose account is on the hub.
  private func start(_ name: String, title: String = "root") async throws -> (store: OpenStore, service: SyncService) {
    let store = try open(name)
    try store.insert("Folder", ["title": .text(title)])
    let service = try await SyncService.start(
      store.persistentStore, of: store.coordinator, hubPath: try hubPath, recoveryKey: try .random(), deviceName: name)
    try await service.synchronize()
    return (store, service)
  }

  private func request(
    _ store: OpenStore, account: AccountID? = nil, timeout: Duration = .seconds(60)
  ) async throws -> JoinAttempt {
    try await SyncService.requestToJoin(
      store.persistentStore, of: store.coordinator, hubPath: try hubPath, account: account, deviceName: "new device", timeout: timeout)
  }

  private func approval(_ store: OpenStore, hub: (any HubConnection)? = nil) throws -> JoinApproval {
    try JoinApproval(store.persistentStore, of: store.coordinator, hub: hub)
  }

  /// Waits for a number of requests at the user's side.
  private static func pending(_ approval: JoinApproval, count: Int = 1) async throws -> [PendingJoin] {
    while true {
      let requests = try await approval.requests()
      if requests.count >= count { return requests }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private func account(of service: SyncService) async throws -> AccountID {
    let record = RecordID(try await service.status().account)
    return AccountID(high: record.high, low: record.low)
  }

  private func leftovers(_ service: SyncService) async throws -> Int {
    try await service.hub.joinRequests(of: account(of: service)).count
  }

  private func assertThrows<Result>(
    _ code: SyncError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Result
  ) async {
    do {
      _ = try await body()
      XCTFail("no error", file: file, line: line)
    } catch { XCTAssertEqual((SyncError.converting(error, path: nil) as? SyncError)?.code, code, "\(error)", file: file, line: line) }
  }

  private func assertCanceled<Result>(file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Result) async {
    do {
      _ = try await body()
      XCTFail("no error", file: file, line: line)
    } catch { XCTAssertTrue(SyncError.converting(error, path: nil) is CancellationError, "\(error)", file: file, line: line) }
  }

  private func replica(_ store: OpenStore) throws -> StoreReplica { try StoreReplica(store.persistentStore, of: store.coordinator) }

  // MARK: Joining

  func testADeviceJoinsWhenTheUserHasComparedTheCodes() async throws {
    let (one, first) = try await start("one.store")
    let other = try open("other.store")
    try other.insert("Folder", ["title": .text("of the new device")])
    let attempt = try await request(other)
    async let shown = attempt.code()
    let approval = try approval(one)
    let requests = try await Self.pending(approval)
    let code = try await shown
    XCTAssertEqual(requests.map(\.code), [code])
    XCTAssertEqual(requests[0].deviceName, "new device")
    async let joined = attempt.complete()
    try await approval.approve(requests[0])
    let second = try await joined
    // The request was removed, or the repeated approval finds that it was approved.
    do { try await approval.approve(requests[0]) } catch { XCTAssertEqual((error as? SyncError)?.code, .joinRequestExpired) }
    try await second.synchronize()
    try await first.synchronize()
    for store in [one, other] { XCTAssertEqual(try store.count("Folder"), 2) }
    for service in [first, second] {
      let verification = try await service.verify()
      XCTAssertTrue(verification.isEqual)
    }
    let count = try await leftovers(first)
    XCTAssertEqual(count, 0)
    let (firstAccount, secondAccount) = (try await first.status().account, try await second.status().account)
    XCTAssertEqual(firstAccount, secondAccount)
    // The store goes on by itself, and can itself approve the next device.
    second.end()
    let third = try open("third.store")
    let next = try await request(third)
    async let nextCode = next.code()
    let nextApproval = try self.approval(other)
    let nextRequest = try await Self.pending(nextApproval)[0]
    _ = try await nextCode
    try await nextApproval.approve(nextRequest)
    try await next.complete().synchronize()
    XCTAssertEqual(try third.count("Folder"), 2)
  }

  func testOfSeveralRequestsTheOneWithTheComparedCodeIsApproved() async throws {
    let (one, first) = try await start("one.store")
    let stores = try ["b.store", "c.store", "d.store"].map(open)
    let attempts = [try await request(stores[0]), try await request(stores[1]), try await request(stores[2])]
    let approval = try approval(one)
    async let codes = [attempts[0].code(), attempts[1].code(), attempts[2].code()]
    let requests = try await Self.pending(approval, count: 3)
    let shown = try await codes
    XCTAssertEqual(Set(requests.map(\.code)), Set(shown))
    let wanted = try XCTUnwrap(requests.first { $0.code == shown[1] })
    let refused = try XCTUnwrap(requests.first { $0.code == shown[0] })
    try await approval.approve(wanted)
    try await approval.refuse(refused)
    try await attempts[1].complete().synchronize()
    XCTAssertEqual(try stores[1].count("Folder"), 1)
    await assertThrows(.joinRefused) { try await attempts[0].complete() }
    await attempts[2].cancel()
    let count = try await leftovers(first)
    XCTAssertEqual(count, 0)
    for store in [stores[0], stores[2]] {
      XCTAssertEqual(try store.count("Folder"), 0)
      // The store is free.
      let again = try await request(store)
      await again.cancel()
    }
  }

  func testAnApproverThatEndsAtAnyPointIsContinued() async throws {
    let (one, first) = try await start("one.store")
    let other = try open("other.store")
    let attempt = try await request(other)
    async let shown = attempt.code()
    // Each look at the requests is one of another process.
    var request: PendingJoin?
    while request == nil { request = try await approval(one).requests().first }
    let known = try XCTUnwrap(request)
    let code = try await shown
    XCTAssertEqual(known.code, code)
    let again = try await approval(one).requests()
    XCTAssertEqual(again, [known])
    try await approval(one).approve(known)
    // After the approval and before the new device has seen it.
    try await approval(one).approve(known)
    await assertThrows(.joinRequestExpired) { try await self.approval(one).refuse(known) }
    try await attempt.complete().synchronize()
    XCTAssertEqual(try other.count("Folder"), 1)
    let count = try await leftovers(first)
    XCTAssertEqual(count, 0)
  }

  // MARK: Ends

  func testARefusedDeviceDoesNotJoin() async throws {
    let (one, first) = try await start("one.store")
    let other = try open("other.store")
    let attempt = try await request(other)
    async let shown = attempt.code()
    let approval = try approval(one)
    let request = try await Self.pending(approval)[0]
    _ = try await shown
    try await approval.refuse(request)
    try await approval.refuse(request)
    await assertThrows(.joinRequestExpired) { try await approval.approve(request) }
    await assertThrows(.joinRefused) { try await attempt.complete() }
    await assertThrows(.joinRequestExpired) { try await attempt.complete() }
    let count = try await leftovers(first)
    XCTAssertEqual(count, 0)
    XCTAssertNoThrow(try replica(other).checkCanBegin())
  }

  func testACanceledAttemptLeavesNothing() async throws {
    let (one, first) = try await start("one.store")
    let other = try open("other.store")
    // By its task, while it waits for an answer.
    let waiting = try await request(other)
    let task = Task { try await waiting.code() }
    while try await leftovers(first) == 0 { try await Task.sleep(for: .milliseconds(20)) }
    task.cancel()
    await assertCanceled { try await task.value }
    var count = try await leftovers(first)
    XCTAssertEqual(count, 0)
    // By its user, while it waits for the approval.
    let attempt = try await request(other)
    async let shown = attempt.code()
    let approval = try approval(one)
    let request = try await Self.pending(approval)[0]
    _ = try await shown
    let joined = Task { try await attempt.complete() }
    await Task.yield()
    await attempt.cancel()
    let result = await joined.result
    XCTAssertThrowsError(try result.get())
    count = try await leftovers(first)
    XCTAssertEqual(count, 0)
    await assertThrows(.joinRequestExpired) { try await approval.approve(request) }
    XCTAssertNoThrow(try replica(other).checkCanBegin())
  }

  func testARequestThatIsNotAnsweredInTimeExpires() async throws {
    let (_, first) = try await start("one.store")
    let other = try open("other.store")
    let attempt = try await request(other, timeout: .milliseconds(100))
    await assertThrows(.joinRequestExpired) { try await attempt.code() }
    let count = try await leftovers(first)
    XCTAssertEqual(count, 0)
  }

  func testRequestsOfDevicesThatWereKilledAreRemovedWhenTheyHaveExpired() async throws {
    let (one, first) = try await start("one.store")
    let id = try await account(of: first)
    let now = Mutex<Int64>(1_000_000)
    let hub = EmbeddedHub(path: try hubPath, hashing: ZoneHashing(zone: ZoneID(high: 0, low: 0)), clock: { now.withLock { $0 } })
    try await hub.postJoinRequest(UUID(), [1], to: id)
    now.withLock { $0 += HubJoinRequest.lifetime }
    let other = try open("other.store")
    let attempt = try await request(other)
    async let shown = attempt.code()
    let approval = try approval(one)
    let pending = try await Self.pending(approval)[0]
    _ = try await shown
    try await approval.approve(pending)
    try await attempt.complete().synchronize()
    now.withLock { $0 = 0 }
    let count = try await hub.joinRequests(of: id).count
    XCTAssertEqual(count, 0, "also those that a clock in the past would show")
    await hub.close()
  }

  func testTheLeaseIsTakenByAnAttempt() async throws {
    _ = try await start("one.store")
    let other = try open("other.store")
    let attempt = try await request(other)
    await assertThrows(.busy) { try await self.request(other) }
    await attempt.cancel()
    let again = try await request(other)
    await again.cancel()
  }

  func testAnAccountIsChosenByItsIDIfTheHubHasSeveral() async throws {
    let other = try open("other.store")
    await assertThrows(.hubUnavailable) { try await self.request(other) }
    let (one, first) = try await start("one.store", title: "first")
    let (_, second) = try await start("two.store", title: "second")
    await assertThrows(.accountNotFound) { try await self.request(other) }
    await assertThrows(.accountNotFound) { try await self.request(other, account: AccountID(high: 1, low: 1)) }
    let attempt = try await request(other, account: try await account(of: first))
    async let shown = attempt.code()
    let approval = try approval(one)
    let request = try await Self.pending(approval)[0]
    _ = try await shown
    let unrelated = try await leftovers(second)
    XCTAssertEqual(unrelated, 0)
    try await approval.approve(request)
    try await attempt.complete().synchronize()
    XCTAssertEqual(try other.count(.init(entityName: "Folder", predicate: .compare("title", .equal, "first"))), 1)
  }

  // MARK: A hub that attacks

  func testAHubThatJoinsInTheMiddleShowsDifferentCodes() async throws {
    let (one, first) = try await start("one.store")
    let (two, second) = try await start("attacker.store")
    let (victim, attackers) = (try await account(of: first), try await account(of: second))
    let (other, relay) = (try open("other.store"), try open("relay.store"))
    // The hub shows the requests of the new device to the attacker, and a request of its own to the existing device.
    let hub = RedirectingHub(first.hub, victim, to: attackers)
    let attempt = try await SyncService.requestToJoin(
      other.persistentStore, of: other.coordinator, hub: hub, hubPath: try hubPath, account: victim, deviceName: "new device",
      timeout: .seconds(60))
    let relayed = try await request(relay, account: victim)
    async let codes = (attempt.code(), relayed.code())
    let (approval, attack) = (try approval(one), try approval(two))
    async let seenByAttacker = Self.pending(attack)
    let seen = try await Self.pending(approval)[0]
    let answered = try await seenByAttacker[0]
    let (onNewDevice, onRelay) = try await codes
    XCTAssertEqual(onRelay, seen.code)
    XCTAssertNotEqual(onNewDevice, seen.code, "equal with a probability of 1 in 1,000,000")
    // Even if the user does not compare them, the new device does not join an account that it has not requested.
    try await attack.approve(answered)
    await assertThrows(.joinRefused) { try await attempt.complete() }
    XCTAssertNoThrow(try replica(other).checkCanBegin())
    await relayed.cancel()
  }

  func testAHubGetsAFewAnswersOnly() async throws {
    let (one, first) = try await start("one.store")
    let id = try await account(of: first)
    for number in 0..<30 {
      let commitment = JoinMessage.commitment(Digest(UInt64(number), 0, 0, 0))
      try await first.hub.postJoinRequest(UUID(), commitment.encoded(), to: id)
    }
    for bytes in [[], [1], [9, 9, 9], JoinMessage.refusal.encoded()] as [[UInt8]] {
      try await first.hub.postJoinRequest(UUID(), bytes, to: id)
    }
    let approval = try approval(one)
    for _ in 0..<5 {
      let requests = try await approval.requests()
      XCTAssertEqual(requests, [])
    }
    let answers = try await first.hub.joinRequests(of: id).filter { $0.answer != nil }
    XCTAssertEqual(answers.count, 10)
  }
}
