import Foundation
import SyncCore
import XCTest
import _TestSupport

@testable import SyncHub

/// A zone of a hub under test.
struct TestZone {
  let incarnation: Incarnation
  let push: (SealedCommit) throws -> PushAnswer
  let pull: (PullRequest) throws -> PullAnswer
  /// Calls a closure with the hub and the storage of the zone, in one transaction.
  let perform: ((Hub, any HubStorage) throws -> Void) throws -> Void

  static let time: Int64 = 1_000_000

  func pages(_ request: PullRequest) throws -> [PullPage] {
    var (pages, request): ([PullPage], PullRequest) = ([], request)
    while true {
      let page = try XCTUnwrap(try pull(request).page)
      pages.append(page)
      if page.isLast { return pages }
      request = request.next(after: page)
    }
  }
}

/// What every storage of a hub does, shown here for one in memory. A subclass runs the same tests with another storage.
class HubStorageSpecification: XCTestCase {
  func makeZone(_ limits: Hub.Limits = Hub.Limits()) throws -> TestZone {
    let storage = MemoryHubStorage(incarnation: Incarnation(5))
    let hub = Hub(TestHashing(), limits: limits)
    return TestZone(
      incarnation: Incarnation(5), push: { try hub.push($0, to: storage, at: TestZone.time) },
      pull: { try hub.pull($0, from: storage, at: TestZone.time) }, perform: { try $0(hub, storage) })
  }

  func testCommitsGetNumbersInTheirOrder() throws {
    let zone = try makeZone()
    var (one, other) = (TestDevice(1, incarnation: zone.incarnation), TestDevice(2, incarnation: zone.incarnation))
    let commits = [one.commit(1), other.commit(2), other.commit(3), one.commit(4)]
    var head = Digest.zero
    for (index, commit) in commits.enumerated() {
      head = TestHashing().head(after: head, adding: commit.digest)
      let answer = try zone.push(commit)
      XCTAssertEqual(answer, .accepted(ChainPoint(sequence: Int64(index) + 1, head: head), hubTime: TestZone.time))
    }
    let page = try XCTUnwrap(try zone.pull(TestDevice(3, incarnation: nil).pullRequest()).page)
    XCTAssertEqual(page.commits.map(\.sequence), [1, 2, 3, 4])
    XCTAssertEqual(page.commits.map(\.digest), commits.map(\.digest))
    XCTAssertEqual(page.commits.map(\.device.value), [1, 2, 2, 1])
    XCTAssertEqual(page.commits.map(\.deviceSequence), [1, 1, 2, 2])
    XCTAssertEqual(page.records.map(\.name), [1, 2, 3, 4].map(TestDevice.name))
    XCTAssertEqual(page.head, ChainPoint(sequence: 4, head: head))
    XCTAssertEqual(page.incarnation, zone.incarnation)
    XCTAssertTrue(page.isLast)
  }

  private static let day: Int64 = 24 * 3_600_000

  func testDeletionsAreRemovedWhenAllDevicesKnowOfThem() throws {
    var limits = Hub.Limits()
    limits.commitsUntilCleanup = 1
    let zone = try makeZone(limits)
    var (one, other) = (TestDevice(1, incarnation: zone.incarnation), TestDevice(2, incarnation: zone.incarnation))
    try zone.perform { hub, storage in
      func push(_ commit: SealedCommit, day: Int64) throws {
        one.settle(commit, at: try XCTUnwrap(try hub.push(commit, to: storage, at: day * Self.day).point))
      }
      func pull(_ device: inout TestDevice, day: Int64) throws -> PullAnswer {
        var request = device.pullRequest()
        request.device = device.id
        if try hub.mustAcknowledge(request, in: storage, at: day * Self.day) {
          try hub.acknowledge(request, in: storage, at: day * Self.day)
        }
        let answer = try hub.pull(request, from: storage, at: day * Self.day)
        if let page = answer.page { device.receive([page]) }
        return answer
      }
      func deletedCount() throws -> Int {
        try storage.records(after: nil, since: 0, omittingDeletedThrough: 0, maximumCount: 100).count(where: \.isDeleted)
      }
      for device in 0..<2 { _ = device == 0 ? try pull(&one, day: 1) : try pull(&other, day: 1) }
      try push(one.commit((1...5).map { ($0, [1]) }), day: 1)
      try push(one.commit([(1, []), (2, [])], deleting: [1, 2]), day: 1)
      try push(one.commit(6), day: 20)
      XCTAssertEqual(try deletedCount(), 2, "They are new.")
      _ = try pull(&one, day: 40)
      try push(one.commit(7), day: 40)
      XCTAssertEqual(try deletedCount(), 2, "A device does not know of them.")
      XCTAssertEqual(try storage.floor(), 0)
      _ = try pull(&one, day: 200)
      try push(one.commit(8), day: 200)
      XCTAssertEqual(try deletedCount(), 0, "That device is away.")
      XCTAssertEqual(try storage.floor(), 2)
      // It has never pulled a commit. It receives what is there.
      XCTAssertEqual(try pull(&other, day: 201).page?.records.count, 6)
      // A device that is behind.
      var third = TestDevice(3, incarnation: zone.incarnation)
      third.base = ChainPoint(sequence: 1, head: try XCTUnwrap(try storage.chainHead(at: 1)))
      let late = third.commit(9)
      guard case .truncated(let truncation) = try pull(&third, day: 201) else { return XCTFail("A page is returned.") }
      XCTAssertEqual(truncation.head, try storage.head())
      XCTAssertEqual(try hub.push(late, to: storage, at: 201 * Self.day), .truncated(hubTime: 201 * Self.day))
      // The names can be used again.
      one.versions[TestDevice.name(1)] = nil
      try push(one.commit(1), day: 201)
    }
  }

  func testNewDevicesReceiveNoDeletionsFromBeforeTheirPull() throws {
    let zone = try makeZone()
    var one = TestDevice(1, incarnation: zone.incarnation)
    try zone.perform { hub, storage in
      func push(_ commit: SealedCommit) throws {
        one.settle(commit, at: try XCTUnwrap(try hub.push(commit, to: storage, at: TestZone.time).point))
      }
      try push(one.commit((1...9).map { ($0, [1]) }))
      try push(one.commit([(1, []), (2, [])], deleting: [1, 2]))
      var request = TestDevice(2, incarnation: nil).pullRequest(maximumCount: 4)
      request.omitsDeleted = true
      let first = try XCTUnwrap(try hub.pull(request, from: storage, at: TestZone.time).page)
      try push(one.commit([(3, []), (4, [])], deleting: [3, 4]))
      request = request.next(after: first)
      request.start = first.head.sequence
      var records = first.records
      while true {
        let page = try XCTUnwrap(try hub.pull(request, from: storage, at: TestZone.time).page)
        records += page.records
        if page.isLast { break }
        request = request.next(after: page)
      }
      let deleted = Set(records.filter(\.isDeleted).map(\.name))
      XCTAssertEqual(deleted, [TestDevice.name(3), TestDevice.name(4)])
    }
  }

  func testTheSumIsThatOfTheRecordsThatAreNotDeleted() throws {
    let zone = try makeZone()
    var one = TestDevice(1, incarnation: zone.incarnation)
    var random = SeededGenerator(seed: 12)
    for _ in 0..<20 {
      let numbers = Set((0..<5).map { _ in UInt64.random(in: 0..<30, using: &random) })
      let commit = one.commit(numbers.sorted().map { ($0, [1]) }, deleting: Set(numbers.prefix(2)))
      one.settle(commit, at: try XCTUnwrap(try zone.push(commit).point))
    }
    try zone.perform { hub, storage in
      var sum = RecordSum()
      let all = try storage.versions(in: NameRange.all.names, maximumCount: 100)
      for record in all { try sum.add(record, TestHashing()) }
      XCTAssertEqual(try storage.sum(), sum)
      XCTAssertEqual(sum.count, Int64(all.count))
      XCTAssertTrue(all.count > 5 && all.count < 30)
      // The sums of the parts, the versions and the records.
      let point = try storage.head()
      func verify(_ query: VerificationRequest.Query, isExact: Bool = true) throws -> VerificationAnswer {
        try hub.verify(VerificationRequest(zone.incarnation, at: point, isExact: isExact, query), in: storage)
      }
      guard case .sums(let parts) = try verify(.sums(of: [.all])) else { return XCTFail("no sums") }
      XCTAssertEqual(parts.count, 256)
      XCTAssertEqual(parts.reduce(RecordSum(), +), sum)
      var (listed, last): ([RecordVersion], RecordName?) = ([], nil)
      while true {
        guard case .versions(let page, let isLast) = try verify(.versions(in: NameRange.all.parts, after: last, maximumCount: 3)) else {
          return XCTFail("no versions")
        }
        listed += page
        last = page.last?.name
        if isLast { break }
      }
      XCTAssertEqual(listed, all)
      let names = [TestDevice.name(100), all[0].name, all[1].name]
      guard case .records(let records, 3) = try verify(.records(names)) else { return XCTFail("no records") }
      XCTAssertEqual(records.map(\.name), [all[0].name, all[1].name])
      // Another device pushes.
      _ = try hub.push(one.commit(200), to: storage, at: TestZone.time)
      XCTAssertEqual(try verify(.sums(of: [.all])), .moved)
      XCTAssertNotEqual(try verify(.sums(of: [.all]), isExact: false), .moved)
    }
  }

  func testPartsAreAddedTogetherWithTheLastOne() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    var parts = (1...3).map { device.commit($0) }
    for index in parts.indices {
      parts[index].deviceSequence = 1
      parts[index].part = CommitPart(number: Int64(index), previous: index == 0 ? nil : parts[index - 1].digest, isLast: index == 2)
    }
    let reader = TestDevice(2, incarnation: nil)
    for part in [parts[0], parts[1], parts[0], parts[1]] {
      XCTAssertEqual(try zone.push(part), .staged(hubTime: TestZone.time))
      XCTAssertEqual(try zone.pages(reader.pullRequest()).flatMap(\.records).count, 0)
    }
    guard case .accepted(let point, _) = try zone.push(parts[2]) else { return XCTFail("It is not accepted.") }
    XCTAssertEqual(point.sequence, 1)
    XCTAssertEqual(try zone.push(parts[2]), .accepted(point, hubTime: TestZone.time))
    let pages = try zone.pages(reader.pullRequest())
    XCTAssertEqual(pages.flatMap(\.records).map(\.sequence), [1, 1, 1])
    XCTAssertEqual(pages.flatMap(\.commits).map(\.digest), [parts[2].digest])
  }

  func testPartsOfAnAbandonedCommitAreDropped() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    var part = device.commit(1)
    part.part = CommitPart(number: 0, previous: nil, isLast: false)
    XCTAssertEqual(try zone.push(part), .staged(hubTime: TestZone.time))
    let whole = device.commit(2)
    guard case .accepted = try zone.push(whole) else { return XCTFail("It is not accepted.") }
    XCTAssertEqual(try zone.pages(TestDevice(2, incarnation: nil).pullRequest()).flatMap(\.records).map(\.name), [TestDevice.name(2)])
    var late = device.commit(3)
    late.part = CommitPart(number: 1, previous: part.digest, isLast: true)
    XCTAssertEqual(try zone.push(late), .incomplete(hubTime: TestZone.time))
  }

  func testPartsOfACommitThatIsNotContinuedAreDropped() throws {
    var limits = Hub.Limits()
    // All parts are old as soon as another device stages one.
    limits.partLifetime = -1
    let zone = try makeZone(limits)
    var (one, other) = (TestDevice(1, incarnation: zone.incarnation), TestDevice(2, incarnation: zone.incarnation))
    func parts(_ commits: [SealedCommit]) -> [SealedCommit] {
      var parts = commits
      parts[0].part = CommitPart(number: 0, previous: nil, isLast: false)
      parts[1].part = CommitPart(number: 1, previous: parts[0].digest, isLast: true)
      parts[1].deviceSequence = parts[0].deviceSequence
      return parts
    }
    let (abandoned, complete) = (parts([one.commit(1), one.commit(2)]), parts([other.commit(3), other.commit(4)]))
    XCTAssertEqual(try zone.push(abandoned[0]), .staged(hubTime: TestZone.time))
    XCTAssertEqual(try zone.push(complete[0]), .staged(hubTime: TestZone.time))
    XCTAssertEqual(try zone.push(abandoned[1]), .incomplete(hubTime: TestZone.time))
    guard case .accepted = try zone.push(complete[1]) else { return XCTFail("It is not accepted.") }
    XCTAssertEqual(
      Set(try zone.pages(TestDevice(3, incarnation: nil).pullRequest()).flatMap(\.records).map(\.name)),
      [TestDevice.name(3), TestDevice.name(4)])
  }

  func testRecordsOfACommitAreInTheOrderOfTheirNames() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    _ = try zone.push(device.commit(1))
    _ = try zone.push(device.commit((2...60).map { ($0, [UInt8($0)]) }))
    let pages = try zone.pages(TestDevice(2, incarnation: nil).pullRequest(maximumCount: 7))
    let names = pages.flatMap(\.records).map(\.name)
    XCTAssertEqual(names, [TestDevice.name(1)] + (2...60).map(TestDevice.name).sorted())
  }

  func testExtremeNamesAndNumbersArePulled() throws {
    let zone = try makeZone()
    let names = [
      RecordName(.zero), RecordName(Digest(0, 0, 0, 1)), RecordName(Digest(1 << 63, 0, 0, 0)), RecordName(Digest(.max, .max, .max, .max)),
    ]
    var device = TestDevice(.max, incarnation: zone.incarnation)
    for _ in 0..<2 {
      var commit = device.commit()
      commit.records = names.map { name in
        SealedRecord(
          name: name, replacedVersion: device.versions[name],
          version: TestHashing().digest(of: name.digest.allWords + commit.digest.allWords), isDeleted: false, body: [])
      }
      device.settle(commit, at: try XCTUnwrap(try zone.push(commit).point))
    }
    var other = TestDevice(2, incarnation: nil)
    let pages = try zone.pages(other.pullRequest(maximumCount: 1))
    XCTAssertEqual(pages.flatMap(\.records).map(\.name), names)
    XCTAssertEqual(pages.flatMap(\.records).map(\.sequence), [2, 2, 2, 2])
    XCTAssertEqual(pages.flatMap(\.commits).map(\.device.value), [.max, .max])
    // Nothing follows the last name of the last commit.
    other.receive(pages)
    XCTAssertEqual(try zone.pages(other.pullRequest()).flatMap(\.records), [])
  }

  func testARepeatedCommitGetsItsFirstAnswer() throws {
    let zone = try makeZone()
    var (one, other) = (TestDevice(1, incarnation: zone.incarnation), TestDevice(2, incarnation: zone.incarnation))
    let commit = one.commit(1, 2)
    let answer = try zone.push(commit)
    XCTAssertNotNil(answer.point)
    other.receive(try zone.pages(other.pullRequest()))
    XCTAssertEqual(try zone.push(other.commit(1)).point?.sequence, 2)
    XCTAssertEqual(try zone.push(commit), answer)
    let page = try XCTUnwrap(try zone.pull(TestDevice(3, incarnation: nil).pullRequest()).page)
    XCTAssertEqual(page.head.sequence, 2)
    XCTAssertEqual(page.records.first { $0.name == TestDevice.name(1) }?.sequence, 2, "the repetition must not revert the other device's")
  }

  func testAChangeOfAnOlderVersionIsAConflictAndChangesNothing() throws {
    let zone = try makeZone()
    var (one, other) = (TestDevice(1, incarnation: zone.incarnation), TestDevice(2, incarnation: zone.incarnation))
    XCTAssertNotNil(try zone.push(one.commit(1, body: "first")).point)
    // Another device inserts the record too, and a further one.
    let conflicting = other.commit(2, 1, body: "second")
    XCTAssertEqual(try zone.push(conflicting), .conflict(hubTime: TestZone.time))
    let page = try XCTUnwrap(try zone.pull(other.pullRequest()).page)
    XCTAssertEqual(page.records.map(\.body), [Array("first".utf8)])
    XCTAssertEqual(page.head.sequence, 1)
    // After a pull it is based on the newest version. The number of the refused commit was not used.
    other.receive([page])
    let again = other.commit(2, 1, body: "second")
    XCTAssertEqual(try zone.push(again).point?.sequence, 2)
  }

  func testAReplacedRecordIsPulledOnceWithItsLastState() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    for number in 0..<20 {
      let commit = device.commit([(1, [UInt8(number)]), (2, [7])], deleting: number == 19 ? [1] : [])
      device.settle(commit, at: try XCTUnwrap(try zone.push(commit).point))
    }
    let page = try XCTUnwrap(try zone.pull(TestDevice(2, incarnation: nil).pullRequest()).page)
    XCTAssertEqual(page.commits.count, 20)
    XCTAssertEqual(page.records.count, 2)
    let record = try XCTUnwrap(page.records.first { $0.name == TestDevice.name(1) })
    XCTAssertEqual(record.body, [19])
    XCTAssertTrue(record.isDeleted)
    XCTAssertEqual(record.version, device.versions[record.name])
    XCTAssertEqual(page.records.map(\.sequence), [20, 20])
  }

  func testAnotherCommitUnderAUsedNumberIsAFork() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    var copy = device
    XCTAssertNotNil(try zone.push(device.commit(1)).point)
    XCTAssertEqual(try zone.push(copy.commit(2)), .forked)
    // An earlier number of the device too.
    XCTAssertNotNil(try zone.push(device.commit(3)).point)
    var older = TestDevice(1, incarnation: zone.incarnation)
    XCTAssertEqual(try zone.push(older.commit(4)), .forked)
  }

  func testPointsAndIncarnationsThatTheHubDoesNotHaveDiverge() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    device.settle(device.commit(1), at: ChainPoint())
    device.accepted = nil
    var other = TestDevice(2, incarnation: zone.incarnation)
    XCTAssertNotNil(try zone.push(other.commit(5)).point)
    let others = [(1, Digest(1, 2, 3, 4)), (2, .zero), (-1, .zero)].map { ChainPoint(sequence: $0, head: $1) }
    for point in others {
      var lost = device
      lost.base = point
      XCTAssertEqual(try zone.push(lost.commit(9)), .diverged(zone.incarnation))
      XCTAssertEqual(try zone.pull(lost.pullRequest()), .diverged(zone.incarnation))
      lost.base = ChainPoint()
      lost.accepted = point
      XCTAssertEqual(try zone.push(lost.commit(9)), .diverged(zone.incarnation))
      XCTAssertEqual(try zone.pull(lost.pullRequest()), .diverged(zone.incarnation))
    }
    device.incarnation = Incarnation(zone.incarnation.value &+ 1)
    XCTAssertEqual(try zone.push(device.commit(9)), .diverged(zone.incarnation))
    XCTAssertEqual(try zone.pull(device.pullRequest()), .diverged(zone.incarnation))
  }

  func testCommitsFarAheadOfTheClockAreRefused() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    let limit = TestZone.time + DeviceClock.tolerance
    XCTAssertEqual(try zone.push(device.commit([(1, [])], milliseconds: limit + 1)), .ahead(hubTime: TestZone.time))
    XCTAssertNotNil(try zone.push(device.commit([(1, [])], milliseconds: limit)).point)
  }

  /// Pulls in small pages while commits replace what was pulled, and compares the result with the records.
  func testPullsAreCompleteWhilePushesGoOn() throws {
    var random = SeededGenerator(seed: 31)
    for _ in 0..<RandomSteps.count(6) {
      var limits = Hub.Limits()
      limits.bytesInPage = Int.random(in: 1...400, using: &random)
      limits.commitsInPage = Int64.random(in: 1...12, using: &random)
      limits.recordsInBatch = Int.random(in: 1...6, using: &random)
      let zone = try makeZone(limits)
      var writer = TestDevice(1, incarnation: zone.incarnation)
      var reader = TestDevice(2, incarnation: nil)
      var bodies: [RecordName: [UInt8]] = [:]
      var pulled: [RecordName: [UInt8]] = [:]
      func push() throws {
        let numbers = Set((0..<Int.random(in: 1...5, using: &random)).map { _ in UInt64.random(in: 0..<30, using: &random) })
        let commit = writer.commit(numbers.sorted().map { ($0, [UInt8](repeating: .random(in: 0...9, using: &random), count: 40)) })
        writer.settle(commit, at: try XCTUnwrap(try zone.push(commit).point))
        for record in commit.records { bodies[record.name] = record.body }
      }
      for _ in 0..<10 {
        for _ in 0..<3 { try push() }
        var (request, pages) = (reader.pullRequest(maximumCount: .random(in: 1...9, using: &random)), [PullPage]())
        while true {
          let page = try XCTUnwrap(try zone.pull(request).page)
          pages.append(page)
          XCTAssertLessThanOrEqual(page.commits.count, Int(limits.commitsInPage))
          XCTAssertTrue(page.records.count <= 1 || page.records.reduce(0) { $0 + $1.body.count } <= limits.bytesInPage)
          if page.isLast { break }
          request = request.next(after: page)
          if pages.count < 20 { try push() }
        }
        for record in pages.flatMap(\.records) { pulled[record.name] = record.body }
        reader.receive(pages)
        XCTAssertEqual(pulled, bodies)
        XCTAssertEqual(reader.base, pages.last?.head)
        XCTAssertEqual(reader.base, writer.accepted)
        XCTAssertEqual(pages.flatMap(\.commits).map(\.sequence).sorted(), pages.flatMap(\.commits).map(\.sequence))
      }
    }
  }

  func testPagesAreBoundedByBytes() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    // The last record alone is larger than a page.
    for number in 1...30 as ClosedRange<UInt64> {
      let size = number == 30 ? 3 << 20 : 100_000
      XCTAssertNotNil(try zone.push(device.commit([(number, [UInt8](repeating: UInt8(number), count: size))])).point)
    }
    let pages = try zone.pages(TestDevice(2, incarnation: nil).pullRequest())
    XCTAssertEqual(pages.map(\.records.count), [10, 10, 9, 1])
    XCTAssertEqual(pages.flatMap(\.records).map(\.name), (1...30).map(TestDevice.name))
    XCTAssertEqual(pages.flatMap(\.commits).map(\.sequence), Array(1...30))
  }
}
