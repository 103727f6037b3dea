import Foundation
import SyncCore
import Synchronization
import XCTest

@testable import SyncHub

/// Accounts, their bundles and certificates, and requests to join them.
final class HubAccountTests: XCTestCase {
  func testAnAccountIsCreatedOnce() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    try await hub.createAccount(file.account)
    let account = try await hub.account(file.account.id)
    XCTAssertEqual(account, HubAccount(id: file.account.id, bundle: file.account.bundle, zones: [file.account.zone]))
    let accounts = try await hub.accounts()
    XCTAssertEqual(accounts, [file.account.id])

    // The repetition succeeds although the account has changed since.
    try await hub.replaceBundle(of: account.id, with: HubBundle(generation: 2, bytes: [2]))
    try await hub.createAccount(file.account)
    let bundle = try await hub.account(account.id).bundle
    XCTAssertEqual(bundle, HubBundle(generation: 2, bytes: [2]))

    let other = NewHubAccount.test(2)
    let sameID = NewHubAccount(id: account.id, bundle: other.bundle, certificate: other.certificate, zone: other.zone)
    await assertThrows(.accountExists) { try await hub.createAccount(sameID) }
    let sameZone = NewHubAccount(id: other.id, bundle: other.bundle, certificate: other.certificate, zone: file.zone)
    await assertThrows(.zoneExists) { try await hub.createAccount(sameZone) }
    await assertThrows(.unknownAccount) { _ = try await hub.account(other.id) }
    try await hub.createAccount(other)
    let both = try await hub.accounts()
    XCTAssertEqual(both, [account.id, other.id])
  }

  func testABundleIsReplacedByTheNextGenerationOnly() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let id = file.account.id
    try await hub.replaceBundle(of: id, with: HubBundle(generation: 2, bytes: [2]))
    // A repetition.
    try await hub.replaceBundle(of: id, with: HubBundle(generation: 2, bytes: [2]))
    for (generation, bytes) in [(2, [3]), (1, [1]), (4, [4]), (0, [])] as [(Int64, [UInt8])] {
      await assertThrows(.generationConflict) {
        try await hub.replaceBundle(of: id, with: HubBundle(generation: generation, bytes: bytes))
      }
    }
    let bundle = try await hub.account(id).bundle
    XCTAssertEqual(bundle, HubBundle(generation: 2, bytes: [2]))
    await assertThrows(.unknownAccount) {
      try await hub.replaceBundle(of: AccountID(high: 9, low: 9), with: HubBundle(generation: 2, bytes: []))
    }
  }

  func testOfConcurrentReplacementsOneSucceeds() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let hubs = [hub, file.connect(), file.connect()]
    let successes = await withTaskGroup(of: Bool.self) { group in
      for index in 0..<12 {
        group.addTask {
          let bundle = HubBundle(generation: 2, bytes: [UInt8(index)])
          do {
            try await hubs[index % 3].replaceBundle(of: file.account.id, with: bundle)
            return true
          } catch {
            XCTAssertEqual((error as? HubError)?.code, .generationConflict, "\(error)")
            return false
          }
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    XCTAssertEqual(successes, 1)
  }

  func testCertificatesFormAChain() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    let id = file.account.id
    func certificate(_ number: UInt64) -> HubCertificate { HubCertificate(digest: Digest(number, 0, 0, 0), bytes: [UInt8(number)]) }
    let first = file.account.certificate
    try await hub.appendCertificate(certificate(2), after: first.digest, to: id)
    try await hub.appendCertificate(certificate(3), after: certificate(2).digest, to: id)
    // Repetitions, also of one that others follow.
    try await hub.appendCertificate(certificate(2), after: first.digest, to: id)
    try await hub.appendCertificate(certificate(3), after: certificate(2).digest, to: id)
    for previous in [first.digest, certificate(2).digest, Digest(8, 8, 8, 8)] {
      await assertThrows(.certificateConflict) { try await hub.appendCertificate(certificate(4), after: previous, to: id) }
    }
    await assertThrows(.certificateConflict) { try await hub.appendCertificate(certificate(3), after: first.digest, to: id) }
    let chain = try await file.connect().certificates(of: id)
    XCTAssertEqual(chain, [first, certificate(2), certificate(3)])
    await assertThrows(.unknownAccount) { _ = try await hub.certificates(of: AccountID(high: 9, low: 9)) }
  }

  func testJoinRequestsAreAnsweredAndExpire() async throws {
    let file = try TestHub()
    _ = try await file.create()
    let time = Mutex<Int64>(1_000_000)
    let hub = file.connect { time.withLock { $0 } }
    let (id, other, account) = (UUID(), UUID(), file.account.id)
    let expiry = try await hub.postJoinRequest(id, [1, 2], to: account)
    XCTAssertEqual(expiry, 1_600_000)
    time.withLock { $0 += 1_000 }
    let again = try await hub.postJoinRequest(id, [1, 2], to: account)
    XCTAssertEqual(again, expiry)
    await assertThrows(.joinRequestConflict) { try await hub.postJoinRequest(id, [3], to: account) }
    try await hub.postJoinRequest(other, [], to: account)

    try await hub.answerJoinRequest(id, with: [9], of: account)
    try await hub.answerJoinRequest(id, with: [9], of: account)
    await assertThrows(.joinRequestConflict) { try await hub.answerJoinRequest(id, with: [8], of: account) }
    var requests = try await hub.joinRequests(of: account)
    XCTAssertEqual(
      requests,
      [
        HubJoinRequest(id: id, bytes: [1, 2], expiry: expiry, answer: [9]),
        HubJoinRequest(id: other, bytes: [], expiry: expiry + 1_000, answer: nil),
      ])
    try await hub.removeJoinRequest(other, of: account)
    try await hub.removeJoinRequest(other, of: account)
    await assertThrows(.unknownJoinRequest) { try await hub.answerJoinRequest(other, with: [], of: account) }

    time.withLock { $0 = expiry - 1 }
    requests = try await hub.joinRequests(of: account)
    XCTAssertEqual(requests.count, 1)
    time.withLock { $0 = expiry }
    requests = try await hub.joinRequests(of: account)
    XCTAssertEqual(requests, [])
    await assertThrows(.unknownJoinRequest) { try await hub.answerJoinRequest(id, with: [9], of: account) }
    // The ID is free again.
    let next = try await hub.postJoinRequest(id, [5], to: account)
    XCTAssertEqual(next, expiry + HubJoinRequest.lifetime)
    for call in [
      { try await hub.postJoinRequest(id, [], to: AccountID(high: 9, low: 9)) },
      { _ = try await hub.joinRequests(of: AccountID(high: 9, low: 9)) },
      { try await hub.answerJoinRequest(id, with: [], of: AccountID(high: 9, low: 9)) },
      { try await hub.removeJoinRequest(id, of: AccountID(high: 9, low: 9)) },
    ] as [() async throws -> Void] {
      await assertThrows(.unknownAccount, call)
    }
  }
}
