import Foundation
import SQLCipherConnection
import StoreKeys
import SyncCore
import XCTest
import _TestSupport

@testable import SyncHub

/// The specification for a zone in a hub's file, and comparisons of the file with the storage in memory.
final class SQLCipherHubStorageTests: HubStorageSpecification {
  private var files: [TestHub] = []

  override func tearDown() { files = [] }

  override func makeZone(_ limits: Hub.Limits = Hub.Limits()) throws -> TestZone {
    let file = try TestHub()
    files.append(file)
    let session = try waitFor { [path = file.path, account = file.account] in
      try await HubSessions.create(path, nil, HubOptions())
      let session = try await HubSessions(path: path, key: nil, options: HubOptions()).current()
      try session.write(HubCancellation()) { try HubAccountTables($0).create(account) }
      return session
    }
    return zone(session, file.zone, limits)
  }

  private func zone(_ session: HubSession, _ zone: ZoneID, _ limits: Hub.Limits) -> TestZone {
    let hub = Hub(TestHashing(), limits: limits)
    return TestZone(
      incarnation: session.metadata.incarnation,
      push: { commit in
        try session.write(HubCancellation()) { try hub.push(commit, to: SQLCipherHubStorage($0, zone: zone), at: TestZone.time) }
      },
      pull: { request in
        try session.read(HubCancellation()) { try hub.pull(request, from: SQLCipherHubStorage($0, zone: zone), at: TestZone.time) }
      },
      perform: { body in try session.write(HubCancellation()) { try body(hub, SQLCipherHubStorage($0, zone: zone)) } })
  }

  /// Random requests of devices, some of them wrong, have the same answers as with the storage in memory.
  func testAnswersEqualThoseOfTheStorageInMemory() throws {
    var random = SeededGenerator(seed: 4_711)
    var limits = Hub.Limits()
    (limits.bytesInPage, limits.recordsInBatch, limits.commitsInPage) = (2_000, 3, 7)
    let zone = try makeZone(limits)
    let hub = Hub(TestHashing(), limits: limits)
    let memory = MemoryHubStorage(incarnation: zone.incarnation)
    var devices = (1...4).map { TestDevice($0, incarnation: zone.incarnation) }
    var commits: [SealedCommit] = []
    var kinds: [String: Int] = [:]
    func compare(_ commit: SealedCommit) throws -> PushAnswer {
      let answer = try zone.push(commit)
      XCTAssertEqual(answer, try hub.push(commit, to: memory, at: TestZone.time))
      kinds[String("\(answer)".prefix(8)), default: 0] += 1
      return answer
    }
    for _ in 0..<RandomSteps.count(400) {
      let index = Int.random(in: 0..<4, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        let numbers = Set((0..<Int.random(in: 0...4, using: &random)).map { _ in UInt64.random(in: 0..<40, using: &random) })
        let bodies = numbers.sorted().map { ($0, [UInt8](repeating: UInt8($0), count: Int.random(in: 0...900, using: &random))) }
        let copy = devices[index]
        let commit = devices[index].commit(bodies, deleting: Set(numbers.prefix(1)))
        if let point = try compare(commit).point {
          devices[index].settle(commit, at: point)
          commits.append(commit)
        } else {
          devices[index] = copy
        }
      case 6: if let commit = commits.randomElement(using: &random) { _ = try compare(commit) }
      case 7:
        var lost = devices[index]
        if Bool.random(using: &random) { lost.base.head = Digest(1, 1, 1, 1) } else { lost.deviceSequence = 0 }
        _ = try compare(lost.commit(1))
      default:
        var (request, pages) = (devices[index].pullRequest(maximumCount: .random(in: 1...20, using: &random)), [PullPage]())
        while true {
          let answer = try zone.pull(request)
          XCTAssertEqual(answer, try hub.pull(request, from: memory, at: TestZone.time))
          let page = try XCTUnwrap(answer.page)
          pages.append(page)
          if page.isLast { break }
          request = request.next(after: page)
        }
        devices[index].receive(pages)
      }
    }
    XCTAssertEqual(Set(kinds.keys), ["accepted", "conflict", "diverged", "forked"], "\(kinds)")
  }

  /// SQLite finds the records of a page, and of a version, by indexes that begin with the zone.
  func testStatementsUseKeysThatBeginWithTheZone() throws {
    let file = try TestHub()
    let session = try waitFor { [path = file.path] in
      try await HubSessions.create(path, nil, HubOptions())
      return try await HubSessions(path: path, key: nil, options: HubOptions()).current()
    }
    try session.read(HubCancellation()) { connection in
      for statement in HubStatement.allCases {
        let plan = try connection.statement(sql: "EXPLAIN QUERY PLAN " + statement.sql)
        var steps: [String] = []
        while try plan.step() { steps.append(plan.text(3)) }
        plan.reset()
        // Metadata, accounts and zones are few.
        let reads = ["record", "commit_log", "device", "join_request", "certificate"].filter { table in
          steps.contains { $0.hasPrefix("SCAN TABLE \(table)") }
        }
        XCTAssertEqual(reads, statement == .removeExpiredRequests ? ["join_request"] : [], "\(statement): \(steps)")
        XCTAssertFalse(steps.contains { $0.contains("USE TEMP B-TREE") } && statement == .records, "\(statement): \(steps)")
      }
    }
  }
}
