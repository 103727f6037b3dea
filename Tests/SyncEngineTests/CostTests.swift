import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

@testable import SyncEngine

/// The statements that synchronization needs.
final class CostTests: XCTestCase {
  private func statements(_ store: SyncedStore, _ body: () throws -> Void) throws -> [String] {
    store.observer.reset()
    try body()
    return store.observer.statements
  }

  /// A store that can be synchronized and is not needs the statements and pages of one that cannot.
  func testAStoreThatIsNotSynchronizedCostsNothing() throws {
    let folder = try TemporaryFolder("CostTests")
    var (statements, sizes): ([[String]], [[Int]]) = ([], [])
    for name in ["without", "with"] {
      let observer = SQLObserver()
      var description = PersistentStoreDescription(url: folder.file(name), key: SyncedStore.databaseKey)
      description.sqlObserver = observer
      if name == "with" { description.sideTableOwners = [SyncTables.shared] }
      var bytes: [Int] = []
      func measure() throws {
        for suffix in ["", "-wal"] {
          let path = folder.file(name + suffix).path
          bytes.append((try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0)
        }
      }
      for _ in 0..<2 {
        let open = try OpenStore(description, model: MirrorModel.model)
        let context = open.newContext()
        let root = try context.insert("Folder", ["title": "root"])
        for number in 0..<300 { try context.insert("Note", ["title": "\(number)", "folder": root]) }
        try context.save()
        for note in try context.all("Note") { try note.setValue("text", forKey: "text") }
        try context.save()
        context.delete(root)
        try context.save()
        try measure()
        try open.close()
        try measure()
      }
      statements.append(observer.statements)
      sizes.append(bytes)
    }
    XCTAssertEqual(statements[0], statements[1])
    XCTAssertGreaterThan(statements[0].count, 10)
    XCTAssertEqual(sizes[0], sizes[1])
    XCTAssertTrue(sizes[0].contains { $0 > 4_096 })
  }

  func testASaveNeedsNoStatementMoreThanOneWithAHistory() throws {
    let scenario = Scenario(deviceCount: 0)
    let synced = try SyncedStore(scenario, 1)
    let local = try SyncedStore(scenario, 2, begins: false)
    let tracking = try XCTUnwrap(local.open.persistentStore.incrementalStore as? any HistoryStore & IdentityStore)
    try tracking.setTracksObjectIdentity(true)
    try tracking.setHistory(HistorySettings(level: .values))
    var counts: [[Int]] = []
    for store in [synced, local] {
      let context = store.open.newContext()
      var folder: ManagedObject?
      let steps: [() throws -> Void] = [
        { folder = try context.insert("Folder", ["title": "a"]) },
        { for number in 0..<10 { try context.insert("Note", ["title": "\(number)", "folder": folder]) } },
        { try folder?.setValue("b", forKey: "title") },
        { for note in try context.all("Note") { try note.setValue(1.0, forKey: "rating") } },
        { if let folder { context.delete(folder) } },
      ]
      counts.append(
        try steps.map { step in
          try step()
          return try statements(store) { try context.save() }.count
        })
    }
    XCTAssertEqual(counts[0], counts[1])
    XCTAssertTrue(counts[0].allSatisfy { $0 > 0 }, "\(counts)")
  }

  func testStatementsOfAnImport() throws {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
    let folder = try one.context.insert("Folder", ["title": "root"])
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    let count = 400
    for number in 0..<count { try one.context.insert("Note", ["title": "\(number)", "folder": folder]) }
    try one.context.save()
    try one.synchronize()
    let texts = try statements(other) { try other.synchronize() }
    // Each is staged, looked up and written as a record with its reference, looked up as a destination, and gets the key of its object.
    XCTAssertLessThan(texts.count, 7 * count)
  }

  /// A program that waits for a save asks several times in a second whether it was sent.
  func testWhetherALargeSaveWasSentIsKnownFromItsFirstChanges() throws {
    let store = try SyncedStore(Scenario(deviceCount: 0), 1)
    try store.synchronize()
    var counts: [Int] = []
    for count in [1, 6_000] {
      try store.context.execute(BatchInsertRequest(entityName: "Folder", objects: (0..<count).map { ["title": "\($0)"] }))
      let number = try store.replica.lastTransaction()
      counts.append(try statements(store) { XCTAssertFalse(try store.replica.isSent(through: number)) }.count)
      try store.synchronize()
      XCTAssertTrue(try store.replica.isSent(through: number))
    }
    XCTAssertGreaterThan(counts[1], 0)
    XCTAssertLessThanOrEqual(counts[1], counts[0])
  }

  /// A team has many members, and a leader, who is one of them.
  private static let teams: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string)
        Relationship("leads", to: "Team", inverse: "leader")
        Relationship("team", to: "Team", inverse: "members")
      }
      Entity("Team") {
        Attribute("name", .string)
        Relationship("leader", to: "Person", inverse: "leads")
        Relationship("members", toMany: "Person", inverse: "team")
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }()

  func testAOneToOneRelationshipToAPopularObjectNeedsFewStatements() throws {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1, model: Self.teams), try SyncedStore(scenario, 2, model: Self.teams))
    let team = try one.context.insert("Team", ["name": "all"])
    let people = try (0..<300).map { try one.context.insert("Person", ["name": "\($0)", "team": team]) }
    try one.context.save()
    for store in [one, other, one] { try store.synchronize() }
    let id = RecordID(try XCTUnwrap(team.stableID))
    for person in [people[7], people[8]] {
      try person.setValue(team, forKey: "leads")
      try one.context.save()
      let texts = try statements(one) { try one.synchronize() } + statements(other) { try other.synchronize() }
      // Not one for each member.
      XCTAssertLessThan(texts.count, 200, "\(Dictionary(texts.map { ($0, 1) }, uniquingKeysWith: +).filter { $0.value > 20 })")
    }
    let leads = try XCTUnwrap(other.replica.schema.syncModel.entities.values.flatMap(\.exclusive).first)
    try other.replica.transaction {
      XCTAssertEqual(try other.replica.referrers(of: id).count, 300)
      XCTAssertEqual(try other.replica.referrers(of: id, through: leads), [RecordID(try XCTUnwrap(people[8].stableID))])
    }
    try assertEqualContents(one, other, count: 301)
  }
}
