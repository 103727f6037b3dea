import Foundation
import StoreKeys
import SyncCore
import XCTest
import _TestSupport

@testable import SyncHub

/// Digests for tests: fast, and different for different texts in all probability.
struct TestHashing: CommitHashing {
  func head(after head: Digest, adding commit: Digest) -> Digest { digest(of: head.allWords + commit.allWords) }

  func digest(of bytes: [UInt8]) -> Digest { digest(of: bytes.map(UInt64.init) + [UInt64(bytes.count), 3]) }

  func digest(of words: [UInt64]) -> Digest {
    var (a, b): (UInt64, UInt64) = (0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B)
    for word in words {
      a = (a ^ word) &* 0xFF51_AFD7_ED55_8CCD
      a ^= a >> 31
      b = (b &+ a) &* 0xC4CE_B9FE_1A85_EC53
      b ^= b >> 33
    }
    return Digest(a, b, a &* b, UInt64(words.count))
  }
}

/// A device that seals commits, and knows the records that it has sent.
struct TestDevice {
  let id: DeviceID
  var incarnation: Incarnation?
  var deviceSequence: Int64 = 0
  var base = ChainPoint()
  var accepted: ChainPoint?
  /// The versions of records by name.
  var versions: [RecordName: Digest] = [:]

  init(_ number: UInt64, incarnation: Incarnation?) { (id, self.incarnation) = (DeviceID(number), incarnation) }

  /// Returns the name of the record with a number. Names have another order than numbers.
  static func name(_ number: UInt64) -> RecordName { RecordName(TestHashing().digest(of: [number, 7])) }

  /// Seals a commit.
  ///
  /// - Parameter records: The numbers and bodies of records.
  mutating func commit(
    _ records: [(number: UInt64, body: [UInt8])], deleting: Set<UInt64> = [], milliseconds: Int64 = 1_000
  ) -> SealedCommit {
    deviceSequence += 1
    var words = [id.value, UInt64(deviceSequence), base.head.words.0]
    let sealed = records.map { record in
      let name = Self.name(record.number)
      let version = TestHashing().digest(of: record.body.prefix(64).map(UInt64.init) + [id.value, UInt64(deviceSequence), record.number])
      words += version.allWords
      return SealedRecord(
        name: name, replacedVersion: versions[name], version: version, isDeleted: deleting.contains(record.number), body: record.body)
    }
    let commit = Commit(
      device: id, deviceSequence: deviceSequence, base: base, accepted: accepted, incarnation: incarnation ?? Incarnation(0),
      time: HybridTime(milliseconds: milliseconds), changes: [])
    return SealedCommit(commit, records: sealed, digest: TestHashing().digest(of: words))
  }

  mutating func commit(_ numbers: UInt64..., body: String = "body") -> SealedCommit { commit(numbers.map { ($0, Array(body.utf8)) }) }

  /// Records that a commit was accepted.
  mutating func settle(_ commit: SealedCommit, at point: ChainPoint) {
    accepted = point
    for record in commit.records { versions[record.name] = record.version }
  }

  /// Records pulled pages.
  mutating func receive(_ pages: [PullPage]) {
    for page in pages {
      incarnation = page.incarnation
      for entry in page.commits {
        base = ChainPoint(sequence: entry.sequence, head: TestHashing().head(after: base.head, adding: entry.digest))
      }
      for record in page.records { versions[record.name] = record.version }
    }
    if let accepted, accepted.sequence <= base.sequence { self.accepted = nil }
  }

  func pullRequest(maximumCount: Int = 1_000) -> PullRequest {
    PullRequest(
      incarnation: incarnation, base: base, known: [accepted].compactMap { $0 }, position: nil, listed: base, maximumCount: maximumCount)
  }
}

extension PullRequest {
  /// The request for the page after one.
  func next(after page: PullPage) -> PullRequest {
    var request = self
    request.incarnation = page.incarnation
    if let last = page.records.last { request.position = PagePosition(sequence: last.sequence, name: last.name) }
    for entry in page.commits {
      request.listed = ChainPoint(sequence: entry.sequence, head: TestHashing().head(after: request.listed.head, adding: entry.digest))
    }
    return request
  }
}

extension PushAnswer {
  /// The point of an accepted commit.
  var point: ChainPoint? { if case .accepted(let point, _) = self { point } else { nil } }
}

extension PullAnswer {
  var page: PullPage? { if case .page(let page) = self { page } else { nil } }
}

extension NewHubAccount {
  /// Returns an account with a zone of the same number.
  static func test(_ number: UInt64, bundle: String = "bundle") -> NewHubAccount {
    let bytes = Array("certificate \(number)".utf8)
    return NewHubAccount(
      id: AccountID(high: number, low: 1), bundle: HubBundle(generation: 1, bytes: Array(bundle.utf8)),
      certificate: HubCertificate(digest: TestHashing().digest(of: bytes.map(UInt64.init)), bytes: bytes),
      zone: ZoneID(high: number, low: 2))
  }
}

/// A folder with a hub and one account.
final class TestHub: Sendable {
  let folder: TemporaryFolder
  let account = NewHubAccount.test(1)
  var zone: ZoneID { account.zone }
  var path: String { folder.file("hub.store").path }

  init() throws { folder = try TemporaryFolder("CipherDataHub") }

  func create() async throws -> EmbeddedHub {
    let hub = try await EmbeddedHub.create(at: path, hashing: TestHashing())
    try await hub.createAccount(account)
    return hub
  }

  /// Returns another connection to the hub.
  func connect(key: StoreKey? = nil, busyTimeoutMilliseconds: Int = 30_000, clock: (@Sendable () -> Int64)? = nil) -> EmbeddedHub {
    var options = HubOptions()
    options.busyTimeoutMilliseconds = busyTimeoutMilliseconds
    guard let clock else { return EmbeddedHub(path: path, key: key, hashing: TestHashing(), options: options) }
    return EmbeddedHub(path: path, key: key, hashing: TestHashing(), options: options, clock: clock)
  }

  /// Returns a device that has pulled the zone.
  func device(_ number: UInt64, _ hub: EmbeddedHub) async throws -> TestDevice {
    var device = TestDevice(number, incarnation: nil)
    device.receive(try await hub.pullAll(device.pullRequest(), zone: zone))
    return device
  }

  /// The names of the hub's files.
  var names: [String] { folder.fileNames() }

  /// Replaces the hub's file by a copy of another one, as restoring a backup does.
  func restore(_ backup: URL) throws {
    let copy = folder.file("copy").path
    try FileManager.default.copyItem(atPath: backup.path, toPath: copy)
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    try FileManager.default.moveItem(atPath: copy, toPath: path)
  }
}

extension EmbeddedHub {
  /// Pulls all pages.
  func pullAll(_ request: PullRequest, zone: ZoneID) async throws -> [PullPage] {
    var (pages, request): ([PullPage], PullRequest) = ([], request)
    while true {
      let answer = try await pull(request, zone: zone)
      let page = try XCTUnwrap(answer.page)
      pages.append(page)
      if page.isLast { return pages }
      request = request.next(after: page)
    }
  }

  /// Pushes a new commit of a device, which must be accepted.
  @discardableResult
  func push(_ numbers: [UInt64], body: String = "body", from device: inout TestDevice, zone: ZoneID) async throws -> ChainPoint {
    let commit = device.commit(numbers.map { ($0, Array(body.utf8)) })
    let answer = try await push(commit, zone: zone)
    let point = try XCTUnwrap(answer.point)
    device.settle(commit, at: point)
    return point
  }
}

/// Asserts that an operation throws a `HubError` with a code.
@discardableResult
func assertThrows(
  _ code: HubError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Void
) async -> HubError? {
  do {
    try await body()
    XCTFail("expected \(code)", file: file, line: line)
  } catch let error as HubError {
    XCTAssertEqual(error.code, code, "\(error)", file: file, line: line)
    XCTAssertFalse(error.message.isEmpty, file: file, line: line)
    return error
  } catch {
    XCTFail("expected \(code), not \(error)", file: file, line: line)
  }
  return nil
}
