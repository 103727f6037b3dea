import Foundation
import ObjectModel
package import ObjectStore
import SQLCipherStore
package import SyncCore

/// An open store as the protocol sees it: the state of its zone, its records, its pending saves and its objects.
///
/// Everything happens in transactions of the store, through the coordinator that the application uses, so that contexts learn of imports as
/// of any other save. A replica is used by one thread at a time.
package final class StoreReplica: SyncStore {
  package let coordinator: PersistentStoreCoordinator
  package let store: PersistentStore
  package let schema: SyncSchema
  let history: any HistoryStore & IdentityStore
  let reader: HistoryChangeReader
  private let tables: SideTableAccess
  /// The device's wall clock, in milliseconds since 1970.
  let wall: () -> Int64

  /// What is known during a transaction.
  struct Running {
    /// The tables in the transaction; nil outside of one.
    fileprivate var tables: StoreTransaction?
    fileprivate(set) var storedState: ReplicaState?
    fileprivate(set) var state: ReplicaState?
    var entries = RecordCache()
    /// The links of records that the transaction has deleted.
    var formerLinks: [RecordID: Link] = [:]
    /// Whether there are records that cannot be opened; nil before it was read.
    var hasQuarantined: Bool?
    /// Whether anything is known of large values; nil before it was read.
    var hasAssetEntries: Bool?
    /// The commit in the outbox, if the transaction has read or frozen it.
    var outbox: Digest?
    /// Whether the tables can only be read.
    var isSnapshot = false
    /// The lists that were read, and whether the transaction has given positions to the members that they had before synchronization began.
    var numberedLists: [MemberList: Bool] = [:]
    /// The lists with imported members, whose rows are ordered at the end of the transaction.
    var changedLists: Set<MemberList> = []
    /// The number of objects that were inserted, changed or deleted.
    var changedCount = 0
    /// The values that functions of the application could not merge.
    var unmerged: Set<UnmergedValue> = []
    /// Those objects, if the application handles imports.
    var imported = ImportCollector()
  }
  var running = Running()

  /// What the application does with imports.
  package let importHandling = ImportHandling()

  /// The records that could not be opened, since the last call of ``takeUnreadableRecords()``.
  var unreadableRecords: Set<RecordName> = []

  /// The values that functions could not merge, since the last call of ``takeUnmergedValues()``, in complete transactions.
  var unmergedValues: Set<UnmergedValue> = []

  /// The number of objects that records have inserted, changed or deleted in this process, in complete transactions.
  private(set) var changedCount = 0

  /// The keys of an entity whose objects are added to the zone.
  var baselineKeys: (entity: Int, keys: [Int64])?

  /// The saves that were read, in all transactions since the last one that failed.
  var pendingSaves: PendingSaves?

  /// The commit for which the mark of the store's lineage was published.
  private var published: Digest?

  /// Prepares to synchronize a store of the coordinator.
  ///
  /// - Throws: ``SyncError`` if the store is not a SQLCipher store whose description lists ``SyncTables``.
  package init(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, wall: @escaping () -> Int64 = { Date().millisecondsSince1970 }
  ) throws {
    guard let encrypted = store.incrementalStore as? SQLCipherIncrementalStore,
      let tables = try encrypted.sideTables(of: SyncTables.shared)
    else { throw SyncError(.unsupportedStore(store.type), path: store.url?.path) }
    self.coordinator = coordinator
    self.store = store
    self.tables = tables
    self.wall = wall
    schema = SyncSchema(coordinator.compiledModel)
    history = encrypted
    reader = HistoryChangeReader(store: store, history: encrypted, schema: schema)
  }

  /// The store, if its file has a lineage.
  var lineageStore: (any LineageStore)? { history as? any LineageStore }

  /// The path of the store.
  package var path: String? { store.url?.path }

  // MARK: Transactions

  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    if running.tables != nil { return try body() }
    var result: Result?
    defer { running = Running() }
    do {
      try store.performTransaction {
        running.tables = tables.current
        // First of all: what the transaction changes, such as the clock, is later than the saves of the application.
        // Without a history, only what needs the saves fails.
        if try replicaState() != nil {
          do { try readPendingSaves() } catch let error as SyncError where error.code == .historyMissing { pendingSaves = nil }
        }
        result = try body()
        try checkRequirement()
        try orderChangedLists()
        try writeState()
        try handleImport()
      }
    } catch {
      pendingSaves = nil
      throw error
    }
    changedCount += running.changedCount
    unmergedValues.formUnion(running.unmerged)
    // Before the caller can send the commit: an earlier state of the file must not assign the same stable IDs to other objects.
    if let commit = running.outbox, commit != published, try lineageStore?.publishLineageMark() ?? true { published = commit }
    guard let result else { throw SyncError(.transactionEnded, path: path) }
    return result
  }

  /// Runs a closure with a snapshot of the store, which waits for no other process. The closure can read the state of synchronization, but
  /// neither pending saves nor objects.
  func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    if running.tables != nil { return try body() }
    defer { running = Running() }
    return try tables.read { tables in
      running.tables = tables
      running.isSnapshot = true
      return try body()
    }
  }

  /// The tables in the running transaction.
  var transactionTables: StoreTransaction {
    get throws {
      guard let tables = running.tables else { throw SyncError(.transactionEnded, path: path) }
      return tables
    }
  }

  /// Removes all that synchronization has stored.
  func removeTables() throws {
    try tables.remove()
    if try history.historySettings() != nil { _ = try history.removeHistoryConsumer(Self.consumer) }
    pendingSaves = nil
  }

  // MARK: Zone

  /// The state of synchronization, or nil if the store is not synchronized.
  package func replicaState() throws -> ReplicaState? {
    if let state = running.state { return state }
    let found = try storedValue(ReplicaState.name).map { try JSONDecoder().decode(ReplicaState.self, from: $0) }
    (running.state, running.storedState) = (found, found)
    return found
  }

  package func setReplicaState(_ new: ReplicaState) throws {
    // The stored state is read first, so that an unchanged one is not written.
    _ = try replicaState()
    running.state = new
  }

  private func writeState() throws {
    guard let state = running.state, state != running.storedState else { return }
    try store(try JSONEncoder().encode(state), as: ReplicaState.name)
    if state.consumedThrough != running.storedState?.consumedThrough { try releaseHistory(state) }
  }

  /// Returns the state of a store that is synchronized.
  func knownState() throws -> ReplicaState {
    guard let state = try replicaState() else { throw SyncError(.notSynchronized, path: path) }
    return state
  }

  package func zone() throws -> ZoneState { try knownState().zone }

  package func setZone(_ zone: ZoneState) throws {
    if try zone.settledThrough > knownState().zone.settledThrough {
      try transactionTables.execute(SyncStatement.removeStamps, .int(zone.settledThrough))
      if !schema.links.isEmpty || schema.syncModel.hasDeletionMarks || schema.syncModel.hasFunctions || zone.hasVersions ?? false {
        try transactionTables.execute(SyncStatement.removeRemovals, .int(zone.settledThrough))
      }
      try transactionTables.execute(SyncStatement.removeFormerRecords, .int(zone.settledThrough))
      try pendingSaves?.settle(through: zone.settledThrough)
    }
    var state = try knownState()
    if zone.device != state.zone.device { try adoptLineage(&state) }
    state.zone = zone
    try setReplicaState(state)
  }

  /// Returns a value that another part of the module has stored under a name, or nil.
  func storedValue(_ name: String) throws -> Data? {
    var found: Data?
    try transactionTables.query(SyncStatement.state, .text(name)) { found = Data($0.bytes(0)) }
    return found
  }

  func store(_ value: Data, as name: String) throws {
    if try transactionTables.execute(SyncStatement.setState, .text(name), .bytes(value)) > 0 { return }
    try transactionTables.execute(SyncStatement.newState, .text(name), .bytes(value))
  }

  func removeValue(_ name: String) throws { try transactionTables.execute(SyncStatement.removeState, .text(name)) }

  // MARK: Saves

  /// The pending saves up to the beginning of the transaction, with their stamps.
  func pending() throws -> PendingSaves {
    guard let pendingSaves else { throw SyncError(try replicaState() == nil ? .notSynchronized : .historyMissing, path: path) }
    return pendingSaves
  }

  /// Reads the saves since the last transaction, and stamps them.
  func readPendingSaves() throws {
    if try pendingSaves?.isReplaced ?? false { pendingSaves = nil }
    // What another replica has stored.
    if pendingSaves == nil { try removeStoredChanges() }
    var state = try knownState()
    let pending = pendingSaves ?? PendingSaves(self, after: max(state.zone.settledThrough, state.readThrough))
    pendingSaves = pending
    let newest = try reader.newest
    var isIncomplete = false
    if newest > pending.scanned {
      isIncomplete = try history.historyPosition(of: pending.scanned) == nil
      let now = wall()
      let stamps = try storedStamps(after: pending.scanned)
      var clock = state.zone.clock
      var additionDevice: DeviceID?
      let isWhole = try pending.read(reader, formerRecords(), through: newest) { number, made, insertions in
        if let known = stamps[number] { return (known, false) }
        try renewRecords(insertions, in: (number, made), pending)
        if try hasAssetEntries() { try pending.forEachCurrentChange(forgetPlaceholders) }
        let stamp = Stamp(clock.stamp(at: min(made, now)), state.zone.device)
        let device = try additionDevice ?? self.additionDevice()
        additionDevice = device
        let new = SaveStamps(stamp, addition: Stamp(stamp.time, device), first: stamp.time)
        try setStamps(new, of: number)
        return (new, true)
      }
      state = try knownState()
      state.zone.clock = clock
      if isWhole { isIncomplete = true }
    }
    // Transactions of synchronization need not be read again.
    if pending.isEmpty { state.readThrough = max(state.readThrough, pending.scanned) }
    try setReplicaState(state)
    if isIncomplete { try reconcile() }
  }

  package func pendingSaves(after number: Int64, maximumChangeCount: Int) throws -> [PendingSave] {
    try pending().saves(after: number, maximumChangeCount: maximumChangeCount)
  }

  package func changes(of save: Int64, from position: Int, maximumCount: Int) throws -> [PendingChange] {
    try pending().changes(of: save, from: position, maximumCount: maximumCount)
  }

  package func pendingChanges(of id: RecordID, after number: Int64) throws -> Record? { try pending().changes(of: id, after: number) }
}
