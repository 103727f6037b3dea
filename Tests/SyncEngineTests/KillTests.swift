import ObjectContext
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// A process that ends inside a transaction of synchronization leaves the store as it was before, and the next one continues.
final class KillTests: XCTestCase {
  /// A store whose process ends at a call.
  private final class FragileStore: SyncStore {
    struct Kill: Error {}
    let replica: StoreReplica
    private(set) var callCount = 0
    private let last: Int

    init(_ replica: StoreReplica, lastCall: Int) { (self.replica, last) = (replica, lastCall) }

    private func call() throws {
      if callCount == last { throw Kill() }
      callCount += 1
    }

    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
      try call()
      return try replica.transaction {
        let result = try body()
        // Before the commit.
        try call()
        return result
      }
    }
    func zone() throws -> ZoneState {
      try call()
      return try replica.zone()
    }
    func setZone(_ zone: ZoneState) throws {
      try call()
      try replica.setZone(zone)
    }
    func entry(of id: RecordID) throws -> RecordEntry? {
      try call()
      return try replica.entry(of: id)
    }
    func setEntry(_ entry: RecordEntry, of id: RecordID) throws {
      try call()
      try replica.setEntry(entry, of: id)
    }
    func records(after id: RecordID?, maximumCount: Int) throws -> [RecordID] {
      try call()
      return try replica.records(after: id, maximumCount: maximumCount)
    }
    func unsentRecords(after id: RecordID?, maximumCount: Int) throws -> [RecordID] {
      try call()
      return try replica.unsentRecords(after: id, maximumCount: maximumCount)
    }
    func pendingSaves(after number: Int64, maximumChangeCount: Int) throws -> [SyncCore.PendingSave] {
      try call()
      return try replica.pendingSaves(after: number, maximumChangeCount: maximumChangeCount)
    }
    func changes(of save: Int64, from position: Int, maximumCount: Int) throws -> [PendingChange] {
      try call()
      return try replica.changes(of: save, from: position, maximumCount: maximumCount)
    }
    func pendingChanges(of id: RecordID, after number: Int64) throws -> Record? {
      try call()
      return try replica.pendingChanges(of: id, after: number)
    }
    func restamp(_ stamps: [Int64: Stamp], additions: (Stamp) -> Stamp) throws {
      try call()
      try replica.restamp(stamps, additions: additions)
    }
    func renewRecords(_ ids: [RecordID]) throws -> [RecordID: RecordID] {
      try call()
      return try replica.renewRecords(ids)
    }
    func id(of link: Link) -> RecordID { replica.id(of: link) }
    func records(with key: UniqueKey) throws -> [RecordID] {
      try call()
      return try replica.records(with: key)
    }
    func redirect(_ successors: [RecordID: RecordID]) throws -> [RecordID] {
      try call()
      return try replica.redirect(successors)
    }
    func object(of id: RecordID) throws -> SyncedObject? {
      try call()
      return try replica.object(of: id)
    }
    func setObjects(_ changes: [(id: RecordID, object: SyncedObject?)]) throws {
      try call()
      try replica.setObjects(changes)
    }
    func referrers(of id: RecordID) throws -> [RecordID] {
      try call()
      return try replica.referrers(of: id)
    }
    func addToJournal(_ entry: JournalEntry) throws {
      try call()
      try replica.addToJournal(entry)
    }
    func noteUnmerged(_ value: UnmergedValue) throws {
      try call()
      try replica.noteUnmerged(value)
    }
    func outbox() throws -> FrozenCommit? {
      try call()
      return try replica.outbox()
    }
    func setOutbox(_ commit: FrozenCommit?) throws {
      try call()
      try replica.setOutbox(commit)
    }
    func setQuarantined(_ record: StoredRecord?, _ name: RecordName) throws {
      try call()
      try replica.setQuarantined(record, name)
    }
    func quarantined(_ name: RecordName) throws -> StoredRecord? {
      try call()
      return try replica.quarantined(name)
    }
    func quarantined(after name: RecordName?, maximumCount: Int) throws -> [StoredRecord] {
      try call()
      return try replica.quarantined(after: name, maximumCount: maximumCount)
    }
    func stage(_ records: [StoredRecord]) throws {
      try call()
      try replica.stage(records)
    }
    func stagedRecords(after position: Int, maximumCount: Int) throws -> [StoredRecord] {
      try call()
      return try replica.stagedRecords(after: position, maximumCount: maximumCount)
    }
    func removeStagedRecords() throws {
      try call()
      try replica.removeStagedRecords()
    }
  }

  /// Makes concurrent changes: the second store has pending saves, and something to import.
  private func change(_ one: SyncedStore, _ other: SyncedStore, _ checks: SyncChecks) throws {
    for store in [one, other, one] { try store.synchronize() }
    let (context, theirContext) = (one.open.newContext(), other.open.newContext())
    let root = try context.insert("Folder", ["title": "root"])
    let doomed = try context.insert("Folder", ["title": "doomed"])
    for title in ["a", "b"] { try context.insert("Note", ["title": title, "folder": title == "b" ? doomed : root]) }
    try context.save()
    try one.synchronize()
    try other.synchronize()
    context.delete(doomed)
    try context.insert("Cover", ["folder": root])
    try root.setValue("renamed", forKey: "title")
    try context.save()
    try checks.check(one, 0)
    try one.synchronize()
    let theirs = try XCTUnwrap(theirContext.all("Folder").first { $0.text("title") == "doomed" })
    try theirContext.insert("Note", ["title": "late", "folder": theirs])
    try theirContext.insert("Folder", ["title": "new"])
    try theirContext.save()
  }

  /// Ends the process at each call while an event is handled, and then lets all stores synchronize.
  ///
  /// - Parameter event: Brings the second store before the event, and returns it.
  private func kill(_ event: (SyncedStore) throws -> SyncClient.Event, file: StaticString = #filePath, line: UInt = #line) throws {
    var (one, other, checks) = try stores()
    var (call, isKilled) = (0, true)
    while isKilled {
      // New stores from time to time: the checks read all objects.
      if call % 12 == 11 { (one, other, checks) = try stores() }
      try change(one, other, checks)
      let event = try event(other)
      let fragile = FragileStore(other.replica, lastCall: call)
      do {
        _ = try other.handle(event, in: fragile)
        isKilled = false
      } catch is FragileStore.Kill {}
      call += 1
      try checks.check(other, 1)
      try other.reopenReplica()
      try checks.check(other, 1)
      for store in [other, one, other] { try store.synchronize() }
      try checks.checkEnd([one, other])
      let contents = try one.contents().values
      XCTAssertEqual(contents.count { $0["title"] == "late" }, 0, file: file, line: line)
      XCTAssertEqual(contents.count { $0["title"] == "new" }, contents.count { $0["title"] == "renamed" }, file: file, line: line)
    }
    XCTAssertGreaterThan(call, 20, file: file, line: line)
    try assertEqualContents(one, other, file: file, line: line)
  }

  private func stores() throws -> (SyncedStore, SyncedStore, SyncChecks) {
    let scenario = Scenario(deviceCount: 0)
    return (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2), SyncChecks())
  }

  func testCase4TheSameBytesAreSentAgainAfterAKill() throws {
    let scenario = Scenario(deviceCount: 0)
    let store = try SyncedStore(scenario, 1)
    try store.synchronize()
    var (call, frozenCount, isKilled) = (0, 0, true)
    while isKilled {
      try store.context.insert("Folder", ["title": "\(call)"])
      try store.context.save()
      do {
        _ = try store.handle(.save, in: FragileStore(store.replica, lastCall: call))
        isKilled = false
      } catch is FragileStore.Kill {}
      call += 1
      let frozen = try store.replica.transaction { try store.replica.outbox() }
      try store.reopenReplica()
      let sent = try store.handle(.save).compactMap { if case .push(let commit) = $0 { commit } else { nil } }
      XCTAssertEqual(sent.count, 1)
      if let frozen {
        frozenCount += 1
        XCTAssertEqual(sent, [frozen.commit])
      }
      let count = scenario.commitCount
      store.restart()
      try store.synchronize()
      XCTAssertEqual(scenario.commitCount, count + 1)
    }
    XCTAssertGreaterThan(call, 10)
    XCTAssertGreaterThan(frozenCount, 0)
    XCTAssertEqual(try store.contents().count, call)
  }

  func testKilledAtTheFirstRequest() throws { try kill { _ in .remoteChange } }

  func testKilledWhileAPullIsImported() throws {
    try kill { store in
      let actions = try store.handle(.remoteChange)
      return try store.answer(XCTUnwrap(actions.first { if case .pull = $0 { true } else { false } }))
    }
  }

  func testKilledWhileAnAcceptedCommitIsSettled() throws {
    try kill { store in
      var actions = try store.handle(.remoteChange)
      while !actions.isEmpty {
        let event = try store.answer(actions.removeFirst())
        if case .pushed(_, .accepted) = event { return event }
        actions += try store.handle(event)
      }
      throw SyncViolation(description: "no commit was accepted")
    }
  }
}
