import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _FaultInjection
import _StoreSpecification
import _TestSupport

/// A process that is killed at any write to a store's files leaves objects that agree with the history, with the tables of a component, and
/// with stable IDs.
final class SideTableKillTests: XCTestCase {
  /// A component that counts objects.
  private final class Counter: SideTableOwner {
    let sideTables = SideTables(
      name: "counter", format: 1,
      tables: [SideTables.Table("cipherdata_counter", "(id INTEGER PRIMARY KEY, count INTEGER NOT NULL)")])

    func makeConsumer(
      _ origin: TransactionOrigin, model: CompiledModel, in transaction: StoreTransaction
    ) throws -> (any SideTableConsumer)? {
      Consumer(model, transaction)
    }
  }

  private final class Consumer: SideTableConsumer {
    let needs: ChangeNeeds
    let transaction: StoreTransaction

    init(_ model: CompiledModel, _ transaction: StoreTransaction) {
      self.transaction = transaction
      var all = ChangeNeeds.OfEntity()
      all.isIncluded = true
      needs = ChangeNeeds(entities: model.entities.map { _ in all }, relationships: model.relationships.map { _ in false })
    }

    func receive(_ change: RowChange) throws {
      let difference: Int64 =
        switch change {
        case .insert: 1
        case .delete: -1
        default: 0
        }
      try transaction.execute("INSERT OR IGNORE INTO cipherdata_counter VALUES (1, 0)")
      try transaction.execute("UPDATE cipherdata_counter SET count = count + ? WHERE id = 1", .int(difference))
    }

    func finish() throws {}
  }

  private let counter = Counter()
  private static let key = StoreKey.databaseKey(SecretBytes([UInt8](repeating: 7, count: 32)))

  private func description(_ url: URL, isTracked: Bool? = nil, hasHistory: Bool? = nil) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url, key: Self.key)
    // A small cache writes pages to the log before the commit.
    description.cacheSize = 64 << 10
    description.durability = .fast
    description.sideTableOwners = [counter]
    (description.tracksObjectIdentity, description.historyTracking) = (isTracked, hasHistory)
    return description
  }

  private func use(_ description: PersistentStoreDescription, _ body: (OpenStore) throws -> Void) throws {
    let open = try OpenStore(description, model: SpecificationModels.library)
    do { try body(open) } catch {
      try? open.close()
      throw error
    }
    try open.close()
  }

  private func identities(_ open: OpenStore) throws -> any IdentityStore { try XCTUnwrap(open.store as? any IdentityStore) }

  private func tags(_ open: OpenStore) throws -> [ObjectReference] {
    try open.rows(FetchSpecification(entityName: "Tag")).references.sorted { $0.key < $1.key }
  }

  /// Opens the files that remain after each write of a workload.
  ///
  /// - Parameters:
  ///   - prepare: Runs before the recording.
  ///   - check: Checks an opened store, and returns a description of its state.
  /// - Returns: The states, in the order of the writes, each once.
  private func kill(
    prepare: (URL) throws -> Void, during work: (URL) throws -> Void, check: (OpenStore) throws -> String
  ) throws -> [String] {
    let folder = try WatchedFolder()
    var record: DiskRecord?
    var start = 0
    record = try folder.recording {
      try prepare(folder.store)
      fault_record_note_number(1)
      try work(folder.store)
    }
    let known = try XCTUnwrap(record)
    start = known.actions.firstIndex { if case .note = $0 { true } else { false } } ?? 0
    var states: [String] = []
    var random = SeededGenerator(seed: 1)
    for count in start...known.actions.count {
      // Other calls do not change what a killed process leaves.
      if count > start, count < known.actions.count {
        switch known.actions[count - 1] {
        case .open(_, _, false, false), .sync, .note: continue
        default: break
        }
      }
      let copy = try TemporaryFolder("SideTableKillTests")
      try CrashDisk.write(CrashDisk(known, after: count).image(.all, &random), to: copy.url)
      try use(description(copy.file("proof.store"))) { open in
        let state = try check(open)
        if states.last != state { states.append(state) }
        // The store can be written.
        try open.insert("Tag", ["name": .text("after the kill")])
        _ = try check(open)
      }
    }
    return states
  }

  /// Checks that the history and the component agree with the objects.
  private func checkAgreement(_ open: OpenStore) throws -> Int {
    let count = try open.count("Tag")
    var counted: Int64 = 0
    let tables = try XCTUnwrap((open.store as? SQLCipherIncrementalStore)?.sideTables(of: counter))
    try tables.read { try $0.query("SELECT count FROM cipherdata_counter") { counted = $0.int64(0) } }
    XCTAssertEqual(Int(counted), count)
    guard try open.persistentStore.historyLevel != nil else { return count }
    let changes = try open.coordinator.execute(.fetchHistory(after: nil)).transactions.flatMap { $0.changes ?? [] }
    XCTAssertEqual(changes.count { $0.changeType == .insert } - changes.count { $0.changeType == .delete }, count)
    return count
  }

  func testSavesAgreeWithTheHistoryAndTheComponent() throws {
    guard fault_injection_works() else { return }
    let states = try kill(
      prepare: { url in try use(description(url, hasHistory: true)) { _ in } },
      during: { url in
        try use(description(url)) { open in
          for round in 0..<4 {
            let context = open.newContext()
            for number in 0..<40 { try context.insert("Tag", ["name": "\(round) \(number) " + String(repeating: "x", count: 500)]) }
            try context.save()
          }
          try open.newContext().execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Tag")))
        }
      },
      check: { "\(try checkAgreement($0))" })
    XCTAssertEqual(states, ["0", "40", "80", "120", "160", "0"])
  }

  func testStableIDsAreAssignedImportedAndRemovedAtomically() throws {
    let imported = (0..<30).map { _ in UUID() }
    guard fault_injection_works() else { return }
    let states = try kill(
      prepare: { url in
        try use(description(url)) { open in for number in 0..<30 { try open.insert("Tag", ["name": .text("\(number)")]) } }
      },
      during: { url in
        try use(description(url, isTracked: true)) { open in
          let tags = try tags(open)
          try identities(open).setStableIDs(zip(tags, imported).map { ($0, $1) })
          try open.save { save in for tag in tags.prefix(10) { try save.delete(open.scope.objectIDSpace.objectID(of: tag)) } }
          XCTAssertEqual(try identities(open).purgeStableIDs(), 10)
          try identities(open).setTracksObjectIdentity(false)
        }
      },
      check: { open in
        let count = try checkAgreement(open)
        let ids = try identities(open).stableIDs(of: tags(open)).compactMap { $0 }
        XCTAssertEqual(Set(ids).count, ids.count)
        let isTracked = try identities(open).tracksObjectIdentity()
        XCTAssertEqual(ids.count, isTracked ? count : 0, "all objects or none")
        let known = ids.filter(imported.contains).count
        return "\(isTracked) \(known)"
      })
    XCTAssertEqual(states, ["false 0", "true 0", "true 30", "true 20", "false 0"])
  }

  func testACopyStartsNewRangesAtomically() throws {
    let folder = try TemporaryFolder("SideTableKillTests")
    let original = folder.file("original.store")
    var first: [UUID] = []
    try use(description(original, isTracked: true)) { open in
      for number in 0..<10 { try open.insert("Tag", ["name": .text("\(number)")]) }
      first = try identities(open).stableIDs(of: tags(open)).compactMap { $0 }
    }
    var later: [UUID] = []
    guard fault_injection_works() else { return }
    let states = try kill(
      prepare: { url in
        try waitFor { try await SQLCipherStoreFile.unlock(at: original, key: Self.key).backUp(to: url) }
        try use(description(original)) { open in
          for number in 0..<10 { try open.insert("Tag", ["name": .text("original \(number)")]) }
          later = try identities(open).stableIDs(of: tags(open)).compactMap { $0 }
        }
      },
      during: { url in
        try use(description(url)) { open in for number in 0..<3 { try open.insert("Tag", ["name": .text("copy \(number)")]) } }
      },
      check: { open in
        let count = try checkAgreement(open)
        let ids = try identities(open).stableIDs(of: tags(open)).compactMap { $0 }
        XCTAssertEqual(Set(ids.prefix(10)), Set(first))
        XCTAssertTrue(Set(ids.dropFirst(10)).isDisjoint(with: later), "The original gives no object of the copy its ID.")
        XCTAssertEqual(Set(ids).count, count)
        return "\(count)"
      })
    XCTAssertEqual(states, ["10", "11", "12", "13"])
  }

  func testALineageIsAssignedAtomically() throws {
    let folder = try TemporaryFolder("SideTableKillTests")
    let original = folder.file("original.store")
    var lineages: Set<String> = []
    try use(description(original)) { open in lineages.insert(try XCTUnwrap(open.persistentStore.metadata.lineageIdentifier)) }
    guard fault_injection_works() else { return }
    let states = try kill(
      prepare: { url in try Data(contentsOf: original).write(to: url) },
      during: { url in try use(description(url)) { open in XCTAssertNotNil(open.persistentStore.metadata.lineageIdentifier) } },
      check: { open in
        let lineage = try XCTUnwrap(open.persistentStore.metadata.lineageIdentifier)
        XCTAssertFalse(lineages.contains(lineage), "the file is another copy")
        return "\(try checkAgreement(open))"
      })
    XCTAssertEqual(states, ["0"])
  }

  func testTheHistoryIsEnabledAndDisabledAtomically() throws {
    guard fault_injection_works() else { return }
    let states = try kill(
      prepare: { url in try use(description(url)) { open in try open.insert("Tag", ["name": .text("1")]) } },
      during: { url in
        try use(description(url, hasHistory: true)) { try $0.insert("Tag", ["name": .text("2")]) }
        try use(description(url, hasHistory: false)) { try $0.insert("Tag", ["name": .text("3")]) }
      },
      check: { open in
        let level = try open.persistentStore.historyLevel
        guard level != nil else { return "off" }
        let transactions = try open.coordinator.execute(.fetchHistory(after: nil)).transactions
        return "on \(min(transactions.count, 1))"
      })
    XCTAssertEqual(states, ["off", "on 0", "on 1", "off"])
  }
}
